"""The metrics of the paper, one table of them: METRICS.

All take weights, so that a row with weight 3 counts as three rows. A rate that is 0 in every group
gives the ratio 1: the groups are treated alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fbde.errors import DataError

FLOOR = 1e-9  # probability of a cell that was never seen, as in the paper


def _positions(key, keys):
    """The place of each key among the sorted ``keys``; one that is not among them is refused."""
    position = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    if not np.array_equal(keys[position], key):
        raise DataError(f"value {key[keys[position] != key][0]} is not one of {', '.join(map(str, keys))}")
    return position


def _rates(value, key, keys, weight):
    """Weighted mean of ``value`` at each of ``keys``; NaN where a key has no weight."""
    position = _positions(key, keys)
    total = np.bincount(position, weight, len(keys))
    with np.errstate(invalid="ignore"):
        return np.bincount(position, weight * value, len(keys)) / total


def _ratio(rates):
    """Smallest over largest, that is the minimum over all ordered pairs of groups."""
    if not np.isfinite(rates).all():
        return float("nan")
    return 1.0 if rates.max() == 0 else float(rates.min() / rates.max())


def _weights(weight, like):
    return np.ones(len(like)) if weight is None else np.asarray(weight, dtype=float)


def representation_rate(s, weight=None, *, groups=None):
    """RR, Definition 2.1: the smallest P(s)/P(s') over all pairs of groups."""
    s = np.asarray(s)
    groups = np.unique(s) if groups is None else np.asarray(groups)
    return _ratio(np.bincount(_positions(s, groups), _weights(weight, s), len(groups)))


def statistical_rate(y, s, weight=None, *, positive=1, groups=None):
    """SR, Definition 2.2: the smallest P(y|s)/P(y|s') over all pairs of groups, for the positive label y."""
    y, s = np.asarray(y), np.asarray(s)
    groups = np.unique(s) if groups is None else np.asarray(groups)
    return _ratio(_rates((y == positive).astype(float), s, groups, _weights(weight, s)))


def rates_of_marginal(marginal, positive=-1):
    """(RR, SR) of a marginal Q(y, s) given as an array (labels, groups); ``positive`` is the label's position."""
    group = marginal.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return _ratio(group), _ratio(marginal[positive] / group)


def floored(P):
    """P with a floor inside each conditional P(x|y,s), so that no cell that a (y, s) could reach has probability 0."""
    marginal = P.sum(axis=0, keepdims=True)
    conditional = np.divide(P, marginal, out=np.zeros_like(P), where=marginal > 0)
    conditional = np.where(conditional > 0, conditional, FLOOR)
    return marginal * conditional / conditional.sum(axis=0, keepdims=True)


def kl_divergence(P, Q):
    """KL(P, Q) = Σ P log(P/Q) over the cells with P > 0; infinite if Q is 0 in one of them."""
    P, Q = np.ravel(P), np.ravel(Q)
    seen = P > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(P[seen] * np.log(P[seen] / Q[seen])))


def classifier_rate(prediction, s, weight=None, *, groups=None):
    """SR_c: ratio over the groups of the mean prediction (a probability, or a 0/1 decision)."""
    s = np.asarray(s)
    groups = np.unique(s) if groups is None else np.asarray(groups)
    return _ratio(_rates(np.asarray(prediction, dtype=float), s, groups, _weights(weight, s)))


def equal_opportunity(prediction, y, s, weight=None, *, positive=1, groups=None):
    """EO: ratio over the groups of the mean prediction among the rows that are positive."""
    y, s = np.asarray(y), np.asarray(s)
    groups = np.unique(s) if groups is None else np.asarray(groups)
    chosen = y == positive
    return _ratio(_rates(np.asarray(prediction, float)[chosen], s[chosen], groups, _weights(weight, s)[chosen]))


def accuracy(decision, y, weight=None):
    """Acc: share of right decisions."""
    return float(np.average(np.asarray(decision) == np.asarray(y), weights=_weights(weight, y)))


def _spread(values):
    return float(np.max(values) - np.min(values))


def cluster_representation(cluster, s, weight=None, *, k=None, empty="nan"):
    """cPR: largest minus smallest share of a group over the clusters; with several groups, the widest of them.

    ``empty="nan"`` gives NaN if a cluster has no row, as published; ``"skip"`` leaves such a cluster out.
    """
    cluster, s, weight = np.asarray(cluster), np.asarray(s), _weights(weight, s)
    keys = np.arange(k or cluster.max() + 1)
    shares = np.array([_rates((s == group).astype(float), cluster, keys, weight) for group in np.unique(s)])
    if empty == "skip":
        shares = shares[:, np.isfinite(shares[0])]
    return max(_spread(share) for share in shares)


def cluster_statistical_rate(cluster, y, s, weight=None, *, k=None, positive=1, empty="nan"):
    """cSR: largest minus smallest statistical rate within a cluster.

    A cluster that lacks a group has no statistical rate: NaN, or left out with ``empty="skip"``.
    """
    cluster, y, s, weight = np.asarray(cluster), np.asarray(y), np.asarray(s), _weights(weight, s)
    groups = np.unique(s)
    rates = []
    for number in range(k or cluster.max() + 1):
        own = cluster == number
        rates.append(statistical_rate(y[own], s[own], weight[own], positive=positive, groups=groups))
    rates = np.array(rates)
    if empty == "skip":
        rates = rates[np.isfinite(rates)]
    return _spread(rates) if len(rates) else float("nan")


def cluster_distance(points, centres, weight=None):
    """dist: mean Euclidean distance to the nearest centre."""
    from scipy.spatial.distance import cdist

    return float(np.average(cdist(points, centres).min(axis=1), weights=_weights(weight, points)))


@dataclass(frozen=True)
class Metric:
    """A metric's family, function, label, direction (+1: higher is better) and the variants it comes in.

    ``published``: as the paper computed it. ``exact``: from the density instead of samples.
    ``corrected``: without a flaw of the published form. ``hard``: from decisions instead of probabilities.
    """

    family: str
    function: Callable | None
    label: str
    direction: int
    variants: tuple[str, ...] = ("published",)


METRICS = {
    "RR": Metric("data", representation_rate, "representation rate", +1, ("published", "exact")),
    "SR": Metric("data", statistical_rate, "statistical rate", +1, ("published", "exact")),
    "KL": Metric("data", kl_divergence, "KL(test data, Q)", -1, ("published", "exact", "corrected")),
    "SR_c": Metric("prediction", classifier_rate, "statistical rate of a classifier", +1,
                   ("published", "exact", "corrected", "hard")),
    "EO": Metric("prediction", equal_opportunity, "equality of opportunity", +1, ("published", "exact", "hard")),
    "Acc": Metric("prediction", accuracy, "accuracy", +1, ("published", "exact")),
    "cPR": Metric("clustering", cluster_representation, "spread of group shares", -1, ("published", "corrected")),
    "cSR": Metric("clustering", cluster_statistical_rate, "spread of statistical rates", -1,
                  ("published", "corrected")),
    "dist": Metric("clustering", cluster_distance, "distance to the centre", -1, ("published", "corrected")),
    "time": Metric("cost", None, "seconds to fit", -1),
}  # fmt: skip
