"""Were the printed RR and SR drawn with one seed for all folds? Compares print with both ways of drawing.

Run: python benchmarks/draws.py

For the FBDE configurations on COMPAS and German, whose printed rates are those of 5·n drawn rows: the spread over the
folds, and z, how far print is from the mean over 40 seeds in standard deviations of the mean over the folds, when each
fold has its own seed and when all share one (the same uniform numbers go through each fold's distribution function).
"""

import numpy as np
import pandas as pd
from common import load_folds, markdown

from fbde import FBDE
from fbde.evaluate import SAMPLES_PER_ROW
from fbde.metrics import representation_rate, statistical_rate
from fbde.published import paper

TASKS = [("compas", "sex"), ("compas", "race"), ("german", "sex"), ("german", "age")]
LEVERAGES = {"E": "exact", "R": "relative"}
SEEDS = 40


def main():
    cells = paper()
    cells = cells[cells["table"].str.startswith("full_experiments_table")]
    cells = cells.set_index(["dataset", "sensitive", "method", "metric"])
    rows = [
        {
            "dataset": task[0],
            "sensitive": task[1],
            "rate": rate,
            "draws": draws,
            "printed spread": cell["published_std"],
        }
        | {"spread": np.mean(values.std(axis=1)), "z": (cell["published_mean"] - values.mean()) / _of_means(values)}
        for task in TASKS
        for name, model, folds in _models(task)
        for draws in ("a seed per fold", "one seed")
        for rate, values in _rates(model, folds, draws == "one seed").items()
        for cell in [cells.loc[(*task, name, rate)]]
    ]
    table = pd.DataFrame(rows).groupby(["dataset", "rate", "draws"], sort=False)
    found = table.agg(
        **{
            "spread over folds": ("spread", "mean"),
            "printed": ("printed spread", "mean"),
            "largest absolute z": ("z", lambda z: z.abs().max()),
            "mean z": ("z", "mean"),
        }
    )
    return markdown(found.round(3).reset_index().to_dict("records"))


def _of_means(values):
    return values.mean(axis=1).std(ddof=1)


def _models(task):
    folds = load_folds(*task, range(5))
    for letter, leverage in LEVERAGES.items():
        for sr0 in (1.0, 0.9):
            alpha = 0.5 if task[0] == "german" else 0.0
            model = FBDE(leverage=leverage, sr0=sr0, alpha=alpha, random_state=0)
            fitted = [
                model.fit(f.train.X, f.train.y, sensitive_features=f.train.s, support=f.domain.X).probabilities()
                for f in folds
            ]
            yield f"M-{letter}-{sr0}", fitted, folds


def _rates(densities, folds, shared):
    """Rate → (seeds × folds) values of 5·n rows drawn by the inverse of the distribution function."""
    found = {"RR": np.empty((SEEDS, len(folds))), "SR": np.empty((SEEDS, len(folds)))}
    for seed, fold in np.ndindex(SEEDS, len(folds)):
        rng = np.random.default_rng(seed if shared else [seed, fold])
        p = np.ravel(densities[fold])
        uniform = rng.random(int(SAMPLES_PER_ROW * folds[fold].train.total))
        drawn = np.searchsorted(np.cumsum(p) / p.sum(), uniform)
        weight = np.bincount(np.minimum(drawn, len(p) - 1), minlength=len(p)).astype(float)
        _, y, s = folds[fold].domain.cells()
        found["RR"][seed, fold] = representation_rate(s, weight)
        found["SR"][seed, fold] = statistical_rate(y, s, weight)
    return found


if __name__ == "__main__":
    print(main())
