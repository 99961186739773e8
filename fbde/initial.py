"""The initial distribution Q_init: fair, and otherwise close to the data (Section 3.1, Appendix H).

Arrays have the shape (x rows, labels, groups) of :class:`fbde.domain.Domain`.
"""

from dataclasses import dataclass

import numpy as np

from fbde.errors import FBDEError
from fbde.metrics import FLOOR, rates_of_marginal

DIRECTIONS = ("raise", "lower")
MIXINGS = ("conditional", "joint")


@dataclass(frozen=True)
class Initial:
    """Q_init and the fairness it really has, which is what every guarantee starts from."""

    Q: np.ndarray
    sr0: float
    rr0: float


def fair_marginal(P_ys, positive, *, sr0=1.0, rr0=1.0, direction="raise"):
    """Q_init(y, s) from P(y, s): groups balanced to rr0, positive rates to sr0 (equations 3 and 4).

    Groups that are too small are raised to rr0 times the largest; rr0 = 1 gives 1/|S| each. Positive rates that
    are too low are raised to sr0 times the highest (``direction="raise"``) or, the other way round, those that
    are too high lowered to the lowest divided by sr0 (``"lower"``; the paper's footnote also lowers the lowest
    rate, which fairness does not need). Other labels keep their proportions.
    """
    group = P_ys.sum(axis=0)
    share = np.maximum(group, rr0 * group.max())
    rate = P_ys[positive] / group
    rate = np.maximum(rate, sr0 * rate.max()) if direction == "raise" else np.minimum(rate, rate.min() / sr0)
    others = np.delete(P_ys, positive, axis=0)
    total = others.sum(axis=0)
    proportion = np.divide(others, total, out=np.full_like(others, 1 / len(others)), where=total > 0)
    Q = np.insert(proportion * (1 - rate), positive, rate, axis=0)
    return Q * share / share.sum()


def conditionals(P, alpha=0.0, prior=None, floor=FLOOR):
    """Q_init(x | y, s): the empirical one, zero cells raised to ``floor``, mixed with a prior by ``alpha``."""
    marginal = P.sum(axis=0)
    empirical = np.divide(P, marginal, out=np.zeros_like(P), where=marginal > 0)
    empirical = np.where(empirical > 0, empirical, floor)
    empirical /= empirical.sum(axis=0)
    prior = np.ones_like(P) if prior is None else prior
    return (1 - alpha) * empirical + alpha * prior / prior.sum(axis=0)


def initial(
    P, positive, *, sr0=1.0, rr0=1.0, direction="raise", alpha=0.0, mixing="conditional", prior=None, floor=FLOOR
):
    """Q_init on the cells, and the rates left after mixing.

    Mixing inside of each conditional (x | y, s) keeps Q(y, s); mixing the joint distributions moves the rates,
    so they are computed again: the budget of the boosting starts from what is really there.
    """
    Q_ys = fair_marginal(P.sum(axis=0), positive, sr0=sr0, rr0=rr0, direction=direction)
    if mixing == "conditional":
        Q = Q_ys * conditionals(P, alpha, prior, floor)
    else:
        prior = np.ones_like(P) if prior is None else prior
        Q = (1 - alpha) * Q_ys * conditionals(P, floor=floor) + alpha * prior / prior.sum()
    Q = Q / Q.sum()
    left_rr0, left_sr0 = rates_of_marginal(Q.sum(axis=0), positive)
    return Initial(Q, left_sr0, left_rr0)


def check_support(P_ys, labels, groups, positive, names=("y", "s")):
    """Refuse data for which Q_init does not exist, naming the column and the group."""
    y_name, s_name = names
    labels, groups = np.asarray(labels).tolist(), np.asarray(groups).tolist()
    if len(groups) < 2:
        raise FBDEError(f"{s_name} has one group only ({groups[0]!r}); fairness between groups needs two or more")
    for group, total, count in zip(groups, P_ys.sum(axis=0), P_ys[positive], strict=True):
        if total <= 0:
            raise FBDEError(f"{s_name}: group {group!r} has no rows (total weight 0)")
        if count <= 0:
            raise FBDEError(
                f"{s_name}: group {group!r} has no row with {y_name} = {labels[positive]!r}, so its features "
                "given that label are unknown; merge groups or choose another positive label"
            )
