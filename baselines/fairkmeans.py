"""Rényi fair K-means: clusters that are compact, and in which the groups are mixed.

The objective is Σ_i ‖x_i − c_j(i)‖² − λ·Σ_i (w_j(i) − s_i)², with c_j the mean of cluster j and w_j its
share of S = 1: the second sum is the variance of S within the clusters, which is large if they are
mixed. Points are assigned one after the other and w follows each of them, so the order of the rows
matters and equal rows cannot be merged. Running counts make a pass O(nK).
"""

from operator import sub
from typing import ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from fbde.errors import ConfigError, DataError
from fbde.evaluate import norms
from fbde.methods import Centres
from fbde.methods import Method as Base

SPREAD = 0.1  # difference of shares that the rule for λ still tolerates
TOLERANCE = 1e-4  # share of the squared distances by which a pass must lower the objective


class Method(Base):
    """Sina Baharlouei, Maher Nouiehed, Ahmad Beirami, Meisam Razaviyayn: Rényi fair inference. ICLR 2020.

    The defaults are the method as it is meant: from the plain K-means solution (k-means++ start) it passes
    over the rows until the objective falls no more, with the λ of :func:`balancing_lambda`
    (``lam=None``). As published: ``start="first-K"`` (the first K rows are the centres, and all points
    begin in the first cluster), ``lam=0.02``, one pass, and a ``residue``: the sums from which
    the centres are made start from a number drawn from U(0, 1), not from 0.
    """

    kind = "clusterer"
    smoke: ClassVar[dict] = {"passes": 1}

    def __init__(
        self,
        *,
        K: int = 4,
        lam: float | None = None,
        start: Literal["k-means++", "first-K"] = "k-means++",
        passes: int = 100,
        residue: bool = False,
    ):
        if K < 1 or passes < 1 or (lam is not None and lam < 0):
            raise ConfigError("FairKMeans: K and passes must be at least 1, and lam not negative.")
        self.K, self.lam, self.start, self.passes, self.residue = K, lam, start, passes, residue

    def fit_fold(self, fold):
        rows, scale = fold.train, norms(fold.train)
        if not np.isin(rows.s, (0, 1)).all():
            raise DataError(f"FairKMeans: {fold.task.sensitive} has other values than 0 and 1.")
        each = np.repeat(np.arange(len(rows.s)), rows.weight.astype(int))
        points, s, rng = (np.column_stack([rows.X, rows.y]) / scale)[each], rows.s[each], fold.rng
        if len(points) < self.K:
            raise DataError(f"FairKMeans cannot make {self.K} clusters of {len(points)} rows.")
        if self.start == "first-K":
            cluster, centres = np.zeros(len(points), dtype=int), points[: self.K]
        else:
            cluster, centres = plain_kmeans(points, self.K, rng)
        lam = self.lam if self.lam is not None else balancing_lambda(points, s, centres)
        clusters = Clusters(cluster, s, self.K, lam)
        residues = rng if self.residue else None
        return Centres(descend(points, clusters, centres, self.passes, residues), scale)


def plain_kmeans(points, K, rng):
    """Clusters and centres without regard to S."""
    with threadpool_limits(1):
        plain = KMeans(K, n_init=10, random_state=int(rng.integers(1 << 31))).fit(points)
    return plain.labels_, plain.cluster_centers_


def balancing_lambda(points, s, centres):
    """The λ at which a difference of SPREAD between the shares of two clusters outweighs distance.

    Let d₁ ≤ d₂ be a point's squared distances to its two nearest centres, and let the shares of their
    clusters differ by SPREAD to its disadvantage: it goes to the second if λ·((w₂ − s)² − (w₁ − s)²) ≈
    2λ·SPREAD·|P(S=1) − s| exceeds d₂ − d₁. On average over the points the two are equal if
    4λ·SPREAD·P(S=1)·P(S=0) = mean(d₂ − d₁). No search, no label, and λ follows the columns' scale.
    """
    p = np.mean(s)
    if len(centres) == 1 or p in (0, 1):
        return 0.0
    nearest = np.partition(cdist(points, centres, "sqeuclidean"), 1, axis=1)
    return float(np.mean(nearest[:, 1] - nearest[:, 0]) / (4 * SPREAD * p * (1 - p)))


class Clusters:
    """The cluster of each point, with counts that follow every single move."""

    def __init__(self, cluster, s, K, lam):
        self.cluster, self.s, self.lam = np.asarray(cluster).tolist(), np.asarray(s).astype(int).tolist(), lam
        self.size = np.bincount(self.cluster, minlength=K).tolist()
        self.ones = np.bincount(self.cluster, s, K).tolist()
        # Before the first point is visited no share is known: as published, they are 0.
        self.w = [0.0] * K

    def refresh(self):
        """w_j of every cluster; an empty one keeps the share it had last."""
        self.w = [o / n if n else w for o, n, w in zip(self.ones, self.size, self.w, strict=True)]

    def visit(self, distance, first, last):
        """Assign points ``first`` … ``last`` − 1 in order to argmin_j ‖x − c_j‖² − λ(w_j − s)²."""
        cluster, size, ones, w, lam = self.cluster, self.size, self.ones, self.w, self.lam
        gain = [[lam * (share - group) ** 2 for share in w] for group in (0, 1)]
        for i in range(first, last):
            group, old = self.s[i], cluster[i]
            score = list(map(sub, distance[i], gain[group]))
            new = score.index(min(score))
            if new == old:
                continue
            cluster[i] = new
            for j, change in ((old, -1), (new, 1)):
                size[j] += change
                ones[j] += change * group
                if size[j]:
                    w[j] = ones[j] / size[j]
                    gain[0][j], gain[1][j] = lam * w[j] ** 2, lam * (w[j] - 1) ** 2

    def objective(self, distance):
        """The objective, and its first sum alone."""
        inertia = distance[np.arange(len(distance)), self.cluster].sum()
        mixed = sum(o * (n - o) / n for o, n in zip(self.ones, self.size, strict=True) if n)
        return inertia - self.lam * mixed, inertia


def descend(points, clusters, centres, passes, residues=None):
    """Assign and average in turn, until a pass lowers the objective no more; the best centres."""
    distance, lowest = cdist(points, centres, "sqeuclidean"), np.inf
    for number in range(passes):
        table, begin = distance.tolist(), 0
        if number == 0:
            clusters.visit(table, 0, 1)
            clusters.refresh()
            begin = 1
        clusters.visit(table, begin, len(points))
        centres = means(points, np.array(clusters.cluster), centres, residues)
        distance = cdist(points, centres, "sqeuclidean")
        value, inertia = clusters.objective(distance)
        if value < lowest:
            best = centres
        if value > lowest - TOLERANCE * inertia:
            break
        lowest = value
    return best


def means(points, cluster, centres, residues=None):
    """The mean of each cluster; an empty one keeps its centre, or with residues gets the residue alone."""
    K, number = len(centres), np.bincount(cluster, minlength=len(centres))[:, None]
    sums = np.array([points[cluster == j].sum(axis=0) for j in range(K)])
    if residues is not None:
        return (residues.random(sums.shape) + sums) / np.maximum(number, 1)
    return np.where(number > 0, sums / np.maximum(number, 1), centres)
