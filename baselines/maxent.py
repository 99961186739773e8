"""MaxEnt: the distribution closest to a fair prior that has the marginals of fairly reweighted data.

Letters: α(z) is the one-hot code of z = (x, y, s), q the prior, θ the target, λ the dual variable.
The prior is a mixture, q = (1 − C)·w + C·u, of the reweighted training rows w and the uniform
distribution u on the product of all columns' levels. The solution p(z) = q(z)·exp⟨λ, α(z)⟩ / Z is again
a mixture: of a tilted w, which is a sum over rows, and of a tilted u, under which the columns are
independent. So Z, its gradient and its Hessian are closed forms, and the product is never enumerated.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from fbde.domain import find_rows, unique_rows
from fbde.errors import ConfigError, DataError, FBDEError
from fbde.evaluate import SAMPLES_PER_ROW
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.metrics import FLOOR
from fbde.tasks import Rows

TOLERANCE = 1e-10  # largest difference between a fitted marginal and its target
STEPS = 100  # Newton needs 4 to 6; only an infeasible target needs more


class InfeasibleTarget(FBDEError):
    """No distribution on the domain has the marginals that are asked for."""


class Method(Base):
    """L. Elisa Celis, Vijay Keswani, Nisheeth K. Vishnoi: Data preprocessing to mitigate bias: a maximum
    entropy based approach. ICML 2020.

    ``C`` is the share of the uniform distribution in the prior; ``rho`` is the statistical rate up to
    which the rows are reweighted, see :func:`fair_marginal`. The paper has C = 1/2, ρ = 1. Some draws
    have an x that the dataset does not (8 % on Dutch): the published numbers are those without them
    (``outside="drop"``). The density and the exact rates are always those of the whole p.
    """

    kind = "sampler"

    def __init__(self, *, C: float = 0.5, rho: float = 1.0, outside: Literal["drop", "keep"] = "drop"):
        for name, value in {"C": C, "rho": rho}.items():
            if not 0 <= value <= 1:
                raise ConfigError(f"MaxEnt: {name} must lie between 0 and 1, not {value!r}.")
        self.C, self.rho, self.outside = C, rho, outside

    def not_applicable(self, task):
        if task.continuous:
            return f"needs discrete features; {', '.join(task.continuous)} are continuous"

    def fit_fold(self, fold):
        joint = count_joint(fold)
        marginal = fair_marginal(joint, fold.domain.labels == 1, self.rho)
        columns, codes = Columns.fit(fold.task, fold.train)
        codes, count = distinct(codes, fold.train.weight)
        at = codes[:, -2], codes[:, -1]
        prior = Prior(columns.sizes, codes, count * (marginal / joint)[at], self.C)
        theta = prior.w @ prior.alpha
        # Small matrices: threads cost more than they give, and rounding would depend on their number.
        with threadpool_limits(1):
            p = minimise_dual(prior, theta)
        cells = columns.encode(Rows(*fold.domain.cells(), None))
        density = p.density(cells).reshape(fold.domain.shape)
        draws, number = p.draw(round(SAMPLES_PER_ROW * fold.train.total), fold.rng)
        if self.outside == "drop":
            inside = find_rows(cells, draws) >= 0
            draws, number = draws[inside], number[inside]
        return Distribution(
            samples=columns.decode(draws, number, like=fold.train),
            # p is 0 at a level no training row has, and with C = 0 off the rows: there the paper's floor.
            density=np.where(density > 0, density, FLOOR),
            marginal=p.marginal(),
            kl_from_samples=True,
            trace={"duality_gap": np.array([p.duality_gap(theta)])},
        )


# ------------------------------------------------------------------------------------ reweighting


def count_joint(fold):
    """n(y, s) of the training rows; every label must occur in every group."""
    domain, train = fold.domain, fold.train
    y, s = np.searchsorted(domain.labels, train.y), np.searchsorted(domain.groups, train.s)
    joint = np.zeros((len(domain.labels), len(domain.groups)))
    np.add.at(joint, (y, s), train.weight)
    if not joint.all():
        label, group = np.argwhere(joint == 0)[0]
        raise InfeasibleTarget(
            f"MaxEnt cannot reweight fold {fold.number} of {fold.task.name}: no training row has "
            f"{fold.task.label} = {domain.labels[label]} and {fold.task.sensitive} = {domain.groups[group]}."
        )
    return joint


def fair_marginal(joint, positive, rho):
    """w(y, s): equal groups, and positive rates within the ratio ρ of each other.

    Algorithm 1 of Celis et al. weighs a row by n(y)/n(y, s), so that w(s) = 1/|S| and w(y|s) = P(y): every
    group has the overall rate r. That is ρ = 1, all that the paper uses. For ρ < 1 we let each group's
    rates move there only as far as they must: w(y|s) = P(y) + κ·(P(y|s) − P(y)) with the largest κ ≤ 1 at
    which the smallest positive rate a and the largest b satisfy r + κ(a − r) ≥ ρ·(r + κ(b − r)). Data with
    a statistical rate of ρ or more keep their rates, and only the groups are made equal.
    """
    overall = joint.sum(axis=1, keepdims=True) / joint.sum()
    rates = joint / joint.sum(axis=0)
    r, groups = overall[positive].sum(), rates[positive].sum(axis=0)
    excess = rho * (groups.max() - r) + (r - groups.min())
    kappa = min(1.0, (1 - rho) * r / excess) if excess > 0 else 1.0
    return (overall + kappa * (rates - overall)) / joint.shape[1]


# ------------------------------------------------------------------------ the columns as categories


@dataclass(frozen=True)
class Columns:
    """The categorical columns: each feature, then y, then s, as groups of table columns, and their levels.

    A level is the place of the 1 in a one-hot group, or the value in a group of one table column.
    Only levels of training rows count: any other would have θ = 0, and so p = 0.
    """

    groups: list
    levels: list

    @classmethod
    def fit(cls, task, rows):
        """The columns of a task with the levels of ``rows``, and these rows' level numbers."""
        place = {name: index for index, name in enumerate(task.features)}
        groups = [[place[name] for name in names] for names in task.groups.values()]
        groups += [[index] for index in place.values() if not any(index in group for group in groups)]
        groups += [[len(place)], [len(place) + 1]]
        names = _level_names(rows, groups)
        columns = cls(groups, [np.unique(column) for column in names])
        return columns, columns._number(names)

    @property
    def sizes(self):
        return np.array([len(levels) for levels in self.levels])

    def encode(self, rows):
        """The number of each row's level in each column; −1 for a level that the training rows lack."""
        return self._number(_level_names(rows, self.groups))

    def _number(self, names):
        codes = np.empty(names.T.shape, dtype=int)
        for column, (levels, name) in enumerate(zip(self.levels, names, strict=True)):
            code = np.minimum(np.searchsorted(levels, name), len(levels) - 1)
            codes[:, column] = np.where(levels[code] == name, code, -1)
        return codes

    def decode(self, codes, weight, like):
        """Rows from level numbers, with labels and groups of the same type as those of ``like``."""
        table = np.zeros((len(codes), sum(map(len, self.groups))))
        for group, levels, code in zip(self.groups, self.levels, codes.T, strict=True):
            if len(group) > 1:
                table[np.arange(len(codes)), np.take(group, levels[code].astype(int))] = 1
            else:
                table[:, group[0]] = levels[code]
        y, s = table[:, -2].astype(like.y.dtype), table[:, -1].astype(like.s.dtype)
        return Rows(table[:, :-2], y, s, weight)


def _level_names(rows, groups):
    """For each column the level of each row, by one product of matrices: the rows are many."""
    table = np.column_stack([rows.X, rows.y, rows.s])
    name, ones = np.zeros((2, table.shape[1], len(groups)))
    for column, group in enumerate(groups):
        name[group, column] = np.arange(len(group)) if len(group) > 1 else 1
        ones[group, column] = len(group) > 1
    one_hot = ones.any(axis=0)
    if not (table @ ones[:, one_hot] == 1).all():
        raise DataError("MaxEnt: a group of one-hot columns must hold exactly one 1 in each row.")
    return name.T @ table.T


def distinct(codes, weight):
    """The different rows of ``codes`` and their total weights."""
    rows, position = unique_rows(codes)
    return rows, np.bincount(position, weight)


# ------------------------------------------------------------------------------------ the dual


class Prior:
    """q = (1 − C)·w + C·u: distinct rows (level numbers) with weights w, and the uniform u on all levels."""

    def __init__(self, sizes, rows, w, C):
        self.sizes, self.rows, self.w, self.C = sizes, rows, w / np.sum(w), C
        self.starts = np.cumsum(sizes) - sizes
        self.alpha = np.zeros((len(rows), sizes.sum()))
        self.alpha[np.arange(len(rows))[:, None], rows + self.starts] = 1
        self.column = np.repeat(np.arange(len(sizes)), sizes)


class Tilted:
    """p = q·exp⟨λ, α⟩ / Z: the share of its uniform part, that part's levels, and the weights of its rows."""

    def __init__(self, prior, lambda_):
        self.prior, self.lambda_ = prior, lambda_
        score = prior.alpha @ lambda_
        log_rows = logsumexp(score, b=prior.w)
        log_levels = np.logaddexp.reduceat(lambda_, prior.starts)
        log_uniform = np.sum(log_levels - np.log(prior.sizes))
        self.log_Z = logsumexp([log_rows, log_uniform], b=[1 - prior.C, prior.C])
        self.share = prior.C * np.exp(log_uniform - self.log_Z)
        self.w = prior.w * np.exp(score - log_rows)
        self.u = np.exp(lambda_ - log_levels[prior.column])

    @cached_property
    def mean(self):
        """E_p[α], the marginals of all columns."""
        return (1 - self.share) * (self.w @ self.prior.alpha) + self.share * self.u

    def covariance(self):
        """Cov_p[α], the Hessian of log Z."""
        alpha, column = self.prior.alpha, self.prior.column
        independent = np.where(column[:, None] == column, np.diag(self.u), np.outer(self.u, self.u))
        rows = alpha.T @ (alpha * self.w[:, None])
        return (1 - self.share) * rows + self.share * independent - np.outer(self.mean, self.mean)

    def dual(self, theta):
        return self.log_Z - self.lambda_ @ theta

    def duality_gap(self, theta):
        """|KL(p, q) − dual optimum| = |⟨λ, E_p[α] − θ⟩|."""
        return abs(float(self.lambda_ @ (self.mean - theta)))

    def marginal(self):
        """p(y, s): the last two columns."""
        y, s = self.prior.rows[:, -2], self.prior.rows[:, -1]
        table = np.zeros(self.prior.sizes[-2:])
        np.add.at(table, (y, s), (1 - self.share) * self.w)
        return table + self.share * np.outer(*np.split(self.u, self.prior.starts[1:])[-2:])

    def density(self, codes):
        """p at rows of level numbers; 0 where a level is −1."""
        prior, known = self.prior, (codes >= 0).all(axis=1)
        score = self.lambda_[np.maximum(codes, 0) + prior.starts].sum(axis=1)
        p = prior.C * np.exp(score - self.log_Z - np.log(prior.sizes).sum())
        at = find_rows(prior.rows, codes)
        return np.where(known, p + np.where(at >= 0, (1 - self.share) * self.w[at], 0), 0)

    def draw(self, number, rng):
        """``number`` independent draws: the distinct rows of level numbers, and how often each came."""
        uniform = rng.binomial(number, min(self.share, 1.0))
        count = rng.multinomial(number - uniform, self.w / self.w.sum())
        levels = np.split(self.u, self.prior.starts[1:])
        new = [rng.choice(len(u), uniform, p=u / u.sum()) for u in levels]
        rows = np.vstack([self.prior.rows[count > 0], np.column_stack(new)])
        return distinct(rows, np.concatenate([count[count > 0], np.ones(uniform)]))


def minimise_dual(prior, theta):
    """The p with E_p[α] = θ that is closest to q: damped Newton on log Z(λ) − ⟨λ, θ⟩, which is convex."""
    p = Tilted(prior, np.zeros(len(theta)))
    for _ in range(STEPS):
        gradient = p.mean - theta
        if np.abs(gradient).max() <= TOLERANCE:
            return p
        # A column's levels sum to 1, so the Hessian is singular along each column.
        newton = -np.linalg.pinv(p.covariance(), rcond=1e-12, hermitian=True) @ gradient
        p = _shorten(prior, p, newton, theta, slope=gradient @ newton)
    worst = int(np.abs(p.mean - theta).argmax())
    raise InfeasibleTarget(
        f"MaxEnt found no distribution with the target marginals: in column {prior.column[worst]} a level "
        f"should have the probability {theta[worst]:.3g} and gets {p.mean[worst]:.3g}."
    )


def _shorten(prior, p, step, theta, slope):
    """The longest of the steps 1, 1/2, 1/4, … that lowers the dual enough, up to rounding (Armijo)."""
    length = 1.0
    while length > 1e-10:
        new = Tilted(prior, p.lambda_ + length * step)
        if new.dual(theta) <= p.dual(theta) + 1e-4 * length * slope + 1e-13:
            return new
        length /= 2
    return p
