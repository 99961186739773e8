"""The samplers, on a distribution whose every probability is known from quadrature."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, norm

from fbde.errors import FBDEError
from fbde.gaussians import Gaussians
from fbde.marginals import importance, quadrature
from fbde.sampling import SamplingWarning, Target, effective_size, mala, r_hat, rejection, sampler, ula

C = np.log(2)
BINS = 6  # per coordinate, in quantiles of Q_0(x | cell)
FINE = 12  # quadrature nodes per bin and coordinate


class Wave:
    """A smooth weak learner C·tanh(w·z) on the points (x1, x2, y, s)."""

    def __init__(self, *w):
        self.w = np.array(w)

    def __call__(self, points):
        return C * np.tanh(points @ self.w)

    def gradient(self, points):
        return C * (1 - np.tanh(points @ self.w) ** 2)[:, None] * self.w


def make_target(terms, d=2):
    """Two labels, two groups, a normal distribution in each; coordinates first, then y and s."""
    rng = np.random.default_rng(3)
    weight = np.array([0.3, 0.2, 0.15, 0.35])
    factor = np.tril(0.3 * rng.normal(size=(4, d, d))) + 0.8 * np.eye(d)
    base = np.zeros((4, d + 2))
    base[:, d:] = [[0, 0], [0, 1], [1, 0], [1, 1]]
    return Target(weight, Gaussians(rng.normal(size=(4, d)), factor), base, np.arange(d), terms, C)


@pytest.fixture(scope="module")
def known():
    """Q_T, and its probability of each (cell, bin, bin)."""
    target = make_target([(0.5, Wave(1.5, -1, 0.5, 1)), (0.25, Wave(-0.5, 2, 1, -1)), (0.125, Wave(1, 1, 0, -2))])
    grid = norm.ppf((np.arange(BINS * FINE) + 0.5) / (BINS * FINE))
    noise = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    p = np.empty((4, BINS, BINS))
    for k in range(4):
        cell = np.full(len(noise), k)
        w = np.exp(target.tilt(cell, target.gaussians.place(cell, noise)))
        p[k] = target.weight[k] * w.reshape(BINS, FINE, BINS, FINE).mean(axis=(1, 3))
    final = p.sum(axis=(1, 2)) / p.sum()
    return Target(**{**vars(target), "final": final}), p / p.sum()


def fit_of(draws, target, p):
    """p-value of the chi-squared test of the draws against the known probabilities."""
    quantile = np.empty_like(draws.x)
    for k in range(4):
        own = draws.cell == k
        shifted = draws.x[own] - target.gaussians.mean[k]
        quantile[own] = norm.cdf(np.linalg.solve(target.gaussians.factor[k], shifted.T).T)
    first, second = np.minimum((quantile * BINS).astype(int), BINS - 1).T
    counts = np.bincount(np.ravel_multi_index((draws.cell, first, second), p.shape), minlength=p.size)
    return chisquare(counts, p.ravel() * len(draws.cell)).pvalue


def test_rejection_draws_from_the_known_distribution(known):
    target, p = known
    draws = rejection(target, 100_000, np.random.default_rng(0))
    assert len(draws.cell) == len(draws.x) == 100_000
    assert fit_of(draws, target, p) > 0.01


def test_the_test_of_fit_can_fail(known):
    target, p = known
    untilted = Target(**{**vars(target), "terms": []})
    assert fit_of(rejection(untilted, 100_000, np.random.default_rng(0)), target, p) < 1e-50
    slightly_off = Target(**{**vars(target), "terms": [(1.25 * theta, c) for theta, c in target.terms]})
    assert fit_of(rejection(slightly_off, 100_000, np.random.default_rng(0)), target, p) < 1e-3


def test_mala_draws_from_the_known_distribution(known):
    target, p = known
    draws = mala(target, 20_000, np.random.default_rng(0), chains=1000, burn_in=50)
    assert fit_of(draws, target, p) > 0.01
    assert draws.diagnostics["acceptance"] > 0.5 and draws.diagnostics["r_hat"] < 1.05


def test_the_bias_of_ula_is_the_one_theory_gives():
    """On a normal distribution with covariance Σ, ULA's is Σ (1 − step Σ⁻¹/2)⁻¹."""
    target = Target(**{**vars(make_target([])), "final": np.full(4, 0.25)})
    with pytest.warns(SamplingWarning, match="R-hat"):  # many short chains
        draws = ula(target, 40_000, np.random.default_rng(0), step=0.2, burn_in=200, chains=500)
    exact = mala(target, 40_000, np.random.default_rng(0), chains=500, burn_in=100)
    for k in range(4):
        covariance = target.gaussians.factor[k] @ target.gaussians.factor[k].T
        expected = np.linalg.inv(np.eye(2) - 0.1 * np.linalg.inv(covariance)) @ covariance
        biased, right = (np.cov(d.x[d.cell == k].T) for d in (draws, exact))
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs((biased - expected) / scale).max() < 0.05
        assert np.abs((right - covariance) / scale).max() < 0.05
        assert np.trace(expected) / np.trace(covariance) > 1.05  # so the two are told apart


def test_ula_needs_gradients_and_mala_does_not():
    target = Target(**{**vars(make_target([(0.3, lambda z: np.sign(z[:, 0]))])), "final": np.full(4, 0.25)})
    with pytest.raises(FBDEError, match="ula needs weak learners with a gradient"):
        ula(target, 10, np.random.default_rng(0))
    draws = mala(target, 20_000, np.random.default_rng(0), chains=400)
    one = draws.x[draws.cell == 0]
    z = target.gaussians.mean[0][0] / target.gaussians.factor[0][0, 0]
    odds = np.exp(2 * 0.3 * C) * norm.cdf(z) / norm.cdf(-z)
    assert np.mean(one[:, 0] > 0) == pytest.approx(odds / (1 + odds), abs=0.03)


@given(
    thetas=st.lists(st.floats(0, 2), max_size=6),
    level=st.sampled_from([-1.0, -0.3, 0.0, 1.0, 5.0, -np.inf, np.inf, "random"]),
    seed=st.integers(0, 2**20),
)
def test_acceptance_is_never_below_the_guarantee(thetas, level, seed):
    """For any weak learners, also ones that leave [−C, C] or want to keep nothing."""
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(len(thetas), 4)) * 3

    def learner(w):
        return (lambda z: 4 * C * np.sin(z @ w)) if level == "random" else (lambda z: np.full(len(z), C * level))

    target = make_target([(theta, learner(w)) for theta, w in zip(thetas, shapes, strict=True)])
    cell, x = target.propose(500, rng)
    chance = np.exp(target.tilt(cell, x) - target.bound)
    assert (chance >= target.guaranteed * (1 - 1e-9)).all() and (chance <= 1 + 1e-9).all()
    height = target.bound + np.log(rng.random(500))
    sure = np.abs(target.tilt(cell, x) - height) > 1e-9
    assert (target.exceeds(cell, x, height) == (target.tilt(cell, x) >= height))[sure].all()
    if target.bound < 2:
        facts = rejection(target, 300, rng).diagnostics
        g = facts["guaranteed"]
        assert g == pytest.approx(np.exp(-2 * C * sum(thetas)))
        assert facts["acceptance"] >= g - 6 * np.sqrt(g * (1 - g) / facts["proposed"]) - 1e-12


def test_seeds_are_honoured(known):
    target, _ = known
    for name, options in (("rejection", {}), ("mala", {"chains": 20}), ("ula", {"burn_in": 10, "chains": 50})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SamplingWarning)
            first, again, other = (sampler(name)(target, 200, np.random.default_rng(k), **options) for k in (1, 1, 2))
        assert (first.x == again.x).all() and (first.cell == again.cell).all()
        assert not np.array_equal(first.x, other.x)


def test_a_poor_chain_is_told(known):
    target, _ = known
    with pytest.warns(SamplingWarning, match=r"R-hat .* effective sample size .* use rejection"):
        draws = ula(target, 2000, np.random.default_rng(0), step=1e-4, burn_in=0)
    assert draws.diagnostics["ess"] < 100 and draws.diagnostics["r_hat"] > 1.05


def test_an_unknown_sampler_is_named():
    with pytest.raises(FBDEError, match="unknown sampler 'rejecton'; did you mean 'rejection'"):
        sampler("rejecton")


def test_diagnostics_on_chains_with_known_answers():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 8, 1))
    chain, rho = np.empty_like(noise), 0.9
    chain[0] = noise[0] / np.sqrt(1 - rho**2)
    for t in range(1, len(noise)):
        chain[t] = rho * chain[t - 1] + noise[t]
    assert effective_size(noise) == pytest.approx(noise.size, rel=0.15)
    assert effective_size(chain) == pytest.approx(chain.size * (1 - rho) / (1 + rho), rel=0.15)
    assert r_hat(noise) < 1.01
    assert r_hat(noise + np.arange(8)[None, :, None]) > 1.5


def test_marginals_by_importance_and_by_quadrature_agree(known):
    target, p = known
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(4), 20_000)
    tilt = target.tilt(cell, target.gaussians.draw(cell, rng))
    estimate = importance(tilt, cell, target.weight.reshape(2, 2))
    exact = quadrature(target, np.arange(4), (2, 2))
    assert np.abs(exact.value.ravel() - p.sum(axis=(1, 2))).max() < 1e-3
    assert (np.abs(estimate.value - exact.value) < 4 * estimate.error + 1e-5).all()
    assert abs(estimate.log_Z - exact.log_Z) < 4 * estimate.log_Z_error + 1e-5
    assert (estimate.error < 2e-3).all()


def test_the_stated_error_is_the_spread_of_the_estimate(known):
    target, _ = known
    prior, cell = target.weight.reshape(2, 2), np.repeat(np.arange(4), 400)
    runs = [
        importance(target.tilt(cell, target.gaussians.draw(cell, np.random.default_rng(k))), cell, prior)
        for k in range(300)
    ]
    assert np.std([run.value for run in runs], axis=0) == pytest.approx(runs[0].error, rel=0.25)
    assert np.std([run.log_Z for run in runs]) == pytest.approx(runs[0].log_Z_error, rel=0.25)
    rates = [(v.sum(axis=0).min() / v.sum(axis=0).max()) for v in (run.value for run in runs)]
    assert np.std(rates) == pytest.approx(runs[0].rate_errors(1)[0], rel=0.25)
    share = [run.value[1] / run.value.sum(axis=0) for run in runs]
    assert np.std([s.min() / s.max() for s in share]) == pytest.approx(runs[0].rate_errors(1)[1], rel=0.25)


def test_importance_does_not_overflow():
    tilt = np.array([1000.0, 1001.0, 999.0, 1000.5])
    found = importance(tilt, np.arange(4), np.full((2, 2), 0.25))
    assert found.value.sum() == pytest.approx(1) and found.log_Z == pytest.approx(1000.37, abs=0.3)


def test_quadrature_refuses_four_dimensions():
    with pytest.raises(FBDEError, match="up to 3 continuous columns, not 4"):
        quadrature(make_target([], d=4), np.arange(4), (2, 2))
