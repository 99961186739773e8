"""FBDE on finite domains beside its own floor, the tree fits alone, and beside Algorithm 1 row by row.

Run: python benchmarks/finite.py
"""

import numpy as np
from common import load_folds, markdown, timed
from literal import literal_fbde
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fbde import FBDE
from fbde.leverage import leverages

TASKS = {"compas": "race", "adult": "sex", "dutch": "sex"}
T = 32
LITERAL_STEPS = 2


def fit(fold, **options):
    model = FBDE(leverage="exact", random_state=0, alpha=0.5 if fold.task.dataset == "dutch" else 0.0, **options)
    return model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s, support=fold.domain.X)


def tree_fits(fold, model):
    """scikit-learn's trees on the weighted cells: what T weak learners cost without anything around them."""
    cells = fold.domain.design().astype(np.float32)
    table = np.concatenate([cells, cells])
    real = np.repeat([1, 0], len(cells))
    weight = np.concatenate([fold.train_distribution.ravel(), model.probabilities().ravel()]) * fold.train.total
    for _ in range(T):
        DecisionTreeClassifier(criterion="entropy", max_depth=8, random_state=0).fit(table, real, sample_weight=weight)


def total_variation(P, Q):
    return float(np.abs(P - Q).sum() / 2)


def measure(dataset, sensitive):
    fold = load_folds(dataset, sensitive)[0]
    ours, model = timed(lambda: fit(fold, n_steps=T))
    floor, _ = timed(lambda: tree_fits(fold, model), repeat=1)
    row = {
        "task": fold.task.name,
        "cells": fold.domain.size,
        "FBDE, T = 32 (s)": f"{ours:.3f}",
        "32 scikit-learn tree fits (s)": f"{floor:.3f}",
        "FBDE / floor": f"{ours / floor:.2f}",
    }
    if dataset == "dutch":
        return row | {"row by row (s)": "–", "factor": "–", "distance": "–"}
    cells = fold.domain.design()
    rows = np.column_stack([fold.train.X, fold.train.y, fold.train.s])
    thetas = leverages("exact", LITERAL_STEPS, 0.8, model.C)
    start = model.initial_.Q.ravel()
    seconds, literal = timed(lambda: literal_fbde(cells, rows, start, thetas, model.C, seed=0), repeat=1)
    other = literal_fbde(cells, rows, start, thetas, model.C, seed=1)
    exact = fit(fold, n_steps=LITERAL_STEPS).probabilities().ravel()
    slow = seconds / LITERAL_STEPS * T
    return row | {
        "row by row (s)": f"{slow:.1f}",
        "factor": f"{slow / ours:.0f}",
        "distance": f"{total_variation(exact, literal):.4f} ({total_variation(other, literal):.4f})",
    }


def main():
    with threadpool_limits(1):
        rows = [measure(*task) for task in TASKS.items()]
    return (
        "## FBDE on finite domains\n\n"
        f"One fold, one thread. Row by row: {LITERAL_STEPS} steps, extrapolated to {T}. Distance: total variation "
        "between the exact and the row-by-row distribution after those steps, (in brackets) between two row-by-row "
        "runs.\n\n" + markdown(rows)
    )


if __name__ == "__main__":
    print(main())
