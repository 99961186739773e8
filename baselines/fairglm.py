"""In-processing: logistic regression penalised by how far apart it puts the groups."""

from itertools import combinations
from typing import Literal

import numpy as np

from fbde.errors import FitFailed
from fbde.logistic import Counted, first_reaching, newton, predict, with_intercept
from fbde.methods import Method as Base

PENALTIES = 10.0 ** np.arange(-3, 3.5, 0.5)
GRADIENT_STEPS = 100


class Method(Base):
    """Fair GLM. Do, Putzel, Martin, Smyth, Zhong: Fair Generalized Linear Models with a Convex Penalty,
    ICML 2022.

    Minimises the mean logistic loss + ½ λ βᵀDβ, where βᵀDβ is the mean squared difference of xᵀβ between
    members of different groups with the same label. ``penalty`` is λ; None takes the smallest of
    .001, .00316, …, 1000 for which SR_c on the training fold reaches ``tau``.

    The published numbers are those of λ = 0 and ``solver: gradient``: 100 unit gradient steps from β = 0.
    """

    kind = "classifier"

    def __init__(
        self,
        *,
        penalty: float | None = None,
        tau: float = 0.9,
        solver: Literal["newton", "gradient"] = "newton",
    ):
        self.penalty = penalty
        self.tau = tau
        self.solver = solver

    def fit_fold(self, fold):
        rows = fold.train.merged()
        data, D = Counted.of(rows), pairwise_differences(rows)
        fit = {"newton": newton, "gradient": descend}[self.solver]
        penalties = PENALTIES if self.penalty is None else [self.penalty]
        fairer = (fit(data, penalty * D) for penalty in penalties)
        beta = first_reaching(self.tau, fairer, rows, lambda beta: predict(beta, rows.X).probability)
        return predict(beta, fold.test.X)


def pairwise_differences(rows):
    """D: the mean of (x − x')(x − x')ᵀ over pairs with equal label and unlike groups.

    Averaged over labels and pairs of groups. The mean over pairs needs no pairs: it is
    E[x xᵀ] + E[x' x'ᵀ] − m m'ᵀ − m' mᵀ.
    """
    labels, groups = np.unique(rows.y), np.unique(rows.s)
    terms = []
    for label in labels:
        moments = [_moments(rows, label, group) for group in groups]
        for (m, second), (m_, second_) in combinations(moments, 2):
            terms.append(second + second_ - np.outer(m, m_) - np.outer(m_, m))
    return np.mean(terms, axis=0)


def _moments(rows, label, group):
    """Mean and second moment of (1, x) among the rows with this label and group."""
    own = (rows.y == label) & (rows.s == group)
    weight = rows.weight[own]
    if weight.sum() == 0:
        raise FitFailed(f"Fair GLM: no training row has label {label} and group {group}")
    design = with_intercept(rows.X[own])
    return weight @ design / weight.sum(), (design.T * weight) @ design / weight.sum()


def descend(data, penalty):
    """What the published numbers are: 100 unit gradient steps from 0, converged or not."""
    beta = np.zeros(data.design.shape[1])
    for _ in range(GRADIENT_STEPS):
        beta = beta - data.gradient(beta) - penalty @ beta
    return beta
