"""The metrics: by hand, beside aif360 and fairlearn, and the properties they must have."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_table, toy_task
from hypothesis import given
from hypothesis import strategies as st

from fbde.errors import DataError
from fbde.metrics import (
    FLOOR,
    accuracy,
    classifier_rate,
    cluster_distance,
    cluster_representation,
    cluster_statistical_rate,
    equal_opportunity,
    floored,
    kl_divergence,
    rates_of_marginal,
    representation_rate,
    statistical_rate,
)
from fbde.tasks import Rows
from fbde.thirdparty import aif360_dataset, aif360_groups, quiet

#        group 0: 4 rows, 1 positive; group 1: 2 rows, 1 positive; group 2: 2 rows, 2 positive
S = np.array([0, 0, 0, 0, 1, 1, 2, 2])
Y = np.array([1, 0, 0, 0, 1, 0, 1, 1])
P = np.array([0.8, 0.2, 0.0, 0.0, 0.6, 0.4, 0.9, 0.7])

# ------------------------------------------------------------------ by hand


def test_representation_rate_is_the_smallest_group_over_the_largest():
    assert representation_rate(S) == 0.5
    assert representation_rate(S, weight=[1, 1, 1, 1, 1, 0, 4, 4]) == 1 / 8
    assert representation_rate(S, groups=[0, 1, 2, 3]) == 0.0


def test_statistical_rate_is_the_smallest_share_of_positives_over_the_largest():
    assert statistical_rate(Y, S) == 0.25
    assert statistical_rate(Y, S, positive=0) == 0.0
    assert statistical_rate(Y[:6], S[:6], positive=0) == 0.5 / 0.75
    assert statistical_rate(Y[:6], S[:6], weight=[3, 1, 1, 1, 1, 1]) == 1.0


def test_statistical_rate_of_more_than_two_labels_is_that_of_the_chosen_one():
    y, s = np.array([0, 1, 2, 2, 1, 1, 2, 0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert statistical_rate(y, s, positive=0) == 1.0
    assert statistical_rate(y, s, positive=1) == 0.5
    assert statistical_rate(y, s, positive=2) == 0.5


def test_classifier_rate_compares_mean_predictions():
    assert classifier_rate(P, S) == pytest.approx(0.25 / 0.8)


def test_equal_opportunity_compares_mean_predictions_of_the_positive_rows():
    assert equal_opportunity(P, Y, S) == pytest.approx(0.6 / 0.8)


def test_accuracy_is_the_weighted_share_of_right_decisions():
    assert accuracy([1, 0, 1, 1], [1, 0, 0, 2]) == 0.5
    assert accuracy([1, 0, 1, 1], [1, 0, 0, 2], weight=[3, 3, 1, 1]) == 0.75


def test_a_rate_that_is_zero_in_every_group_gives_one():
    nobody = np.zeros(len(S))
    assert statistical_rate(nobody, S) == classifier_rate(nobody, S) == equal_opportunity(nobody, Y, S) == 1.0


def test_a_rate_that_is_zero_in_one_group_gives_zero():
    assert classifier_rate(S > 0, S) == 0.0


def test_a_group_without_rows_or_without_positives_leaves_the_ratio_undefined():
    assert np.isnan(statistical_rate(Y, S, groups=[0, 1, 2, 3]))
    assert np.isnan(equal_opportunity(P, np.where(S == 1, 0, Y), S))


def test_a_group_that_is_not_among_the_groups_is_refused_not_counted_elsewhere():
    with pytest.raises(DataError, match="value 1 is not one of 0, 2"):
        representation_rate(S, groups=[0, 2])
    with pytest.raises(DataError, match="value 2 is not one of 0, 1"):
        statistical_rate(Y, S, groups=[0, 1])


def test_rates_of_a_marginal_are_those_of_the_rows():
    marginal = np.array([[np.sum((y == Y) & (s == S)) for s in range(3)] for y in range(2)]) / 8
    assert rates_of_marginal(marginal) == (representation_rate(S), statistical_rate(Y, S))
    assert rates_of_marginal(marginal, positive=0)[1] == statistical_rate(Y, S, positive=0)


def test_rates_of_a_marginal_with_an_empty_group_are_zero_and_undefined():
    RR, SR = rates_of_marginal(np.array([[0.5, 0.0], [0.5, 0.0]]))
    assert RR == 0 and np.isnan(SR)


def test_kl_by_hand():
    assert kl_divergence([0.5, 0.5, 0.0], [0.25, 0.5, 0.25]) == pytest.approx(0.5 * np.log(2))
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf


def test_flooring_raises_empty_cells_of_each_conditional_and_keeps_the_marginal():
    density = np.array([[[0.2, 0.3], [0.1, 0.0]], [[0.0, 0.1], [0.3, 0.0]]])
    raised = floored(density)
    np.testing.assert_allclose(raised.sum(axis=0), density.sum(axis=0))
    assert raised[1, 0, 0] == pytest.approx(0.2 * FLOOR)
    assert (raised[:, 1, 1] == 0).all()  # no (y, s) of this kind at all


def test_cluster_shares_by_hand():
    cluster = np.array([0, 0, 0, 1, 1, 1])
    s = np.array([1, 1, 0, 1, 0, 0])
    assert cluster_representation(cluster, s) == pytest.approx(1 / 3)
    assert cluster_representation(cluster, s, weight=[1, 1, 2, 1, 1, 0]) == 0.0


def test_cluster_shares_of_several_groups_are_those_of_the_widest():
    cluster = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    s = np.array([0, 0, 1, 2, 0, 1, 1, 1])
    assert cluster_representation(cluster, s) == 0.5


def test_cluster_rates_by_hand():
    cluster = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    s = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    y = np.array([1, 0, 1, 1, 1, 1, 1, 1])
    assert cluster_statistical_rate(cluster, y, s) == 0.5


def test_an_empty_cluster_is_undefined_as_published_and_left_out_when_corrected():
    cluster, s, y = np.array([0, 0, 2, 2]), np.array([0, 1, 0, 1]), np.array([1, 1, 1, 0])
    assert np.isnan(cluster_representation(cluster, s, k=3))
    assert np.isnan(cluster_statistical_rate(cluster, y, s, k=3))
    assert cluster_representation(cluster, s, k=3, empty="skip") == 0.0
    assert cluster_statistical_rate(cluster, y, s, k=3, empty="skip") == 1.0


def test_a_cluster_that_lacks_a_group_has_no_rate():
    cluster, s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0]), np.array([1, 1, 1, 0])
    assert np.isnan(cluster_statistical_rate(cluster, y, s))
    assert cluster_statistical_rate(cluster, y, s, empty="skip") == 0.0
    assert np.isnan(cluster_statistical_rate(cluster[2:], y[2:], s[2:] + np.array([0, 1]), k=1, empty="skip"))


def test_distance_is_the_mean_to_the_nearest_centre():
    points, centres = np.array([[0.0, 0.0], [3.0, 4.0], [10.0, 1.0]]), np.array([[0.0, 0.0], [10.0, 0.0]])
    assert cluster_distance(points, centres) == pytest.approx((0 + 5 + 1) / 3)
    assert cluster_distance(points, centres, weight=[2, 1, 1]) == pytest.approx((0 + 5 + 1) / 4)


# ------------------------------------------------------------------ beside aif360 and fairlearn


@pytest.fixture
def weighted():
    """Rows with weights, decisions and probabilities."""
    table, rng = toy_table(), np.random.default_rng(1)
    rows = replace(Rows.from_table(table, toy_task()), weight=rng.integers(1, 5, len(table)).astype(float))
    return rows, rng.integers(0, 2, len(table)), rng.random(len(table))


def test_statistical_rate_is_aif360s_disparate_impact(weighted):
    rows, decision, _ = weighted
    with quiet():
        from aif360.metrics import BinaryLabelDatasetMetric, ClassificationMetric

        truth = aif360_dataset(rows)
        predicted = truth.copy()
        predicted.labels = decision.astype(float).reshape(-1, 1)
        impact = BinaryLabelDatasetMetric(truth, **aif360_groups(rows)).disparate_impact()
        metric = ClassificationMetric(truth, predicted, **aif360_groups(rows))
        theirs = [metric.disparate_impact(), metric.accuracy()]
        opportunity = metric.true_positive_rate(privileged=False) / metric.true_positive_rate(privileged=True)
    assert statistical_rate(rows.y, rows.s, rows.weight) == pytest.approx(min(impact, 1 / impact))
    assert classifier_rate(decision, rows.s, rows.weight) == pytest.approx(min(theirs[0], 1 / theirs[0]))
    assert accuracy(decision, rows.y, rows.weight) == pytest.approx(theirs[1])
    ours = equal_opportunity(decision, rows.y, rows.s, rows.weight)
    assert ours == pytest.approx(min(opportunity, 1 / opportunity))


def test_rates_of_decisions_are_fairlearns_ratios_with_three_groups(weighted):
    from fairlearn.metrics import demographic_parity_ratio, equal_opportunity_ratio

    rows, decision, _ = weighted
    groups = rows.s + rows.X[:, 1].astype(int)
    assert len(np.unique(groups)) == 3
    options = {"sensitive_features": groups, "sample_weight": rows.weight}
    parity = demographic_parity_ratio(rows.y, decision, **options)
    opportunity = equal_opportunity_ratio(rows.y, decision, **options)
    assert classifier_rate(decision, groups, rows.weight) == pytest.approx(parity)
    assert equal_opportunity(decision, rows.y, groups, rows.weight) == pytest.approx(opportunity)


def test_mean_probabilities_are_fairlearns_grouped_means(weighted):
    from fairlearn.metrics import MetricFrame, mean_prediction

    rows, _, probability = weighted
    frame = MetricFrame(
        metrics=mean_prediction,
        y_true=rows.y,
        y_pred=probability,
        sensitive_features=rows.s,
        sample_params={"sample_weight": rows.weight},
    )
    assert classifier_rate(probability, rows.s, rows.weight) == pytest.approx(frame.ratio())


# ------------------------------------------------------------------ properties


@st.composite
def cases(draw):
    """Rows with up to four groups, three labels and clusters, probabilities, whole weights."""
    probability = st.integers(0, 8).map(lambda eighths: eighths / 8)
    row = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), probability, st.integers(1, 3))
    return [np.array(column) for column in zip(*draw(st.lists(row, min_size=1, max_size=25)), strict=True)]


def every_metric(s, y, cluster, p, weight):
    """Each metric on the same rows, by name."""
    decision = (p > 0.5).astype(int)
    points, centres = np.column_stack([p, y]) / 4, np.array([[0.0, 0.0], [0.2, 0.4]])
    return {
        "RR": representation_rate(s, weight),
        "SR": statistical_rate(y, s, weight),
        "SR_c": classifier_rate(p, s, weight),
        "EO": equal_opportunity(p, y, s, weight, groups=np.unique(s)),
        "Acc": accuracy(decision, y, weight),
        "cPR": cluster_representation(cluster, s, weight, k=3),
        "cSR": cluster_statistical_rate(cluster, y, s, weight, k=3),
        "cPR corrected": cluster_representation(cluster, s, weight, k=3, empty="skip"),
        "cSR corrected": cluster_statistical_rate(cluster, y, s, weight, k=3, empty="skip"),
        "dist": cluster_distance(points, centres, weight),
    }


def assert_same(first, second):
    assert first == pytest.approx(second, abs=1e-12, nan_ok=True)


@given(cases())
def test_every_metric_lies_between_0_and_1_or_is_undefined(case):
    for name, value in every_metric(*case).items():
        assert np.isnan(value) or -1e-12 <= value <= 1 + 1e-12, name


@given(cases())
def test_only_what_lacks_a_group_a_cluster_or_positives_is_undefined(case):
    s, y, cluster, _, _ = case
    found = every_metric(*case)
    may = {"EO": any((y[s == group] != 1).all() for group in s), "cPR": len(set(cluster)) < 3}
    pairs = {(c, group) for c, group in zip(cluster, s, strict=True)}
    whole = [c for c in range(3) if all((c, group) in pairs for group in s)]
    may |= {"cSR": len(whole) < 3, "cSR corrected": not whole}
    assert {name: bool(np.isnan(value)) for name, value in found.items()} == dict.fromkeys(found, False) | may


@given(cases(), st.permutations(range(4)))
def test_every_metric_is_symmetric_in_the_groups(case, names):
    s, *others = case
    assert_same(every_metric(np.array(names)[s], *others), every_metric(s, *others))


@given(cases(), st.randoms(use_true_random=False))
def test_every_metric_is_invariant_to_the_order_of_rows(case, random):
    order = random.sample(range(len(case[0])), len(case[0]))
    assert_same(every_metric(*(column[order] for column in case)), every_metric(*case))


@given(cases())
def test_a_weight_is_a_repetition(case):
    *columns, weight = case
    repeated = [np.repeat(column, weight) for column in columns]
    assert_same(every_metric(*repeated, None), every_metric(*case))


@given(cases(), st.floats(0.1, 10))
def test_only_the_proportions_of_the_weights_count(case, factor):
    *columns, weight = case
    assert_same(every_metric(*columns, weight * factor), every_metric(*case))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1e-6, 1)), min_size=1, max_size=12))
def test_kl_is_not_negative_and_zero_for_the_same_distribution(pairs):
    first, second = np.array(pairs).T + 1e-12
    first, second = first / first.sum(), second / second.sum()
    assert kl_divergence(first, second) >= -1e-9
    assert kl_divergence(first, first) == 0
