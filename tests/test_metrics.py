"""The metrics: by hand, beside aif360 and fairlearn, and the properties they must have."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_folds, toy_table, toy_task
from hypothesis import given
from hypothesis import strategies as st

from fbde import evaluate, scores
from fbde.errors import DataError
from fbde.methods import Centres, Distribution, Outcome, Predictions
from fbde.metrics import (
    FLOOR,
    METRICS,
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


# ------------------------------------------------------------------ from a fit to metric rows


def value_of(rows, metric, variant):
    [value] = [row["value"] for row in rows if (row["metric"], row["variant"], row["step"]) == (metric, variant, None)]
    return value


def test_merged_rows_give_the_same_tree_metrics_and_norms_as_repeated_rows(fold):
    merged = fold.train.merged()
    assert len(merged.y) < len(fold.train.y) and merged.total == fold.train.total
    first, second = ({row[:2]: row[2] for row in evaluate._tree_metrics(r, fold)} for r in (merged, fold.train))
    assert first == pytest.approx(second)
    np.testing.assert_allclose(evaluate.norms(merged), evaluate.norms(fold.train))
    columns = np.column_stack([fold.train.X, fold.train.y])
    np.testing.assert_allclose(evaluate.norms(fold.train), np.linalg.norm(columns, axis=0))


def test_a_column_of_zeros_has_norm_one():
    nothing = Rows(np.zeros((3, 2)), np.zeros(3), np.zeros(3), np.ones(3))
    assert evaluate.norms(nothing).tolist() == [1, 1, 1]


def test_draws_have_the_frequencies_of_the_density_and_the_number_asked_for(fold):
    density = np.random.default_rng(0).dirichlet(np.ones(fold.domain.size)).reshape(fold.domain.shape)
    drawn = evaluate.draw(density, fold.domain, 200_000, np.random.default_rng(1))
    assert drawn.total == 200_000
    frequencies = fold.domain.count(drawn.X, drawn.y, drawn.s, drawn.weight) / drawn.total
    # Five standard deviations of a binomial share.
    assert (np.abs(frequencies - density) <= 5 * np.sqrt(density / 200_000)).all()


def test_the_same_seed_draws_the_same_rows(fold):
    first, second = (evaluate.draw(fold.train_distribution, fold.domain, 500, fold.rng) for _ in range(2))
    np.testing.assert_array_equal(first.weight, second.weight)


def test_binned_kl_is_zero_for_the_sample_itself_and_grows_with_a_shift():
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(5000, 2)), rng.integers(0, 2, 5000), rng.integers(0, 2, 5000), np.ones(5000))
    shifts = [evaluate.binned_kl(rows, replace(rows, X=rows.X + shift)) for shift in (0, 0.5, 1)]
    assert shifts[0] == pytest.approx(0, abs=1e-9)
    assert 0.05 < shifts[1] < shifts[2]


def test_binned_kl_sees_label_and_group():
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(5000, 2)), rng.integers(0, 2, 5000), rng.integers(0, 2, 5000), np.ones(5000))
    for changed in (replace(rows, y=rows.y * (rows.s == 1)), replace(rows, s=rows.s * (rows.X[:, 0] > 0))):
        assert evaluate.binned_kl(rows, changed) > 0.1


@pytest.mark.parametrize("dataset", ["compas", "dutch"])
def test_the_published_variant_of_dutch_stores_probabilities_as_whole_numbers(dataset):
    [fold] = toy_folds(task=toy_task(dataset), numbers=[0])
    first = fold.test.s == 1
    probability = np.where(first, 0.4, 0.25)
    probability[np.flatnonzero(first)[0]] = probability[np.flatnonzero(~first)[0]] = 1.0
    rows = evaluate.score(Predictions(probability > 0.5, probability), fold)
    soft = probability[~first].mean() / probability[first].mean()
    whole = first.sum() / (~first).sum()  # one 1 in each group, all else 0
    assert value_of(rows, "SR_c", "corrected") == pytest.approx(soft)
    assert value_of(rows, "SR_c", "published") == pytest.approx(min(whole, 1 / whole) if dataset == "dutch" else soft)


def test_dutch_probabilities_below_one_give_the_printed_ratio_of_one():
    [fold] = toy_folds(task=toy_task("dutch"), numbers=[0])
    probability = np.where(fold.test.s == 1, 0.9, 0.3)
    rows = evaluate.score(Predictions(probability > 0.5, probability), fold)
    assert value_of(rows, "SR_c", "published") == 1.0
    assert value_of(rows, "SR_c", "hard") == 0.0


def test_a_distribution_is_scored_by_every_published_metric(fold):
    rows = evaluate.score(Distribution(density=floored(fold.train_distribution)), fold)
    published = {row["metric"] for row in rows if row["variant"] == "published"}
    assert published == {"RR", "SR", "KL", "SR_c", "EO", "Acc", "cPR", "cSR", "dist"}
    assert value_of(rows, "RR", "exact") == pytest.approx(representation_rate(fold.train.s))
    assert value_of(rows, "SR", "exact") == pytest.approx(statistical_rate(fold.train.y, fold.train.s))
    # 5·n draws come near to the exact rates, and are not the same.
    assert value_of(rows, "SR", "published") == pytest.approx(value_of(rows, "SR", "exact"), abs=0.1)
    assert value_of(rows, "SR", "published") != value_of(rows, "SR", "exact")


def test_every_row_names_a_metric_and_a_variant_of_the_table(fold):
    centres = Centres(np.zeros((4, 5)), np.ones(5))
    results = [Distribution(fold.train, floored(fold.train_distribution)), Predictions(fold.test.y), centres]
    for result in results:
        for row in evaluate.score(result, fold):
            assert row["variant"] in METRICS[row["metric"]].variants


def test_samples_outside_of_the_domain_are_dropped_from_the_kl_alone(fold):
    other = replace(fold.train, X=np.where(fold.train.X[:, [3]] == 1, 7.0, fold.train.X))
    inside, outside = (evaluate.score(Distribution(samples), fold) for samples in (fold.train, other))
    assert value_of(inside, "SR", "published") == value_of(outside, "SR", "published")
    assert np.isfinite(value_of(outside, "KL", "published"))
    assert value_of(outside, "KL", "published") > value_of(inside, "KL", "published") + 1


def test_density_and_rates_are_given_after_each_step(fold):
    steps = np.stack([floored(fold.train_distribution)] * 3)
    rows = evaluate.score(Distribution(density=steps[-1], steps=steps, trace={"theta": np.array([0.5, 0.25])}), fold)
    assert [row["value"] for row in rows if row["metric"] == "theta"] == [0.5, 0.25]
    for metric in ("RR", "SR", "KL", "SR_c"):
        values = [row["value"] for row in rows if row["metric"] == metric and row["step"] is not None]
        assert values == [value_of(rows, metric, "exact")] * 3


def test_corrected_distance_does_not_depend_on_the_number_of_rows_and_the_published_one_does(fold):
    """Finding 4: columns divided by their norm shrink with the number of rows."""
    once = evaluate.score(Distribution(samples=fold.train), fold)
    often = evaluate.score(Distribution(samples=replace(fold.train, weight=5 * fold.train.weight)), fold)
    assert value_of(often, "dist", "corrected") == pytest.approx(value_of(once, "dist", "corrected"), rel=0.1)
    assert value_of(often, "dist", "published") > 1.5 * value_of(once, "dist", "published")


def test_centres_far_from_all_rows_leave_empty_clusters_undefined_and_skipped(fold):
    centres = np.vstack([np.zeros(5), np.ones(5) / 10, np.full(5, 1e6), np.full(5, 2e6)])
    rows = evaluate.score(Centres(centres, np.ones(5)), fold)
    assert np.isnan(value_of(rows, "cPR", "published"))
    assert np.isfinite(value_of(rows, "cPR", "corrected"))


def test_a_test_part_without_a_group_leaves_prediction_rates_undefined(fold):
    test = replace(fold.test, s=np.zeros_like(fold.test.s))
    rows = evaluate.score(Predictions(fold.test.y), replace(fold, test=test))
    assert np.isnan(value_of(rows, "SR_c", "hard"))
    assert value_of(rows, "Acc", "published") == 1.0


# ------------------------------------------------------------------ the table of scores


def test_scores_carry_identity_status_and_reason(folds):
    outcomes = [
        Outcome(0, seconds=1.5, peak_mb=80.0, result=Predictions(folds[0].test.y)),
        Outcome(1, "timed out", "over the limit of 3 s"),
        Outcome(2, "not applicable", "needs snow"),
    ]
    table = scores.score_outcomes("mine", outcomes, folds, report=lambda line: None)
    assert table.dtypes.astype(str).to_dict() == scores.TYPES
    assert set(table["dataset"]) == {"compas"} and set(table["sensitive"]) == {"s"} and set(table["method"]) == {"mine"}
    done = table[table["fold"] == 0]
    assert (done["status"] == "done").all() and (done["reason"] == "").all()
    assert done.set_index("metric")["value"]["time"] == 1.5
    assert table[table["fold"] > 0][["status", "reason"]].to_numpy().tolist() == [
        ["timed out", "over the limit of 3 s"],
        ["not applicable", "needs snow"],
    ]


def test_a_metric_without_a_value_is_a_row_that_says_so(fold):
    centres = Centres(np.vstack([np.zeros(5), np.full(5, 1e6)]), np.ones(5))
    table = scores.score_outcomes("mine", [Outcome(0, result=centres)], [fold], report=lambda line: None)
    row = table[(table["metric"] == "cPR") & (table["variant"] == "published")].iloc[0]
    assert row["status"] == "undefined" and row["reason"] == "a cluster or group is empty"


def test_runs_of_a_missing_dataset_are_rows_with_the_reason():
    reports = [
        {"dataset": "dutch", "status": "missing", "reason": "no source"},
        {"dataset": "adult", "status": "ready"},
    ]
    table = scores.missing_rows(reports, [("dutch", "sex", "data"), ("adult", "sex", "data"), ("dutch", "age", "data")])
    assert table[["dataset", "sensitive", "status", "reason"]].to_numpy().tolist() == [
        ["dutch", "sex", "missing", "no source"],
        ["dutch", "age", "missing", "no source"],
    ]
