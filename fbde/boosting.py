"""The boosting loop (Algorithm 1), one for finite and for continuous features.

Q_t lives on points with masses. On a finite domain the points are the cells and everything is exact. For
continuous features they are draws from Q_0, and the same formulas are importance sampling (equation 8).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fbde.kldrop import corrected_gamma, kl_drop_bound, printed_gamma
from fbde.metrics import rates_of_marginal


@dataclass(frozen=True)
class Points:
    """Points (x, y, s) as a float32 table, the position of their label and group, and their masses (sum 1)."""

    table: np.ndarray
    label: np.ndarray
    group: np.ndarray
    mass: np.ndarray

    def marginal(self, mass, shape):
        """Total of ``mass`` by label and group."""
        flat = self.label * shape[1] + self.group
        return np.bincount(flat, mass, shape[0] * shape[1]).reshape(shape)


@dataclass
class Step:
    """A proposed step: what an auditor looks at before it is taken."""

    number: int
    learner: Callable
    theta: float
    numbers: dict


@dataclass
class Boosted:
    """Q_T on its points, the weak learners and leverages, and the trace."""

    mass: np.ndarray
    learners: list = field(default_factory=list)
    theta: list = field(default_factory=list)
    trace: list = field(default_factory=list)
    Z_ys: list = field(default_factory=list)
    Z_s: list = field(default_factory=list)
    log_mass_steps: list = field(default_factory=list)
    stopped: str = ""

    def table(self):
        """The trace as name → array over the steps 0 … T; step 0 is Q_0, where a step's own numbers are NaN."""
        names = {name: None for row in self.trace for name in row}
        return {name: np.array([row.get(name, np.nan) for row in self.trace]) for name in names}


class Replay:
    """A learner that gives the weak learners of an earlier run, one after another."""

    def __init__(self, learners):
        self.learners = iter(learners)

    def bind(self, real, fake):
        def fit(p, q, n, rng):
            c = next(self.learners)
            return c, c(real), c(fake)

        return fit


def boost(
    learner,
    thetas,
    real,
    fake,
    shape,
    positive,
    *,
    n,
    C,
    rng,
    test=None,
    min_gain=None,
    sr_floor=None,
    rr_floor=None,
    auditor=None,
    keep_steps=False,
    cross_entropy=None,
):
    """Boost Q_0 = ``fake`` towards P = ``real``.

    Parameters
    ----------
    learner : object with ``bind(real, fake)``, as :class:`fbde.weak.TreeLearner`
    thetas : θ_1 … θ_T
    real, fake, test : Points; the same table object in two of them is evaluated once
    shape, positive : numbers of labels and groups; position of the positive label
    n : number of training rows
    min_gain : stop when a step lowers KL(P, Q) by less
    sr_floor, rr_floor : stop before a step that would take SR or RR below
    auditor : callable that gets the proposed :class:`Step` and returns True to stop before it is taken
    cross_entropy : (train, test) of Q_0, which stand for KL(P, Q_0) where the entropy of P is unknown
    """
    log_q = np.log(fake.mass)
    state = Boosted(fake.mass)
    finite = real.table is fake.table
    kl, kl_test = cross_entropy or (np.nan, np.nan)
    if finite:
        kl = _kl(real.mass, fake.mass)
        kl_test = _kl(test.mass, fake.mass) if test is not None else np.nan
    state.trace.append(_rates(fake, fake.mass, shape, positive) | {"kl_train": kl, "kl_test": kl_test})
    if keep_steps:
        state.log_mass_steps.append(log_q)
    fit = learner.bind(real.table, fake.table)
    for number, theta in enumerate(thetas, start=1):
        q = state.mass
        c, on_real, on_fake = fit(real.mass, q, n, rng)
        on_real, on_fake = np.clip(on_real, -C, C), np.clip(on_fake, -C, C)
        log_q, numbers, Z_ys, Z_s = _take(log_q, q, on_fake, on_real, real, fake, theta, shape, C)
        mass = np.exp(log_q)
        if test is not None:
            on_test = on_fake if test.table is fake.table else np.clip(c(test.table), -C, C)
            numbers["kl_test"] = kl_test = kl_test - theta * _mean(test.mass, on_test) + np.log(numbers["Z"])
            numbers["accuracy_test"] = _accuracy(test.mass, on_test, q, on_fake)
        numbers["kl_train"] = kl - numbers["kl_drop"]
        numbers |= _rates(fake, mass, shape, positive)
        reason = _stop(numbers, min_gain, sr_floor, rr_floor)
        if not reason and auditor is not None and auditor(Step(number, c, float(theta), dict(numbers))):
            reason = "the auditor said stop"
        if reason:
            state.stopped = f"before step {number}: {reason}"
            break
        state.mass, kl = mass, numbers["kl_train"]
        state.learners.append(c)
        state.theta.append(float(theta))
        state.trace.append(numbers)
        state.Z_ys.append(Z_ys)
        state.Z_s.append(Z_s)
        if keep_steps:
            state.log_mass_steps.append(log_q)
    return state


def _take(log_q, q, on_fake, on_real, real, fake, theta, shape, C):
    """One update Q ∝ Q exp(θ c): the new log masses, its numbers, and the normalisers Z(y, s), Z(s)."""
    factor = np.exp(theta * on_fake)
    moved = q * factor
    Z = moved.sum()
    before, after = fake.marginal(q, shape), fake.marginal(moved, shape)
    with np.errstate(invalid="ignore"):
        Z_ys, Z_s = after / before, after.sum(axis=0) / before.sum(axis=0)
    mean = _mean(q, on_fake)
    gamma_P, gamma_Q = _mean(real.mass, on_real) / C, -mean / C
    variance = _mean(q, (on_fake - mean) ** 2)
    edge = theta, gamma_P, gamma_Q, variance, C
    numbers = {
        "theta": float(theta),
        "Z": float(Z),
        "accuracy": _accuracy(real.mass, on_real, q, on_fake),
        "gamma_P": gamma_P,
        "gamma_Q": gamma_Q,
        "variance": variance,
        "kl_drop": float(theta * gamma_P * C - np.log(Z)),
        "kl_drop_bound": float(kl_drop_bound(*edge, gamma=corrected_gamma)),
        "kl_drop_printed": float(kl_drop_bound(*edge, gamma=printed_gamma)),
    }
    return log_q + theta * on_fake - np.log(Z), numbers, Z_ys, Z_s


def _mean(mass, value):
    return float(mass @ value)


def _accuracy(p, on_real, q, on_fake):
    """Share of points told right, real and fake counting half each."""
    return float(p @ (on_real > 0) + q @ (on_fake <= 0)) / 2


def _kl(p, q):
    seen = p > 0
    return float(p[seen] @ np.log(p[seen] / q[seen]))


def _rates(fake, mass, shape, positive):
    RR, SR = rates_of_marginal(fake.marginal(mass, shape), positive)
    return {"RR": RR, "SR": SR}


def _stop(numbers, min_gain, sr_floor, rr_floor):
    if min_gain is not None and numbers["kl_drop"] < min_gain:
        return f"it would lower KL by {numbers['kl_drop']:.3g}, less than {min_gain:g}"
    if sr_floor is not None and numbers["SR"] < sr_floor:
        return f"it would take SR to {numbers['SR']:.6g}, below {sr_floor:g}"
    if rr_floor is not None and numbers["RR"] < rr_floor:
        return f"it would take RR to {numbers['RR']:.6g}, below {rr_floor:g}"
    return ""
