"""Fair K-means: against a literal reference, at λ = 0 and at a large λ, and on awkward data."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from fbde import methods
from fbde.errors import ConfigError, DataError
from fbde.evaluate import norms, score
from fbde.metrics import cluster_representation
from fbde.tasks import Task, make_folds

Method = methods.load("fairkmeans")
fair = SimpleNamespace(**Method.fit_fold.__globals__)
FEATURES = ("a", "b", "c")
TASK = Task("compas", "s", "y", FEATURES, {name: (name,) for name in FEATURES})
PUBLISHED = {"lam": 0.02, "start": "first-K", "passes": 1, "residue": True}


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (rows, 5)), columns=[*FEATURES, "y", "s"])
    frame["a"] = np.where(rng.random(rows) < 0.7, frame["s"], frame["a"])
    return frame


def real_fold(rows, seed=0):
    """A fold whose features are real numbers: no two distances are equal."""
    noise = np.random.default_rng(seed).normal(size=(rows, len(FEATURES)))
    frame = table(rows, seed).astype(float)
    frame[list(FEATURES)] += noise
    return fold_of(frame, replace(TASK, continuous=FEATURES))


def fold_of(frame, task=TASK):
    """Every fifth row is a test row."""
    number = (np.arange(len(frame)) % 5 == 4).astype(int)
    return make_folds(frame, number, task, method="fairkmeans", base_seed=0, numbers=[1])[0]


def points_of(fold):
    return np.column_stack([fold.train.X, fold.train.y]) / norms(fold.train)


def spread(cluster, s, k):
    return cluster_representation(np.asarray(cluster), np.asarray(s), k=k, empty="skip")


def literal(points, s, K, lam, passes, rng):
    """The published procedure as one would first write it: after each point, every share is counted anew."""
    cluster, w = np.zeros(len(points), dtype=int), np.zeros(K)
    centres = points[:K].copy()
    for _ in range(passes):
        for i, x in enumerate(points):
            cluster[i] = np.argmin(((x - centres) ** 2).sum(axis=1) - lam * (w - s[i]) ** 2)
            for j in range(K):
                if (cluster == j).any():
                    w[j] = s[cluster == j].mean()
        centres = rng.random(centres.shape)
        for j in range(K):
            centres[j] = (centres[j] + points[cluster == j].sum(axis=0)) / max((cluster == j).sum(), 1)
    return centres


# ------------------------------------------------------------------------------------ the algorithm


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.0, 0.001, 0.02, 0.5])
def test_as_published_equals_the_literal_reference(seed, lam):
    fold = fold_of(table(seed=seed))
    result = Method(**{**PUBLISHED, "lam": lam}).fit_fold(fold)
    expected = literal(points_of(fold), fold.train.s, 4, lam, 1, fold.rng)
    np.testing.assert_allclose(result.centres, expected, rtol=1e-12)
    np.testing.assert_array_equal(result.scale, norms(fold.train))


def test_later_passes_equal_the_literal_reference():
    fold = fold_of(table())
    points, s = points_of(fold), fold.train.s
    clusters = fair.Clusters(np.zeros(len(s), int), s, 4, 0.02)
    rng, centres = fold.rng, points[:4]
    for number in range(3):
        distance = fair.cdist(points, centres, "sqeuclidean").tolist()
        clusters.visit(distance, 0, 1)
        clusters.refresh()
        clusters.visit(distance, 1, len(s))
        centres = fair.means(points, np.array(clusters.cluster), centres, rng)
        np.testing.assert_allclose(centres, literal(points, s, 4, 0.02, number + 1, fold.rng), rtol=1e-12)


def test_lambda_zero_is_the_nearest_centre():
    fold = fold_of(table())
    points = points_of(fold)
    result = Method(lam=0.0, start="first-K", passes=1).fit_fold(fold)
    nearest = fair.cdist(points, points[:4]).argmin(axis=1)
    expected = [points[nearest == j].mean(axis=0) if (nearest == j).any() else points[j] for j in range(4)]
    np.testing.assert_allclose(result.centres, expected, rtol=1e-12)


def test_lambda_zero_to_convergence_is_plain_kmeans():
    fold = real_fold(120)
    plain = KMeans(4, n_init=10, random_state=int(fold.rng.integers(1 << 31))).fit(points_of(fold))
    np.testing.assert_allclose(Method(lam=0.0).fit_fold(fold).centres, plain.cluster_centers_)


def two_camps():
    """Two well separated camps, one mostly of each group: fairness and distance pull apart."""
    rng = np.random.default_rng(0)
    camp = np.repeat([0, 1], 100)
    s = np.where(rng.random(200) < 0.9, camp, 1 - camp)
    return camp[:, None] + 0.01 * rng.normal(size=(200, 2)), s, camp


def assigned(points, s, lam, K=2):
    cluster, centres = fair.plain_kmeans(points, K, np.random.default_rng(0))
    clusters = fair.Clusters(cluster, s, K, lam)
    fair.descend(points, clusters, centres, 100)
    return clusters


def test_a_large_lambda_balances():
    points, s, camp = two_camps()
    plain, balanced = assigned(points, s, 0.0), assigned(points, s, 100.0)
    assert spread(plain.cluster, s, 2) == pytest.approx(spread(camp, s, 2))
    assert spread(plain.cluster, s, 2) >= 0.6
    assert spread(balanced.cluster, s, 2) < 0.05
    assert min(balanced.size) > 0


def test_the_rule_for_lambda_balances_and_follows_the_scale():
    points, s, _ = two_camps()
    centres = np.array([[0.0, 0.0], [1.0, 1.0]])
    lam = fair.balancing_lambda(points, s, centres)
    assert fair.balancing_lambda(3 * points, s, 3 * centres) == pytest.approx(9 * lam)
    assert spread(assigned(points, s, lam).cluster, s, 2) < spread(assigned(points, s, 0.0).cluster, s, 2) / 2


def test_counts_follow_every_move():
    fold = fold_of(table())
    clusters = assigned(points_of(fold), fold.train.s, 0.02, K=4)
    np.testing.assert_array_equal(clusters.size, np.bincount(clusters.cluster, minlength=4))
    np.testing.assert_array_equal(clusters.ones, np.bincount(clusters.cluster, fold.train.s, 4))


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0])
def test_passes_end_and_the_best_centres_are_returned(lam):
    fold = real_fold(400)
    points, s = points_of(fold), fold.train.s

    def descend(passes):
        clusters = fair.Clusters(np.zeros(len(s), int), s, 4, lam)
        values, measure = [], clusters.objective
        clusters.objective = lambda distance: values.append(measure(distance)[0]) or measure(distance)
        return values, fair.descend(points, clusters, points[:4], passes)

    values, centres = descend(100)
    best = int(np.argmin(values))
    assert 1 < len(values) < 100
    assert (best > 0) == (lam < 1)  # at λ = 1 a later pass is worse, and must not be what is returned
    np.testing.assert_array_equal(centres, descend(best + 1)[1])


def test_a_weight_counts_like_repeated_rows():
    fold = fold_of(table(60))
    train = fold.train
    twice = replace(fold, train=replace(train, weight=train.weight + (np.arange(len(train.s)) % 2)))
    each = np.repeat(np.arange(len(train.s)), twice.train.weight.astype(int))
    rows = type(train)(train.X[each], train.y[each], train.s[each], np.ones(len(each)))
    repeated = Method().fit_fold(replace(fold, train=rows))
    np.testing.assert_allclose(Method().fit_fold(twice).centres, repeated.centres)


def test_seeds():
    fold = fold_of(table())
    for settings in ({}, PUBLISHED):
        first, second = (Method(**settings).fit_fold(fold).centres for _ in range(2))
        assert first.tobytes() == second.tobytes()
    other = replace(fold, seed=fold.seed + 1)
    assert (Method(**PUBLISHED).fit_fold(fold).centres != Method(**PUBLISHED).fit_fold(other).centres).all()


# ------------------------------------------------------------------------------------- awkward data


def test_an_empty_cluster_keeps_its_centre_or_gets_the_residue():
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    cluster, centres = np.array([0, 0, 0]), np.array([[1.0, 0.0], [0.0, 7.0]])
    np.testing.assert_allclose(fair.means(points, cluster, centres), [[2.5 / 3, 0], [0, 7]])
    residue = np.random.default_rng(5).random((2, 2))
    with_residue = fair.means(points, cluster, centres, np.random.default_rng(5))
    np.testing.assert_allclose(with_residue, [(residue[0] + [2.5, 0]) / 3, residue[1]])


def test_equal_rows_leave_clusters_empty_and_the_metrics_say_so():
    frame = table().assign(a=1, b=1, c=0, y=1)
    fold = fold_of(frame)
    result = Method(lam=0.0, start="first-K").fit_fold(fold)
    assert np.isfinite(result.centres).all()
    rows = {(r["metric"], r["variant"]): r["value"] for r in score(result, fold)}
    assert np.isnan(rows["cPR", "published"])
    assert rows["cPR", "corrected"] == 0
    assert rows["dist", "corrected"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("settings", [{}, PUBLISHED])
def test_a_constant_column(value, settings):
    result = Method(**settings).fit_fold(fold_of(table().assign(b=value)))
    assert np.isfinite(result.centres).all()
    assert (result.scale > 0).all()


def test_a_constant_sensitive_attribute_is_plain_kmeans():
    fold = fold_of(table().assign(s=1))
    assert fair.balancing_lambda(points_of(fold), fold.train.s, points_of(fold)[:4]) == 0
    np.testing.assert_array_equal(Method().fit_fold(fold).centres, Method(lam=0.0).fit_fold(fold).centres)


def test_one_cluster_is_the_mean():
    fold = fold_of(table())
    np.testing.assert_allclose(Method(K=1).fit_fold(fold).centres, [points_of(fold).mean(axis=0)])


def test_fewer_rows_than_clusters():
    with pytest.raises(DataError, match="cannot make 4 clusters of 3 rows"):
        Method().fit_fold(fold_of(table(3)))


def test_a_sensitive_attribute_that_is_not_binary():
    with pytest.raises(DataError, match="s has other values than 0 and 1"):
        Method().fit_fold(fold_of(table().assign(s=np.arange(120) % 3)))


@pytest.mark.parametrize("wrong", [{"K": 0}, {"passes": 0}, {"lam": -1.0}])
def test_parameters_out_of_range(wrong):
    with pytest.raises(ConfigError, match="at least 1"):
        Method(**wrong)
