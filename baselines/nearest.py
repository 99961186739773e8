"""Pre-processing: the distribution nearest to the data among those that are fair enough."""

from dataclasses import replace

import numpy as np

from fbde.errors import ConfigError, FitFailed
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.thirdparty import quiet

PRECISION = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


class Method(Base):
    """The least KL(P‖Q) from the training rows P subject to SR ≥ ``sr`` and RR ≥ ``rr``: no method with these rates
    can go below it. A reverse information projection (Csiszár, Matúš: Information Projections Revisited, IEEE
    Transactions on Information Theory 49, 2003).

    KL(P‖Q) is that of the groups, of the label given the group, and of x given both. Rates constrain the first two
    only, so Q keeps the data's x | y, s, and what is left is a convex program in the shares and positive rates of the
    groups. The data's rows are weighted by Q(y, s) / P(y, s).
    """

    kind = "sampler"

    def __init__(self, *, sr: float = 0.9, rr: float = 0.9):
        for name, value in (("sr", sr), ("rr", rr)):
            if not 0 <= value <= 1:
                raise ConfigError(f"nearest: {name} must lie between 0 and 1, not {value!r}.")
        self.sr, self.rr = sr, rr

    def fit_fold(self, fold):
        rows = fold.train.merged()
        groups, s = np.unique(rows.s, return_inverse=True)
        cell = (rows.y == 1).astype(int), s
        P = np.zeros((2, len(groups)))
        np.add.at(P, cell, rows.weight / rows.total)
        if (P == 0).any():
            raise FitFailed("nearest: a group has only one label, so that no weights move its positive rate")
        ratio = nearest_table(P, self.sr, self.rr) / P
        return Distribution(samples=replace(rows, weight=rows.weight * ratio[cell]))


def nearest_table(P, sr, rr):
    """Q(y, s) with the least KL from P(y, s), in the same layout: a row per label, a column per group."""
    with quiet():
        import cvxpy as cp

        share, positive = cp.Variable(P.shape[1]), cp.Variable(P.shape[1])
        likelihood = P.sum(axis=0) @ cp.log(share) + P[1] @ cp.log(positive) + P[0] @ cp.log(1 - positive)
        fair = [share >= rr * cp.max(share), positive >= sr * cp.max(positive), cp.sum(share) == 1]
        cp.Problem(cp.Maximize(likelihood), fair).solve(solver=cp.CLARABEL, **PRECISION)
    return np.stack([(1 - positive.value) * share.value, positive.value * share.value])
