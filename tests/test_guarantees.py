"""The guarantees, for random domains and for weak learners that do their worst."""

import numpy as np
import pytest
from domains import KINDS, Adversary, boosted, problems
from hypothesis import given
from hypothesis import strategies as st

from fbde.boosting import Points, boost
from fbde.certificate import certify
from fbde.kldrop import corrected_gamma, corrected_quadratic, kl_drop_bound, printed_gamma, printed_quadratic
from fbde.leverage import SCHEMES, leverages
from fbde.metrics import rates_of_marginal
from fbde.weak import TreeLearner

learners = st.one_of(st.sampled_from(KINDS), st.just("tree"))
ROUNDING = 1 + 1e-9


def run(problem, scheme, learner, target="SR", **options):
    learner = TreeLearner(C=problem["C"]) if learner == "tree" else learner
    result, start, Q, tau = boosted(problem, scheme, learner, target, **options)
    certificate = certify(
        result,
        start.Q.sum(axis=0),
        Q.sum(axis=0),
        positive=problem["positive"],
        tau=tau,
        leverage=scheme,
        target=target,
        C=problem["C"],
        sr0=start.sr0,
        rr0=start.rr0,
    )
    return result, start, Q, tau, certificate


@given(problems(), st.sampled_from(SCHEMES), learners, st.sampled_from(["SR", "RR"]))
def test_what_the_certificate_guarantees_is_never_more_than_what_is_measured(problem, scheme, learner, target):
    _, start, Q, _, certificate = run(problem, scheme, learner, target)
    RR, SR = rates_of_marginal(Q.sum(axis=0), problem["positive"])
    for rate, measured in ((certificate.statistical_rate, SR), (certificate.representation_rate, RR)):
        assert rate.measured == pytest.approx(measured, rel=1e-9)
        assert rate.guaranteed <= rate.from_steps * ROUNDING
        assert rate.from_steps <= measured * ROUNDING
        assert rate.epsilon <= rate.epsilon_guaranteed + 1e-9
        if rate.printed_valid:
            assert rate.printed <= measured * ROUNDING
    assert certificate.holds
    assert start.sr0 >= problem["sr0"] / ROUNDING
    assert start.rr0 >= problem["rr0"] / ROUNDING


@given(problems(), learners)
def test_sound_leverage_keeps_what_theorem_3_2_says_of_the_exact_one(problem, learner):
    _, start, Q, tau, _ = run(problem, "sound", learner)
    RR, SR = rates_of_marginal(Q.sum(axis=0), problem["positive"])
    assert tau / ROUNDING < SR
    assert start.rr0 * np.sqrt(tau / start.sr0) / ROUNDING < RR


@given(problems(), learners)
def test_relative_leverage_keeps_theorem_3_3(problem, learner):
    _, start, Q, tau, _ = run(problem, "relative", learner)
    RR, SR = rates_of_marginal(Q.sum(axis=0), problem["positive"])
    power = 1 + np.log(problem["T"])
    assert tau**power < SR * ROUNDING
    assert start.rr0 * np.sqrt(tau / start.sr0) ** power < RR * ROUNDING


@given(problems(), learners)
def test_exact_leverage_for_a_representation_target_keeps_that_target(problem, learner):
    _, _, Q, tau, _ = run(problem, "exact", learner, target="RR")
    assert rates_of_marginal(Q.sum(axis=0), problem["positive"])[0] > tau / ROUNDING


@given(problems(), st.sampled_from(SCHEMES), learners)
def test_every_distribution_sums_to_one_and_the_normalisers_recur(problem, scheme, learner):
    result, start, Q, *_ = run(problem, scheme, learner, keep_steps=True)
    steps = np.exp(result.log_mass_steps).reshape(-1, *problem["P"].shape)
    assert np.allclose(steps.sum(axis=(1, 2, 3)), 1)
    assert np.allclose(steps[0], start.Q)
    assert np.allclose(steps[-1], Q)
    for before, after, row, Z_ys, Z_s in zip(steps, steps[1:], result.trace[1:], result.Z_ys, result.Z_s, strict=False):
        assert np.allclose(after.sum(axis=0), before.sum(axis=0) * Z_ys / row["Z"])
        assert np.allclose(after.sum(axis=(0, 1)), before.sum(axis=(0, 1)) * Z_s / row["Z"])


@given(problems(), st.sampled_from(SCHEMES), learners)
def test_the_drop_in_kl_is_exact_and_at_least_the_corrected_bound(problem, scheme, learner):
    result, *_, certificate = run(problem, scheme, learner, keep_steps=True)
    P = problem["P"].ravel()
    kl = [float(P @ (np.log(P) - log_q)) for log_q in result.log_mass_steps]
    assert np.allclose(kl, [row["kl_train"] for row in result.trace])
    for row in result.trace[1:]:
        if row["theta"] <= 1:
            assert row["kl_drop"] >= row["kl_drop_bound"] - 1e-12
    progress = certificate.progress
    assert progress.measured <= progress.upper + 1e-9
    if progress.lower is not None:
        assert progress.lower <= progress.measured + 1e-9


@given(st.floats(0.05, 3.0), st.floats(-1, 1))
def test_the_corrected_quadratic_is_above_exp_on_the_interval(C, x):
    assert corrected_quadratic(x * C, C) >= np.exp(x * C) - 1e-12


def test_the_printed_quadratic_is_below_exp_everywhere_inside_for_c_log_2():
    C = np.log(2)
    A, B, K = printed_quadratic(C)
    x = np.linspace(-C, C, 101)[1:-1]
    assert np.all(A * x**2 + B * x + K < np.exp(x))
    assert pytest.approx(0.875) == K


def test_the_printed_bound_of_theorem_3_5_is_violated_although_the_weak_learning_assumption_holds():
    C, rng = np.log(2), np.random.default_rng(0)
    violated = checked = 0
    for _ in range(2000):
        P, Q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        c, theta = rng.uniform(-C, C, 6), rng.uniform(0.05, 1)
        gamma_P, gamma_Q = P @ c / C, -(Q @ c) / C
        if min(gamma_P, gamma_Q) <= 0:
            continue
        checked += 1
        drop = theta * (P @ c) - np.log(Q @ np.exp(theta * c))
        edge = theta, gamma_P, gamma_Q, Q @ c**2 - (Q @ c) ** 2, C
        violated += drop < kl_drop_bound(*edge, gamma=printed_gamma) - 1e-12
        assert drop >= kl_drop_bound(*edge, gamma=corrected_gamma) - 1e-12
    assert checked > 200
    assert violated > checked / 10


def counterexample(kind, T):
    """FINDINGS' two cases: p(y=1|s) = .01 in both groups, tau = .8, sr0 = 1, C = log 2, exact leverage."""
    C = np.log(2)
    label, group = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    mass = np.array([0.495, 0.495, 0.005, 0.005])
    table = np.column_stack([label, group]).astype(np.float32)
    points = Points(table, label, group, mass)
    if kind == "SR":

        class Learner(Adversary):
            def _choose(self, p, q):
                return self.C * np.where((label == 1) == (group == 0), -1.0, 1.0)

        learner = Learner(C, kind, label, group)
    else:
        learner = Adversary(C, "group", label, group)
    result = boost(
        learner, leverages("exact", T, 0.8, C), points, points, (2, 2), 1, n=1000, C=C, rng=np.random.default_rng(0)
    )
    return {1 + i: row for i, row in enumerate(result.trace[1:])}


def test_counterexample_to_the_statistical_rate_of_theorem_3_2():
    steps = counterexample("SR", 32)
    assert [round(steps[t]["SR"], 3) for t in (1, 2, 32)] == [0.802, 0.718, 0.643]
    assert steps[32]["SR"] < 0.8
    assert steps[32]["SR"] >= 0.8**2


def test_counterexample_to_the_representation_rate_of_theorem_3_2():
    steps = counterexample("RR", 32)
    assert [round(steps[t]["RR"], 3) for t in (1, 2, 32)] == [0.894, 0.846, 0.800]
    assert steps[32]["RR"] < np.sqrt(0.8)


def test_an_auditor_and_floors_stop_before_the_step_is_taken():
    problem = {
        "P": np.array([[[0.4, 0.1], [0.1, 0.4]]]) / 1.0,
        "positive": 1, "sr0": 1.0, "rr0": 1.0, "tau": 0.5, "T": 8, "C": float(np.log(2)), "seed": 0,
    }  # fmt: skip
    seen = []
    result, *_ = boosted(problem, "exact", "towards data", auditor=lambda step: seen.append(step) or step.number == 3)
    assert len(result.theta) == 2
    assert result.stopped == "before step 3: the auditor said stop"
    assert seen[0].theta == result.theta[0]
    floor, *_ = boosted(problem, "exact", "towards data", sr_floor=0.9)
    assert floor.trace[-1]["SR"] >= 0.9
    assert "below 0.9" in floor.stopped
    floor, *_ = boosted(problem, "exact", "group", rr_floor=0.9)
    assert floor.trace[-1]["RR"] >= 0.9
    assert "below 0.9" in floor.stopped
    gain, *_ = boosted(problem, "exact", "towards data", min_gain=0.02)
    assert all(row["kl_drop"] >= 0.02 for row in gain.trace[1:])
    assert "less than 0.02" in gain.stopped
