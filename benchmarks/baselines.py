"""Seconds per fold of every other method, on Adult (sex) and Dutch (sex), with the configured parameters.

Run: python benchmarks/baselines.py
"""

from pathlib import Path

import yaml
from common import load_folds, markdown, timed
from threadpoolctl import threadpool_limits

from fbde import config as configuration
from fbde import methods

ROOT = Path(__file__).resolve().parent.parent
TASKS = {"adult": "sex", "dutch": "sex"}
ELSEWHERE = {"fbde", "tabfairgan", "data", "shuffled"}
WHY_SLOW = {
    "lfr": "aif360 differentiates numerically, for up to five weights",
    "reductions": "36 logistic regressions",
    "reductions-eg": "a sequence of logistic regressions until the duality gap closes",
    "smote": "nearest neighbours of repeated rows",
    "fairconstraints-c": "one convex programme per tenth of the covariance",
    "fairkmeans": "several passes over the rows, in order",
}


def main():
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    config = configuration.check(yaml.safe_load((ROOT / "config.yaml").read_text()), schema)
    folds = {dataset: load_folds(dataset, sensitive)[0] for dataset, sensitive in TASKS.items()}
    rows = []
    for name, entry in config["methods"].items():
        if entry["file"] in ELSEWHERE:
            continue
        row = {"method": name}
        for dataset, fold in folds.items():
            method = methods.load(entry["file"])(**configuration.settings(config, name, dataset))
            with threadpool_limits(1):
                # The first fit of a file pays for its imports.
                seconds, _ = timed(lambda fold=fold, method=method: method.fit_fold(fold), repeat=2)
            row[f"{dataset} (s)"] = f"{seconds:.3f}"
        slow = max(float(value) for key, value in row.items() if key != "method") > 1
        rows.append(row | {"why over a second": WHY_SLOW.get(name, "") if slow else ""})
    return (
        "## Baselines\n\nSeconds to fit one fold, one thread, the better of two fits; MaxEnt includes its 5·n draws. "
        "The paper's runtime table has 5,446 s for fair K-means on Adult (sex).\n\n" + markdown(rows)
    )


if __name__ == "__main__":
    print(main())
