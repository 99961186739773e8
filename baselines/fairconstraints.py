"""In-processing: logistic regression whose decision has bounded covariance with the group."""

import numpy as np
from scipy.optimize import nnls

from fbde.errors import FitFailed
from fbde.logistic import (
    Counted,
    first_reaching,
    indicators,
    newton,
    predict,
    with_intercept,
)
from fbde.methods import Method as Base
from fbde.thirdparty import quiet

SHARES = np.linspace(1, 0, 11)
TOLERANCE = 1e-5
PRECISION = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


class Method(Base):
    """Fair Constraints. Zafar, Valera, Gomez Rodriguez, Gummadi: Fairness Constraints: Mechanisms for Fair
    Classification, AISTATS 2017.

    Minimises the mean logistic loss subject to |Cov(1[s = g], xᵀβ)| ≤ c for each group g. c is ``share``
    times the largest such covariance of the unconstrained classifier; 0 is the published setting. If
    ``share`` is None, it is the largest of 1, .9, …, 0 for which SR_c on the training fold reaches ``tau``.
    """

    kind = "classifier"

    def __init__(self, *, share: float | None = 0.0, tau: float = 0.9):
        self.share = share
        self.tau = tau

    def fit_fold(self, fold):
        rows = fold.train.merged()
        data, A = Counted.of(rows), covariance(rows)
        free = newton(data)
        largest = np.abs(A @ free).max()
        shares = SHARES if self.share is None else [self.share]
        fairer = (solve(data, A, share * largest) if share < 1 else free for share in shares)
        beta = first_reaching(self.tau, fairer, rows, lambda beta: predict(beta, rows.X).probability)
        return predict(beta, fold.test.X)


def covariance(rows):
    """The matrix A for which A β holds the covariance of xᵀβ with each group's indicator."""
    member = indicators(rows.s, np.unique(rows.s))
    member -= np.average(member, axis=0, weights=rows.weight)
    return (member.T * rows.weight) @ with_intercept(rows.X) / rows.total


def solve(data, A, c):
    """The convex problem, by cvxpy."""
    import cvxpy as cp

    beta = cp.Variable(data.design.shape[1])
    eta = data.design @ beta
    loss = (data.total @ cp.logistic(eta) - data.positive @ eta) / data.total.sum()
    problem = cp.Problem(cp.Minimize(loss), [A @ beta == 0 if c == 0 else cp.abs(A @ beta) <= c])
    try:
        with quiet():
            problem.solve(solver=cp.CLARABEL, **PRECISION)
    except cp.SolverError as error:
        raise FitFailed(f"Fair Constraints: {error}") from error
    if beta.value is None:
        raise FitFailed(f"Fair Constraints: the solver ended with status {problem.status!r}")
    # One-hot columns leave β partly open, and the solver then often calls a good solution inaccurate: judge it here.
    if (error := optimality_error(data, A, c, beta.value)) > TOLERANCE:
        raise FitFailed(f"Fair Constraints: status {problem.status!r}, optimality error {error:.1e}")
    return beta.value


def optimality_error(data, A, c, beta):
    """By how much β violates the Karush–Kuhn–Tucker conditions.

    The larger of the covariance beyond c and the part of the loss gradient that no non-negative
    multipliers of the active bounds balance.
    """
    bounds = np.vstack([A, -A])
    excess = bounds @ beta - c
    active = bounds[excess > -TOLERANCE]
    gradient = data.gradient(beta)
    unbalanced = nnls(active.T, -gradient)[1] if len(active) else np.linalg.norm(gradient)
    return max(excess.max(), unbalanced)
