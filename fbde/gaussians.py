"""Normal distributions of the continuous columns, one per cell of the discrete columns, y and s.

Coordinates are in standard units (mean 0 and variance 1 over all rows), so that columns of any unit can be
compared. The rule for a covariance, from the n rows (or total weight) of a cell:

* the sample covariance S, as published, if n ≥ 10 (d + 1) and its smallest eigenvalue is over 1e-6;
* else (n S + (d + 2) R) / (n + d + 2), where R is the covariance of all rows with the same (y, s), itself made
  by the same rule from that of all rows, to which 1e-6 is added on the diagonal if it is singular.

A cell without rows takes mean and covariance of its (y, s), and a (y, s) without rows those of all rows. A cell with
all rows of its (y, s), as without discrete columns, is that (y, s).
"""

from dataclasses import dataclass

import numpy as np

ENOUGH = 10  # rows per coordinate (and one) for a covariance of one's own
SINGULAR = 1e-6


@dataclass(frozen=True)
class Gaussians:
    """Means (cells, d) and lower Cholesky factors of the covariances (cells, d, d)."""

    mean: np.ndarray
    factor: np.ndarray

    @classmethod
    def fit(cls, x, cell, parent, weight):
        """Fit to points ``x`` in ``cell``; ``parent`` gives the (y, s) number of each cell."""
        everything = _moments(x, weight)
        low = np.linalg.eigvalsh(everything[2])[0]
        if low <= SINGULAR:
            everything[2][np.diag_indices(x.shape[1])] += SINGULAR - min(low, 0)
        above = _each(x, parent[cell], weight, [everything] * (int(parent.max()) + 1))
        _, means, covariances = zip(*_each(x, cell, weight, [above[k] for k in parent]), strict=True)
        return cls(np.array(means), np.linalg.cholesky(np.array(covariances)))

    @property
    def dimensions(self):
        return self.mean.shape[1]

    def draw(self, cell, rng):
        """One point in each of the given cells."""
        noise = rng.standard_normal((len(cell), self.dimensions))
        return self.place(cell, noise)

    def place(self, cell, noise):
        """Standard normal coordinates → coordinates of the cell's distribution."""
        points = np.empty_like(noise)
        for k, rows in by_cell(cell):
            points[rows] = noise[rows] @ self.factor[k].T + self.mean[k]
        return points

    def log_density(self, x, cell):
        """log N(x | cell)."""
        values = np.empty(len(x))
        for k, rows in by_cell(cell):
            values[rows] = -0.5 * np.sum(((x[rows] - self.mean[k]) @ self._whiten[k].T) ** 2, axis=1) + self._top[k]
        return values

    def gradient(self, x, cell):
        """∇ log N(x | cell)."""
        whiten = self._whiten[cell]
        white = np.einsum("nij,nj->ni", whiten, x - self.mean[cell])
        return -np.einsum("nij,ni->nj", whiten, white)

    def __post_init__(self):
        diagonal = np.diagonal(self.factor, axis1=1, axis2=2)
        top = -np.log(diagonal).sum(axis=1) - 0.5 * self.dimensions * np.log(2 * np.pi)
        object.__setattr__(self, "_whiten", np.linalg.inv(self.factor))
        object.__setattr__(self, "_top", top)


def by_cell(cell):
    """(cell, its rows) for each cell that occurs."""
    order = np.argsort(cell, kind="stable")
    found, starts = np.unique(cell[order], return_index=True)
    return [(k, order[a:b]) for k, a, b in zip(found, starts, [*starts[1:], len(order)], strict=False)]


def _moments(x, weight):
    total = weight.sum()
    mean = weight @ x / total
    centred = x - mean
    return [total, mean, (centred * weight[:, None]).T @ centred / total]


def _each(x, cell, weight, above):
    """Moments of each cell, shrunk towards those ``above`` it where the rule says so."""
    found = list(above)
    d = x.shape[1]
    for k, rows in by_cell(cell):
        if not 0 < weight[rows].sum() < above[k][0]:
            continue  # nothing of its own to tell
        n, mean, S = _moments(x[rows], weight[rows])
        if n < ENOUGH * (d + 1) or np.linalg.eigvalsh(S)[0] <= SINGULAR:
            S = (n * S + (d + 2) * above[k][2]) / (n + d + 2)
        found[k] = [n, mean, S]
    return found
