"""Made-up results of a small run: enough methods, tasks, folds and steps for every table, figure and claim."""

from pathlib import Path

import numpy as np

from fbde import published, scores
from fbde.reporting.figures.data import Results

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "published"
FBDE = ("M-E-1.0", "M-E-0.9", "M-R-1.0", "M-R-0.9")
LEVERAGE = {"E": "exact", "R": "relative"}
ENTRY = {"paper": None, "tables": None, "only": None, "params": {}}
CONFIG = {
    "tasks": {
        "compas": ["sex", "race"], "adult": ["sex"], "german": ["sex"], "dutch": ["sex"],
        "minneapolis-published": ["search"],
    },
    "methods": {
        "data": ENTRY | {"paper": "Data"},
        **{m: ENTRY | {"paper": m, "params": {"leverage": LEVERAGE[m[2]], "sr0": float(m[4:])}} for m in FBDE},
        "maxent": ENTRY | {"paper": "MaxEnt"},
        "fairkmeans": ENTRY | {"paper": "FairKMeans"},
        "reductions": ENTRY | {"paper": "Reductions"},
        "ours": ENTRY,
        "M-E-1.0-unmixed": ENTRY | {"paper": "M-E-1.0", "only": ["german"], "tables": ["no_mixing_experiments_table"]},
    },
    "smoke": False, "seed": 0, "folds": 3, "split_seed": 1,
}  # fmt: skip
MISSING = [
    {
        "dataset": "dutch",
        "status": "missing",
        "reason": "dutch_census_2001.arff <was> not found",
        "files": ["dutch_census_2001.arff"],
        "remedy": "FBDE_DATA=FOLDER snakemake",
    }
]
METRICS = {
    "fairkmeans": ("cPR", "cSR", "dist", "time"),
    "reductions": ("SR_c", "EO", "Acc", "time"),
}
ALL = ("RR", "SR", "KL", "SR_c", "EO", "Acc", "cPR", "cSR", "dist", "time")
RAN = [("compas", "sex"), ("compas", "race"), ("adult", "sex"), ("german", "sex")]


def made_scores(config=CONFIG, ran=RAN, folds=3):
    """Fold values close to print where there is print, and step rows for FBDE."""
    rng = np.random.default_rng(0)
    paper = published.paper(PUBLISHED).drop_duplicates(["dataset", "sensitive", "method", "metric"])
    printed = paper.set_index(["dataset", "sensitive", "method", "metric"])["published_mean"].to_dict()
    rows = []
    for task in ran:
        for method, entry in config["methods"].items():
            if task[0] not in (entry["only"] or [task[0]]):
                continue
            for metric in METRICS.get(method, ALL):
                centre = printed.get((*task, entry["paper"], metric), 0.8)
                for fold in range(folds):
                    value = centre * (1 + 0.002 * rng.normal())
                    rows += [_row(*task, method, fold, metric, "published", value)]
                    if metric in ("KL", "RR", "SR") and method != "data":
                        rows += [_row(*task, method, fold, metric, "exact", value)]
                    if metric == "dist":
                        rows += [_row(*task, method, fold, metric, "corrected", 1.7 + value)]
            rows += _steps(task, method, rng, folds) if method in FBDE else []
    reason = "needs a finite domain"
    rows.append(
        _row("minneapolis-published", "search", "maxent", 0, None, None, None)
        | {"status": "not applicable", "reason": reason}
    )
    table = scores.table(rows)
    return table


def _row(dataset, sensitive, method, fold, metric, variant, value, step=None):
    return {
        "dataset": dataset, "sensitive": sensitive, "method": method, "fold": fold, "step": step, "metric": metric,
        "variant": variant, "value": value, "status": "done", "reason": "", "seconds": 0.5, "peak_mb": 100.0,
    }  # fmt: skip


def _steps(task, method, rng, folds):
    for fold in range(folds):
        for step in range(13):
            left = 0.5**step
            values = {
                "RR": 0.9 + 0.1 * left,
                "SR": 0.95 + 0.05 * left,
                "KL": 0.2 + 0.1 * left,
                "SR_c": 0.9 + 0.05 * left,
            }
            if step:
                values |= {"accuracy": 0.6 + 0.1 * left, "kl_drop": left * (0.1 + 0.01 * left), "theta": left}
                values |= {"kl_drop_bound": 0.05 * left, "kl_drop_printed": 0.2 * left}
            for metric, value in values.items():
                yield _row(*task, method, fold, metric, "exact", value * (1 + 1e-4 * rng.random()), step)
        for rate, bound in (("SR", 0.64), ("RR", 0.8)):
            yield _row(*task, method, fold, f"{rate}_guaranteed", "exact", bound, 0)


TREE = {
    "dataset": "compas", "sensitive": "race", "method": "M-E-1.0", "fold": 0, "text": "a tree",
    "meanings": {"race": {"0": "African-American", "1": "Caucasian"}},
    "tree": {
        "real": 0.5, "c": 0.0, "weight": 1.0, "feature": "race", "threshold": 0.5,
        "yes": {"real": 0.6, "c": 0.1, "weight": 0.6},
        "no": {
            "real": 0.4, "c": -0.1, "weight": 0.4, "feature": "priors_count=More than 3", "threshold": 0.5,
            "yes": {"real": 0.3, "c": -0.3, "weight": 0.2},
            "no": {"real": 0.45, "c": 0.0, "weight": 0.2, "feature": "age", "threshold": 33.5,
                   "yes": {"real": 0.4, "c": -0.1, "weight": 0.1}, "no": {"real": 0.5, "c": 0.0, "weight": 0.1}},
        },
    },
}  # fmt: skip


def made_results(smoke=False):
    """The results, with Dutch missing and FBDE not run on Minneapolis."""
    table = made_scores()
    comparison = published.mark_missing(published.compare(table, CONFIG, PUBLISHED), MISSING, CONFIG)
    return Results(table, comparison, CONFIG | {"smoke": smoke}, MISSING, {"compas": TREE}, smoke)


def complete_results():
    """A run of the whole paper with five folds."""
    added = {name: ENTRY | {"paper": name} for name in ("TabFairGAN", "FairConstraints", "FairGLM")}
    added |= {
        f"{m}-unmixed": ENTRY | {"paper": m, "only": ["dutch", "german"], "tables": ["no_mixing_experiments_table"]}
        for m in FBDE
    }
    tasks = {"compas": ["sex", "race"], "adult": ["sex", "race"], "dutch": ["sex", "age"], "german": ["sex", "age"]}
    tasks["minneapolis-published"] = ["search"]
    config = CONFIG | {"tasks": tasks, "methods": CONFIG["methods"] | added}
    table = made_scores(config, [(d, s) for d, names in tasks.items() for s in names], 5)
    return Results(table, published.compare(table, config, PUBLISHED), config, [], {"compas": TREE})


def empty_results():
    """A run in which nothing was done."""
    table = scores.table([])
    comparison = published.mark_missing(published.compare(table, CONFIG, PUBLISHED), MISSING, CONFIG)
    return Results(table, comparison, CONFIG, MISSING)
