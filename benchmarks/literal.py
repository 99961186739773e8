"""Algorithm 1 row by row, as it reads on paper: draw n fake rows, fit a calibrated tree on 2n rows, update each cell.

Kept as the slow oracle that the exact version is compared with, for its result and for its speed.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier


def literal_fbde(cells, real_rows, Q, thetas, C, seed):
    """Boost the probabilities ``Q`` of ``cells`` towards ``real_rows`` (rows of columns x, y, s), step by step."""
    rng = np.random.default_rng(seed)
    n = len(real_rows)
    is_real = np.repeat([1, 0], n)
    for theta in thetas:
        cumulative = np.cumsum(Q)
        fake_rows = []
        for _ in range(n):
            fake_rows.append(cells[np.searchsorted(cumulative, rng.random() * cumulative[-1])])
        rows = np.concatenate([real_rows, np.array(fake_rows)])
        tree = DecisionTreeClassifier(criterion="entropy", max_depth=8, min_samples_split=0.2, random_state=0)
        tree.fit(rows, is_real)
        calibrated = CalibratedClassifierCV(FrozenEstimator(tree), method="sigmoid").fit(rows, is_real)
        updated = []
        for cell, q in zip(cells, Q, strict=True):
            p_real = calibrated.predict_proba(cell[None, :])[0, 1]
            updated.append(q * np.exp(theta * C * (2 * p_real - 1)))
        Q = np.array(updated) / np.sum(updated)
    return Q
