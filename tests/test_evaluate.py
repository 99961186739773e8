"""From a fitted method to metric rows, and the table of scores."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_folds, toy_task

from fbde import evaluate, scores
from fbde.methods import Centres, Distribution, Outcome, Predictions
from fbde.metrics import METRICS, floored, representation_rate, statistical_rate
from fbde.tasks import Rows

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
