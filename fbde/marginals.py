"""Q_t(y, s) for continuous features (equation 8), each with its error.

By importance sampling: draws from Q_0(x | y, s), the same number in each (y, s), weighted by exp(Σ θ_i c_i). The
weights lie within e^(±C Σθ), so the error is small and known. Up to three continuous columns, by quadrature too.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtri

from fbde.errors import FBDEError

NODES = {1: 4000, 2: 300, 3: 60}  # quadrature nodes per dimension


@dataclass(frozen=True)
class Marginal:
    """Q(y, s) and log Z = log E_{Q_0}[exp(Σ θ_i c_i)].

    ``spread`` is the standard error of each (y, s)'s own part of Z, divided by Z; the parts are independent.
    """

    value: np.ndarray
    spread: np.ndarray
    log_Z: float

    @property
    def error(self):
        """Standard error of Q(y, s); Z moves with each of the parts."""
        own, total = self.spread**2, np.sum(self.spread**2)
        return np.sqrt((1 - self.value) ** 2 * own + self.value**2 * (total - own))

    @property
    def log_Z_error(self):
        return float(np.sqrt(np.sum(self.spread**2)))

    def rate_errors(self, positive):
        """Standard errors of (RR, SR), to first order, for the two groups that are farthest apart."""
        own, group = self.spread**2, self.value.sum(axis=0)
        p, rest = self.value[positive], own.sum(axis=0) - own[positive]
        # d log(p/(p + r)) = (1 − p/(p + r)) dp/p − dr/(p + r)
        of_rate = ((1 - p / group) / p) ** 2 * own[positive] + rest / group**2
        return _ratio_error(group, own.sum(axis=0) / group**2), _ratio_error(p / group, of_rate)


def _ratio_error(values, relative_variance):
    low, high = np.argmin(values), np.argmax(values)
    return float(values[low] / values[high] * np.sqrt(relative_variance[low] + relative_variance[high]))


def importance(tilt, stratum, prior):
    """The marginal from draws of Q_0: ``tilt`` = Σ θ_i c_i of each, ``stratum`` = its (y, s) number.

    ``prior`` is Q_0(y, s). Nothing is exponentiated before the largest tilt is taken off.
    """
    size, flat = prior.size, prior.ravel()
    top = tilt.max()
    w = np.exp(tilt - top)
    count = np.bincount(stratum, minlength=size)
    mean = np.divide(np.bincount(stratum, w, size), count, out=np.zeros(size), where=count > 0)
    square = np.bincount(stratum, (w - mean[stratum]) ** 2, size)
    variance = np.divide(square, count * np.maximum(count - 1, 1), out=np.zeros(size), where=count > 0)
    Z = flat @ mean
    return Marginal(
        (flat * mean / Z).reshape(prior.shape),
        (flat * np.sqrt(variance) / Z).reshape(prior.shape),
        float(np.log(Z) + top),
    )


def quadrature(target, stratum, shape, nodes=None):
    """The marginal by the midpoint rule in quantiles of Q_0(x | cell); ``stratum`` gives the (y, s) of each cell.

    ``spread`` is the difference to the rule with half as many nodes per dimension.
    """
    d = target.gaussians.dimensions
    if d not in NODES:
        raise FBDEError(f"quadrature is for up to 3 continuous columns, not {d}")
    fine, coarse = (_by_nodes(target, m) for m in ((nodes or NODES[d]), (nodes or NODES[d]) // 2))
    totals = [np.array([logsumexp(log[stratum == k]) for k in range(np.prod(shape))]) for log in (fine, coarse)]
    values = [np.exp(total - logsumexp(total)).reshape(shape) for total in totals]
    return Marginal(values[0], np.abs(values[0] - values[1]), float(logsumexp(totals[0])))


def _by_nodes(target, nodes):
    """log(Q_0(cell) E[exp(Σ θ_i c_i) | cell]) of each cell."""
    grid = ndtri((np.arange(nodes) + 0.5) / nodes)
    noise = np.stack(np.meshgrid(*[grid] * target.gaussians.dimensions, indexing="ij"), axis=-1)
    noise = noise.reshape(-1, target.gaussians.dimensions)
    with np.errstate(divide="ignore"):
        log = np.log(target.weight)
    for k in range(len(log)):
        cell = np.full(len(noise), k)
        log[k] += logsumexp(target.tilt(cell, target.gaussians.place(cell, noise))) - np.log(len(noise))
    return log
