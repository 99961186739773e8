"""Logistic regression on counted rows: what the in-processing methods and the peers share.

A design row is (1, x), so that the first coefficient is the intercept. Equal feature rows are counted
together: the loss knows them only by how many there are and how many of them are positive, so this is
exact, and the 39,000 training rows of Adult become 123.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit
from threadpoolctl import ThreadpoolController

from fbde.domain import unique_rows
from fbde.errors import FitFailed
from fbde.methods import Predictions
from fbde.metrics import classifier_rate

STEPS = 100
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Counted:
    """Unique design rows with the total and the positive weight of each."""

    design: np.ndarray
    total: np.ndarray
    positive: np.ndarray

    @classmethod
    def of(cls, rows):
        X, place = unique_rows(rows.X)
        return cls.at(place, with_intercept(X), rows.y == 1, rows.weight)

    @classmethod
    def at(cls, place, design, positive, weight):
        """Count data rows whose design row is number ``place``."""
        total, hits = (np.bincount(place, w, len(design)) for w in (weight, weight * positive))
        return cls(design, total, hits)

    def loss(self, beta):
        """Mean logistic loss."""
        eta = self.design @ beta
        return float(self.total @ np.logaddexp(0, eta) - self.positive @ eta) / self.total.sum()

    def gradient(self, beta):
        residual = self.total * expit(self.design @ beta) - self.positive
        return self.design.T @ residual / self.total.sum()

    def hessian(self, beta):
        p = expit(self.design @ beta)
        return (self.design.T * (self.total * p * (1 - p))) @ self.design / self.total.sum()


def with_intercept(X):
    """(1, x) for each row."""
    return np.column_stack([np.ones(len(X)), X])


def indicators(s, groups):
    """One 0/1 column for each group but the last, which the others imply."""
    return (np.asarray(s)[:, None] == np.asarray(groups)[:-1]).astype(float)


@cache
def _threads():
    """The handle on numpy's threads, which takes milliseconds to find."""
    return ThreadpoolController()


def newton(data, penalty=None):
    """The minimiser of mean logistic loss + ½ βᵀ penalty β, by damped Newton steps.

    One-hot columns make the Hessian singular: the pseudo-inverse gives one of the minimisers, and all of
    them predict the same. Raises :class:`FitFailed` if the gradient does not vanish.
    """
    size = data.design.shape[1]
    penalty = np.zeros((size, size)) if penalty is None else penalty
    beta = np.zeros(size)
    # Threads that wait for each other cost twenty times what they give on matrices of this size.
    with _threads().limit(limits=1):
        for _ in range(STEPS):
            gradient = data.gradient(beta) + penalty @ beta
            if np.abs(gradient).max() <= TOLERANCE:
                return beta
            step = np.linalg.pinv(data.hessian(beta) + penalty, rcond=1e-12, hermitian=True) @ gradient
            beta = _descend(lambda b: data.loss(b) + b @ penalty @ b / 2, beta, step, gradient @ step)
    raise FitFailed(f"logistic regression: gradient {np.abs(gradient).max():.1e} after {STEPS} Newton steps")


def _descend(objective, beta, step, slope):
    """Halve the step until the objective falls by at least a tenth of what the slope promises (Armijo)."""
    start, length, rounding = objective(beta), 1.0, 1e-14
    while objective(beta - length * step) > start - 0.1 * length * slope + rounding and length > 1e-8:
        length /= 2
    return beta - length * step


def predict(beta, X):
    """Predictions of a logistic regression: the positive probability, and the decision at one half."""
    return decide(expit(with_intercept(X) @ beta))


def decide(probability):
    return Predictions((probability > 0.5).astype(int), probability)


def first_reaching(tau, candidates, rows, probability):
    """The first of ever fairer candidates whose SR_c on ``rows`` is at least ``tau``; else the last of them.

    One rule for every method with a trade-off: as little as is needed for ``tau``, judged on the training
    fold alone. ``probability(candidate)`` gives the positive probability of each row.
    """
    for candidate in candidates:
        if classifier_rate(probability(candidate), rows.s, rows.weight) >= tau:
            break
    return candidate
