"""The initial distribution: as fair as asked, and otherwise the data."""

import numpy as np
import pytest
from domains import problems
from hypothesis import given
from hypothesis import strategies as st

from fbde.errors import FBDEError
from fbde.initial import conditionals, fair_marginal, initial
from fbde.leverage import check_budget, leverages
from fbde.metrics import rates_of_marginal

P_YS = np.array([[0.45, 0.20], [0.15, 0.20]])  # rates .25 and .5, groups .6 and .4


def test_equations_3_and_4_by_hand():
    Q = fair_marginal(P_YS, 1, sr0=0.9)
    assert np.allclose(Q.sum(axis=0), 0.5)
    assert np.allclose(Q[1] / Q.sum(axis=0), [0.45, 0.5])
    lowered = fair_marginal(P_YS, 1, sr0=0.8, direction="lower")
    assert np.allclose(lowered[1] / lowered.sum(axis=0), [0.25, 0.25 / 0.8])
    weaker = fair_marginal(P_YS, 1, rr0=0.8)
    assert np.allclose(weaker.sum(axis=0), np.array([0.6, 0.48]) / 1.08)
    assert np.allclose(fair_marginal(P_YS, 1, rr0=0.5).sum(axis=0), [0.6, 0.4])


@given(problems(), st.sampled_from(["raise", "lower"]), st.floats(0, 1), st.sampled_from(["conditional", "joint"]))
def test_rates_left_after_mixing_are_the_true_ones(problem, direction, alpha, mixing):
    P, positive = problem["P"], problem["positive"]
    start = initial(
        P, positive, sr0=problem["sr0"], rr0=problem["rr0"], direction=direction, alpha=alpha, mixing=mixing
    )
    assert start.Q.sum() == pytest.approx(1)
    assert (start.Q > 0).all()
    assert (start.rr0, start.sr0) == pytest.approx(rates_of_marginal(start.Q.sum(axis=0), positive))
    if mixing == "conditional":
        assert start.sr0 >= problem["sr0"] - 1e-9
        assert start.rr0 >= problem["rr0"] - 1e-9


def test_mixing_inside_the_conditionals_is_half_uniform_and_the_floor_fills_zero_cells():
    P = np.array([[[0.3, 0.0], [0.2, 0.1]], [[0.0, 0.2], [0.1, 0.1]]])
    assert np.allclose(conditionals(P, alpha=0.5)[:, 0, 0], [0.75, 0.25])
    assert conditionals(P)[1, 0, 0] == pytest.approx(1e-9)
    prior = np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 1]]])
    assert np.allclose(conditionals(P, alpha=1.0, prior=prior)[:, 0, 0], [0.75, 0.25])


def test_several_labels_keep_their_proportions():
    P_ys = np.array([[0.2, 0.1], [0.1, 0.3], [0.2, 0.1]])
    Q = fair_marginal(P_ys, 1)
    conditional = Q / Q.sum(axis=0)
    assert np.allclose(conditional[1], 0.6)
    assert np.allclose(conditional[0], conditional[2])


def test_leverages_as_printed():
    C = np.log(2)
    assert np.allclose(leverages("exact", 3, 0.8, C) * C / -np.log(0.8), [1 / 4, 1 / 8, 1 / 16])
    assert np.allclose(leverages("sound", 3, 0.8, C) * C / -np.log(0.8), [1 / 8, 1 / 16, 1 / 32])
    assert np.allclose(leverages("relative", 3, 0.8, C) * C / -np.log(0.8), [1 / 4, 1 / 8, 1 / 12])


@pytest.mark.parametrize(
    ("tau", "start", "words"), [(0.9, 0.9, "must be under the initial rate sr0"), (0, 1, "over 0"), (-1, 1, "over 0")]
)
def test_budgets_that_leave_nothing_are_refused(tau, start, words):
    with pytest.raises(FBDEError, match=words):
        check_budget(tau, start, "SR")
