"""Samplers of Q_T for continuous features, behind one interface: ``sampler(target, n, rng, **options) → Draws``.

Q_T(z) ∝ Q_0(z) exp(Σ θ_i c_i(z)), and |Σ θ_i c_i| ≤ C Σθ. So a point drawn from Q_0 and kept with probability
exp(Σ θ_i c_i(z) − C Σθ) is an exact draw from Q_T, and at least e^(−2 C Σθ) of the points are kept: that is
``rejection``. The paper used Langevin dynamics on x given (y, s) (equation 7) with Q_T(y, s) estimated (equation 8):
``ula``. ``mala`` adds the Metropolis correction, which makes the chains' limit the right one.
"""

import math
import time
import warnings
from dataclasses import dataclass, field

import numpy as np

from fbde.errors import FBDEError, unknown
from fbde.gaussians import Gaussians

BATCH = 1 << 15  # proposals at a time
SHORTEST = 200  # steps of a chain, for diagnostics that mean something
LARGEST_R_HAT, SMALLEST_ESS = 1.05, 400  # Vehtari et al. (2021) ask for 1.01 and 400


class SamplingWarning(UserWarning):
    """The draws are poor: the diagnostics say how."""


@dataclass(frozen=True)
class Target:
    """Q_T as a sampler sees it.

    ``weight`` is Q_0 of each cell (discrete columns, y, s), ``gaussians`` Q_0(x | cell). ``base`` holds for each
    cell the columns a weak learner sees, with the coordinates x still to be put into ``columns``. ``terms`` are the
    pairs (θ_i, c_i). ``final`` estimates Q_T of each cell; only the chains need it.
    """

    weight: np.ndarray
    gaussians: Gaussians
    base: np.ndarray
    columns: np.ndarray
    terms: list
    C: float
    final: np.ndarray | None = None

    @property
    def bound(self):
        """C Σθ, the largest |Σ θ_i c_i|."""
        return self.C * sum(theta for theta, _ in self.terms)

    @property
    def guaranteed(self):
        """The least probability to keep a proposal."""
        return math.exp(-2 * self.bound)

    def table(self, cell, x):
        """Points as the weak learners see them."""
        table = self.base[cell]
        table[:, self.columns] = x
        return table

    def propose(self, n, rng):
        """Draw from Q_0: cells, and x given them."""
        cell = np.repeat(np.arange(len(self.weight)), rng.multinomial(n, self.weight))
        rng.shuffle(cell)
        return cell, self.gaussians.draw(cell, rng)

    def tilt(self, cell, x):
        """Σ θ_i c_i."""
        table, total = self.table(cell, x), np.zeros(len(cell))
        for theta, c in self.terms:
            total += theta * np.clip(c(table), -self.C, self.C)
        return total

    def exceeds(self, cell, x, level):
        """Whether Σ θ_i c_i ≥ level, with no more terms computed than it takes to be sure."""
        answer, table = np.ones(len(cell), dtype=bool), self.table(cell, x)
        still, total, rest = np.arange(len(cell)), np.zeros(len(cell)), self.bound
        for theta, c in self.terms:
            total = total + theta * np.clip(c(table), -self.C, self.C)
            rest = max(rest - theta * self.C, 0.0)
            short = level - total
            answer[still] = short <= 0
            unsure = np.abs(short) <= rest * (1 + 1e-9)
            still, table, total, level = still[unsure], table[unsure], total[unsure], level[unsure]
            if not len(still):
                break
        return answer

    def log_density(self, cell, x):
        """log Q_T(x | cell) up to a constant."""
        return self.gaussians.log_density(x, cell) + self.tilt(cell, x)

    def gradient(self, cell, x):
        """∇ log Q_T(x | cell), equation 7; a term without gradient counts as flat."""
        total, table = self.gaussians.gradient(x, cell), self.table(cell, x)
        for theta, c in self.terms:
            if hasattr(c, "gradient"):
                total += theta * c.gradient(table)[:, self.columns]
        return total


@dataclass(frozen=True)
class Draws:
    """Cells and coordinates drawn, and what is known of their quality."""

    cell: np.ndarray
    x: np.ndarray
    diagnostics: dict = field(default_factory=dict)


def rejection(target, n, rng):
    """Exact, independent draws from Q_T: no marginal to estimate, no burn-in, no step to choose."""
    start, bound = time.perf_counter(), target.bound
    kept, have, proposed, accepted = [], 0, 0, 0
    while have < n or not kept:
        wanted = min(BATCH, math.ceil((n - have) / (accepted / proposed if accepted else target.guaranteed)) + 16)
        cell, x = target.propose(wanted, rng)
        keep = target.exceeds(cell, x, bound + np.log1p(-rng.random(wanted)))
        kept.append((cell[keep], x[keep]))
        proposed, accepted = proposed + wanted, accepted + int(keep.sum())
        have = accepted
    cell, x = (np.concatenate(parts)[:n] for parts in zip(*kept, strict=True))
    return Draws(
        cell,
        x,
        {
            "sampler": "rejection",
            "acceptance": accepted / proposed,
            "guaranteed": target.guaranteed,
            "proposed": proposed,
            "ess": float(n),
            "r_hat": 1.0,
            "seconds": time.perf_counter() - start,
        },
    )


def ula(target, n, rng, *, step=0.01, burn_in=100_000, chains=1):
    """Unadjusted Langevin, as published: x ← x + step ∇ log Q_T(x | y, s) + √(2 step) noise, one chain per (y, s).

    Biased by the step's size, and every row of a chain depends on the one before.
    """
    if not all(hasattr(c, "gradient") for _, c in target.terms):
        raise FBDEError("ula needs weak learners with a gradient (networks); use rejection or mala with trees")
    return _langevin(target, n, rng, step=step, burn_in=burn_in, chains=chains, adjusted=False)


def mala(target, n, rng, *, step=None, burn_in=200, chains=64):
    """Metropolis-adjusted Langevin, in the coordinates in which Q_0(x | y, s) is standard normal.

    The default step, 0.5 d^(−1/3), suits a standard normal in d dimensions.
    """
    step = 0.5 * target.gaussians.dimensions ** (-1 / 3) if step is None else step
    return _langevin(target, n, rng, step=step, burn_in=burn_in, chains=chains, adjusted=True)


SAMPLERS = {"rejection": rejection, "ula": ula, "mala": mala}


def sampler(name):
    if name not in SAMPLERS:
        raise FBDEError(unknown("sampler", name, SAMPLERS))
    return SAMPLERS[name]


def _langevin(target, n, rng, *, step, burn_in, chains, adjusted):
    """All chains of all cells in step with each other; a cell gives as many rows as Q_T(cell) asks for."""
    start = time.perf_counter()
    counts = rng.multinomial(n, target.final / target.final.sum())
    cells = np.flatnonzero(counts)
    cell = np.repeat(cells, chains)
    length = max(-(-int(counts.max()) // chains), SHORTEST)
    path = np.empty((length, len(cell), target.gaussians.dimensions))
    move = _adjusted(target, cell, step, rng) if adjusted else _unadjusted(target, cell, step, rng)
    x, accepted = target.gaussians.draw(cell, rng), 0.0
    for number in range(-burn_in, length):
        x, share = move(x)
        if number >= 0:
            path[number] = x
            accepted += share
    blocks = [path[:, i * chains : (i + 1) * chains] for i in range(len(cells))]
    points = np.concatenate([_spaced(block, counts[k]) for k, block in zip(cells, blocks, strict=True)])
    order = rng.permutation(n)
    facts = {
        "sampler": "mala" if adjusted else "ula",
        "acceptance": accepted / length,
        "ess": float(sum(min(effective_size(block), counts[k]) for k, block in zip(cells, blocks, strict=True))),
        "r_hat": max(r_hat(block) for block in blocks),
        "chains": chains,
        "seconds": time.perf_counter() - start,
    }
    _warn(facts, n)
    return Draws(np.repeat(cells, counts[cells])[order], points[order], facts)


def _spaced(block, count):
    """``count`` points of all chains, evenly spaced in time."""
    points = block.reshape(-1, block.shape[-1])
    return points[np.arange(count) * len(points) // count]


def _unadjusted(target, cell, step, rng):
    spread = math.sqrt(2 * step)

    def move(x):
        return x + step * target.gradient(cell, x) + spread * rng.standard_normal(x.shape), 1.0

    return move


def _adjusted(target, cell, step, rng):
    """Proposals and their Metropolis test; what is known of the current point is kept for the next step."""
    factor, spread, state = target.gaussians.factor[cell], math.sqrt(2 * step), {}

    def look(x):
        # The gradient by standard coordinates is factorᵀ ∇.
        return target.log_density(cell, x), np.einsum("nij,ni->nj", factor, target.gradient(cell, x))

    def move(x):
        if not state:
            state["here"] = look(x)
        density, slope = state["here"]
        noise = rng.standard_normal(x.shape)
        moved = x + np.einsum("nij,nj->ni", factor, step * slope + spread * noise)
        new_density, new_slope = look(moved)
        back = spread * noise + step * (slope + new_slope)
        odds = new_density - density + 0.5 * np.sum(noise**2, axis=1) - np.sum(back**2, axis=1) / (4 * step)
        yes = np.log1p(-rng.random(len(x))) < odds
        state["here"] = np.where(yes, new_density, density), np.where(yes[:, None], new_slope, slope)
        return np.where(yes[:, None], moved, x), float(yes.mean())

    return move


# ---------------------------------------------------------------------------------- diagnostics


def r_hat(block):
    """Split R-hat, the worst over the coordinates, of chains (steps, chains, d)."""
    half = len(block) // 2
    parts = np.concatenate([block[:half], block[half : 2 * half]], axis=1)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = parts.mean(axis=0).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.sqrt((half - 1) / half + between / within)))


def effective_size(block):
    """Number of independent draws that chains (steps, chains, d) are worth: the least over the coordinates.

    Autocorrelations summed up to Geyer's first negative pair, averaged over the chains.
    """
    length, chains, _ = block.shape
    centred = block - block.mean(axis=(0, 1))
    size = 1 << (2 * length - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum.mean(axis=1), size, axis=0)[:length] / length
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = covariance / covariance[0]
    pairs = rho[: length // 2 * 2].reshape(-1, 2, rho.shape[-1]).sum(axis=1)
    positive = np.minimum.accumulate(pairs > 0, axis=0)
    time_ = 2 * np.where(positive, pairs, 0).sum(axis=0) - 1
    return float(length * chains / max(np.max(time_), 1.0))


def _warn(facts, n):
    poor, wanted = [], min(SMALLEST_ESS, n / 2)
    if not facts["r_hat"] <= LARGEST_R_HAT:
        poor.append(f"R-hat {facts['r_hat']:.3f} (want at most {LARGEST_R_HAT})")
    if facts["ess"] < wanted:
        poor.append(f"effective sample size {facts['ess']:.0f} (want at least {wanted:.0f})")
    if facts["acceptance"] < 0.1:
        poor.append(f"acceptance {facts['acceptance']:.3f} (want at least 0.1)")
    if poor:
        text = f"{facts['sampler']}: {', '.join(poor)}; run longer, or use rejection, which is exact"
        warnings.warn(text, SamplingWarning, stacklevel=4)
