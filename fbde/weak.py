"""Weak learners: c: (x, y, s) → [−C, C], the higher the more a point looks like data and not like Q.

The default is the paper's: a decision tree (entropy, depth 8, no split of a node with under 20 % of the weight),
calibrated by Platt's method on the same data, c = C (2 p_real − 1). It is fitted on weighted points: the population
version of the published code, which drew n fake rows in every round.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, xlogy

LOG2 = float(np.log(2))  # C in all of the paper's experiments


@dataclass(frozen=True, eq=False)
class WeakTree:
    """A fitted weak learner as plain arrays, one entry per node; ``left`` is −1 at a leaf.

    ``real`` is the calibrated probability that a point of the node is real, ``weight`` the node's share
    of the training weight.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    real: np.ndarray
    weight: np.ndarray
    C: float

    def leaf_of(self, points):
        """The leaf each point falls into."""
        points = np.asarray(points, dtype=np.float32)
        node = np.zeros(len(points), dtype=np.intp)
        while True:
            inner = np.flatnonzero(self.left[node] >= 0)
            if not len(inner):
                return node
            at = node[inner]
            goes_left = points[inner, self.feature[at]] <= self.threshold[at]
            node[inner] = np.where(goes_left, self.left[at], self.right[at])

    def __call__(self, points):
        """c at each point."""
        return self.scores[self.leaf_of(points)]

    @property
    def scores(self):
        return np.clip(self.C * (2 * self.real - 1), -self.C, self.C)

    @property
    def depth(self):
        def below(node):
            return 0 if self.left[node] < 0 else 1 + max(below(self.left[node]), below(self.right[node]))

        return below(0)

    def to_dict(self, names=None, node=0):
        """The tree as nested dicts: question, yes and no, or a leaf."""
        entry = {"real": float(self.real[node]), "c": float(self.scores[node]), "weight": float(self.weight[node])}
        if self.left[node] < 0:
            return entry
        name = self._name(node, names)
        entry |= {"feature": name, "threshold": float(self.threshold[node])}
        entry["yes"] = self.to_dict(names, self.left[node])
        entry["no"] = self.to_dict(names, self.right[node])
        return entry

    def to_text(self, names=None, node=0, indent=""):
        """The tree as indented text."""
        what = "real" if self.real[node] >= 0.5 else "fake"
        fact = f"{what} (p = {self.real[node]:.3f}, c = {self.scores[node]:+.3f}, weight {self.weight[node]:.1%})"
        if self.left[node] < 0:
            return f"{indent}{fact}\n"
        name, threshold = self._name(node, names), self.threshold[node]
        return (
            f"{indent}{name} <= {threshold:g}?\n"
            + self.to_text(names, self.left[node], indent + "| yes ")
            + self.to_text(names, self.right[node], indent + "| no  ")
        )

    def _name(self, node, names):
        index = int(self.feature[node])
        return f"column {index}" if names is None else str(names[index])

    def arrays(self):
        return {item.name: np.asarray(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(**{item.name: arrays[item.name] for item in fields(cls)} | {"C": float(arrays["C"])})


@dataclass(frozen=True)
class TreeLearner:
    """Makes :class:`WeakTree` objects.

    Parameters
    ----------
    C : float
        Bound of the output; log 2 in the paper.
    max_depth, min_split : int, float
        Depth, and the share of the weight below which a node is not split.
    calibrate : bool
        Platt's calibration, or the leaf's own share of real weight.
    sampled : bool
        Draw n fake rows, as the published code did, instead of using Q's probabilities themselves.
    hidden : tuple of int
        Columns the tree may not see, for example that of S.
    max_bins : int, optional
        Let a column with more values be split at this many quantiles only, as continuous ones need it.
    """

    C: float = LOG2
    max_depth: int | None = 8
    min_split: float = 0.2
    calibrate: bool = True
    sampled: bool = False
    hidden: tuple[int, ...] = ()
    max_bins: int | None = None

    def bind(self, real, fake):
        """Prepare for two tables of points; gives ``fit(p, q, n, rng) → (c, c on real, c on fake)``.

        ``p`` and ``q`` are the probabilities of the real and of the fake points, ``n`` is the number of data rows.
        """
        same = real is fake
        table = real if same else np.concatenate([real, fake])
        splits = BinnedSplits(table, self.hidden, self.max_bins) if self.max_bins else Splits(table, self.hidden)
        pad_real, pad_fake = np.zeros(len(real)), np.zeros(len(fake))

        def fit(p, q, n, rng):
            if self.sampled:
                q = rng.multinomial(round(n), q / q.sum()) / n
            if not same:
                p, q = np.concatenate([p, pad_fake]), np.concatenate([pad_real, q])
            tree, leaf = grow(splits, n * p, n * q, self)
            c = tree.scores[leaf]
            return (tree, c, c) if same else (tree, c[: len(real)], c[len(real) :])

        return fit


class Splits:
    """Every split a table of points allows: (column, threshold), and which points go left."""

    def __init__(self, table, hidden=()):
        feature, threshold = [], []
        for column in range(table.shape[1]):
            if column not in hidden:
                values = np.unique(table[:, column])
                threshold.append((values[1:] + values[:-1]) / 2)
                feature.append(np.full(len(values) - 1, column))
        self.points = len(table)
        self.feature = np.concatenate(feature or [np.empty(0, int)]).astype(int)
        self.threshold = np.concatenate(threshold or [np.empty(0)])
        # One row per split, so that the masses left of all splits are one matrix product.
        self.left = (table.T[self.feature] <= self.threshold[:, None]).astype(float)

    def masses_left(self, masses):
        """Total of each row of ``masses`` left of each split: (splits, rows)."""
        return self.left @ masses.T

    def goes_left(self, split):
        """Whether each point goes left at a split."""
        return self.left[split] > 0


class BinnedSplits:
    """Splits at quantiles, for many points with many values: one byte or two per point and column."""

    def __init__(self, table, hidden, max_bins):
        self.points, self.bins, feature, threshold = len(table), [], [], []
        for column in range(table.shape[1]):
            if column not in hidden:
                values = np.unique(table[:, column])
                if len(values) > max_bins:
                    values = np.unique(np.quantile(table[:, column], np.linspace(0, 1, max_bins), method="nearest"))
                edges = (values[1:] + values[:-1]) / 2
                threshold.append(edges)
                feature.append(np.full(len(edges), column))
                kind = np.uint8 if len(edges) < 256 else np.uint16
                self.bins.append(np.searchsorted(edges, table[:, column], side="left").astype(kind))
        self.feature = np.concatenate(feature or [np.empty(0, int)]).astype(int)
        self.threshold = np.concatenate(threshold or [np.empty(0)])
        self.owner = np.repeat(np.arange(len(feature)), [len(edges) for edges in threshold])
        self.number = np.concatenate([np.arange(len(edges)) for edges in threshold] or [np.empty(0, int)]).astype(int)

    def masses_left(self, masses):
        found = np.empty((len(self.feature), len(masses)))
        for column, bins in enumerate(self.bins):
            own = self.owner == column
            for row, mass in enumerate(masses):
                found[own, row] = np.cumsum(np.bincount(bins, mass, own.sum() + 1))[:-1]
        return found

    def goes_left(self, split):
        return self.bins[self.owner[split]] <= self.number[split]


def grow(splits, real, fake, options):
    """Grow a tree level by level on weighted points; gives the tree and the leaf of each point.

    The same tree as scikit-learn's with entropy and min_samples_split on rows repeated by their weights. Each level
    needs the masses left of every split in every node that may be split, which is one matrix product; nodes
    with under ``min_split`` of the weight are leaves, so there are few of them.
    """
    total = real.sum() + fake.sum()
    seen = (real + fake) > 0
    # The factor forgives rounding in sums of weights; exact ties are split, as in scikit-learn.
    heavy = options.min_split * total * (1 - 1e-9)
    feature, threshold, left, right = [-1], [0.0], [-1], [-1]
    masses = [(real.sum(), fake.sum())]
    node = np.zeros(splits.points, dtype=np.intp)
    level, depth = [0], 0
    while level and (options.max_depth is None or depth < options.max_depth):
        open_nodes = [k for k in level if sum(masses[k]) >= heavy and min(masses[k]) > 0]
        if not open_nodes or not len(splits.feature):
            break
        level, depth = [], depth + 1
        inside = node == np.array(open_nodes)[:, None]
        sums = splits.masses_left(np.concatenate([inside * real, inside * fake, inside & seen]))
        for k, (here, chosen) in enumerate(zip(open_nodes, inside, strict=True)):
            count = len(open_nodes)
            went = sums[:, k], sums[:, count + k], sums[:, 2 * count + k]
            best = _best_split(went, masses[here], np.count_nonzero(chosen & seen))
            if best is None:
                continue
            split_left = chosen & splits.goes_left(best)
            ours = float(real[split_left].sum()), float(fake[split_left].sum())
            split_right = chosen & ~split_left
            theirs = float(real[split_right].sum()), float(fake[split_right].sum())
            first = len(masses)
            node[split_left], node[split_right] = first, first + 1
            feature[here], threshold[here] = int(splits.feature[best]), float(splits.threshold[best])
            left[here], right[here] = first, first + 1
            for child in (ours, theirs):
                feature.append(-1)
                threshold.append(0.0)
                left.append(-1)
                right.append(-1)
                masses.append(child)
                level.append(len(masses) - 1)
    masses = np.array(masses)
    mass, left = masses.sum(axis=1), np.array(left)
    share = np.divide(masses[:, 0], mass, out=np.full(len(mass), 0.5), where=mass > 0)
    probability = platt(share, mass, left < 0) if options.calibrate else share
    tree = WeakTree(np.array(feature), np.array(threshold), left, np.array(right), probability, mass / total, options.C)
    return tree, node


def _best_split(went, mass, count):
    """The split with the least remaining entropy, or None if no split parts the points."""
    real, fake, points = went
    valid = (points > 0) & (points < count)
    if not valid.any():
        return None
    rest = _entropy(real, fake) + _entropy(mass[0] - real, mass[1] - fake)
    return int(np.argmin(np.where(valid, rest, np.inf)))


def _entropy(real, fake):
    """Weight times entropy of a node; rounding may leave a mass a little below 0."""
    real, fake = np.maximum(real, 0), np.maximum(fake, 0)
    return xlogy(real + fake, real + fake) - xlogy(real, real) - xlogy(fake, fake)


def platt(share, mass, leaf, iterations=100):
    """Platt's sigmoid 1/(1 + exp(A f + B)) of the leaf shares f, fitted on the leaves and applied to all nodes.

    All points of a leaf have the same f, so the fit needs the leaves only: each holds ``mass``·f real and
    ``mass``·(1 − f) fake weight. Targets are smoothed as Platt (1999) does it. Newton's method with halving.
    """
    f, m = share[leaf], mass[leaf]
    real, fake = m * f, m * (1 - f)
    high, low = (real.sum() + 1) / (real.sum() + 2), 1 / (fake.sum() + 2)
    target = real * high + fake * low  # expected real weight in each leaf
    design = np.column_stack([f, np.ones_like(f)])
    beta = np.array([0.0, np.log((real.sum() + 1) / (fake.sum() + 1))])

    def loss(beta):
        z = design @ beta
        return float(np.sum(m * np.logaddexp(0, z) - target * z))

    current = loss(beta)
    for _ in range(iterations):
        p = expit(design @ beta)
        curvature = m * p * (1 - p)
        step = _solve(
            curvature @ f**2, curvature @ f, curvature.sum(), (m * p - target) @ f, float(np.sum(m * p - target))
        )
        size = 1.0
        while size > 1e-8 and loss(beta - size * step) > current:
            size /= 2
        beta = beta - size * step
        previous, current = current, loss(beta)
        if previous - current <= 1e-13 * abs(current):
            break
    return expit(share * beta[0] + beta[1])


def _solve(a, b, c, u, v):
    """Solve [[a, b], [b, c]] x = (u, v); if all leaves have the same share, only the second unknown is moved."""
    determinant = a * c - b * b
    if determinant <= 1e-12 * a * c:
        return np.array([0.0, v / c])
    return np.array([c * u - b * v, a * v - b * u]) / determinant
