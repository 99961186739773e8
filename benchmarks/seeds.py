"""How far a cell that differs moves when nothing but the seed changes: is print within reach of another draw?

Run: python benchmarks/seeds.py RESULTS SEEDS [METHOD ...]

For every differing cell in RESULTS/comparison.csv the method (those named, or all) is fitted and scored again with the
base seeds 1 to SEEDS. RESULTS/seeds.csv gets mean and std over these draws of what the cell shows, which is the mean
over the folds, or one fold where print has a single one; and z, the distance of print from the mean in such stds.
docs/results.md says of each cell whether print can be one more draw. Lines of other methods in the file stay.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
from common import load_folds

from fbde import config as configuration
from fbde import methods
from fbde.files import read_json, write_table
from fbde.methods import Distribution
from fbde.published import CELL, paper_tasks
from fbde.runs import run
from fbde.scores import score_outcomes


def main(results, seeds, wanted):
    config = read_json(results / "provenance.json")["configuration"]
    differing = pd.read_csv(results / "comparison.csv").query("verdict == 'differs'")
    tasks = paper_tasks(config["tasks"])
    path = results / "seeds.csv"
    for (dataset, sensitive, method), cells in differing.groupby(["dataset", "sensitive", "run"]):
        if wanted and method not in wanted:
            continue
        task = tasks[dataset, sensitive]
        scores = pd.concat([_scores(config, task, method, seed) for seed in range(1, seeds + 1)])
        rows = [_row(cell, scores[scores["metric"] == cell["metric"]]) for cell in cells.to_dict("records")]
        _merge(path, pd.DataFrame(rows))


def _scores(config, task, method, seed):
    """(seed, metric, fold, value) of the published variants of one run with another seed."""
    entry = config["methods"][method]
    folds = load_folds(*task, range(5), method=method, base_seed=seed)
    fitted = methods.load(entry["file"])(**configuration.settings(config, method, task[0]))
    outcomes = run(fitted, folds, report=lambda text: None)
    outcomes = [replace(outcome, result=_final(outcome.result)) for outcome in outcomes]
    found = score_outcomes(method, outcomes, folds, report=lambda text: None)
    print(f"{'/'.join(task)} {method}: seed {seed}", file=sys.stderr, flush=True)
    return found[(found["variant"] == "published") & (found["status"] == "done")].assign(seed=seed)


def _final(result):
    """Without the boosting steps, which no cell shows and which take most of the time."""
    return replace(result, steps=None, trace={}) if isinstance(result, Distribution) else result


def _row(cell, scores):
    draw = ["seed", "fold"] if "single fold" in str(cell["note"]) else ["seed"]
    means = scores.groupby(draw)["value"].mean().astype(float)
    std = means.std(ddof=1)
    return {name: cell[name] for name in (*CELL, "run", "published_mean", "published_std")} | {
        "seeds": scores["seed"].nunique(),
        "draws": len(means),
        "mean": means.mean(),
        "std": std,
        "lowest": means.min(),
        "highest": means.max(),
        "z": (cell["published_mean"] - means.mean()) / std,
    }


def _merge(path, rows):
    if path.exists():
        old = pd.read_csv(path)
        kept = old[~old.set_index(CELL).index.isin(rows.set_index(CELL).index)]
        rows = pd.concat([kept, rows])
    write_table(rows.sort_values(CELL).round(4), path)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:]))
