"""The weak learner: the same tree as scikit-learn's, calibrated as scikit-learn does it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from fbde.weak import TreeLearner, WeakTree


def random_points(seed, values=3, columns=4):
    rng = np.random.default_rng(seed)
    table = np.unique(rng.integers(0, values, (60, columns)), axis=0).astype(np.float32)
    return table, rng.integers(0, 40, len(table)), rng.integers(0, 40, len(table)), rng


def repeated(table, p, q):
    rows = np.concatenate([np.repeat(table, p, axis=0), np.repeat(table, q, axis=0)])
    return rows, np.repeat([1, 0], [p.sum(), q.sum()])


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([2, 8]))
def test_equals_scikit_learns_min_samples_split_tree_on_the_repeated_rows(seed, values, min_split, max_depth):
    table, p, q, rng = random_points(seed, values)
    learner = TreeLearner(C=1.0, calibrate=False, min_split=min_split, max_depth=max_depth)
    _, c, _ = learner.bind(table, table)(p.astype(float), q.astype(float), 1.0, rng)
    rows, real = repeated(table, p, q)
    theirs = DecisionTreeClassifier(
        criterion="entropy", max_depth=max_depth, min_samples_split=min_split, random_state=0
    ).fit(rows, real)
    # Equal gains are broken at random there, so only the quality of the trees can be compared then.
    probability = theirs.predict_proba(table)[:, 1]
    if not np.allclose((c + 1) / 2, probability):
        assert _ties(theirs, rows, real)


def _ties(tree, rows, real):
    """Whether another random_state gives another tree: then there was a tie."""
    other = [
        DecisionTreeClassifier(**{**tree.get_params(), "random_state": state}).fit(rows, real).predict_proba(rows)
        for state in range(1, 30)
    ]
    return any(not np.allclose(o, tree.predict_proba(rows)) for o in other)


def test_equality_without_ties_is_the_rule():
    same = 0
    for seed in range(30):
        table, p, q, rng = random_points(seed, 4, 5)
        _, c, _ = TreeLearner(C=1.0, calibrate=False).bind(table, table)(p.astype(float), q.astype(float), 1.0, rng)
        rows, real = repeated(table, p, q)
        theirs = DecisionTreeClassifier(criterion="entropy", max_depth=8, min_samples_split=0.2, random_state=0)
        same += np.allclose((c + 1) / 2, theirs.fit(rows, real).predict_proba(table)[:, 1])
    assert same >= 29


@pytest.mark.parametrize("seed", range(5))
def test_calibration_equals_scikit_learns(seed):
    table, p, q, rng = random_points(seed, 4, 5)
    _, c, _ = TreeLearner(C=1.0).bind(table, table)(p.astype(float), q.astype(float), 1.0, rng)
    rows, real = repeated(table, p, q)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=8, min_samples_split=0.2, random_state=0)
    theirs = CalibratedClassifierCV(FrozenEstimator(tree.fit(rows, real)), method="sigmoid").fit(rows, real)
    assert np.allclose((c + 1) / 2, theirs.predict_proba(table)[:, 1], atol=1e-4)


def test_separate_tables_of_real_and_fake_points_give_the_same_tree():
    table, p, q, rng = random_points(3)
    tree, c, _ = TreeLearner().bind(table, table)(p / p.sum(), q / q.sum(), 500.0, rng)
    real, fake = table[p > 0], table[q > 0]
    apart, on_real, on_fake = TreeLearner().bind(real, fake)(p[p > 0] / p.sum(), q[q > 0] / q.sum(), 500.0, rng)
    assert np.allclose(c[p > 0], on_real)
    assert np.allclose(c[q > 0], on_fake)
    assert np.allclose(apart(table[p > 0]), on_real)
    assert np.allclose(tree(table)[p + q > 0], c[p + q > 0])


def test_hidden_columns_are_not_used_and_output_is_bounded():
    table, p, q, rng = random_points(5)
    tree, c, _ = TreeLearner(C=0.3, hidden=(0, 2)).bind(table, table)(p / p.sum(), q / q.sum(), 500.0, rng)
    assert set(tree.feature) <= {-1, 1, 3}
    assert np.abs(c).max() <= 0.3
    blind, c, _ = TreeLearner(hidden=(0, 1, 2, 3)).bind(table, table)(p / p.sum(), q / q.sum(), 500.0, rng)
    assert blind.depth == 0
    assert np.ptp(c) == 0


def test_sampled_version_approaches_the_population_version():
    table, p, q, _ = random_points(7)
    p, q = (p + 1) / (p + 1).sum(), (q + 1) / (q + 1).sum()
    _, exact, _ = TreeLearner().bind(table, table)(p, q, 10.0**7, np.random.default_rng(0))
    _, sampled, _ = TreeLearner(sampled=True).bind(table, table)(p, q, 10.0**7, np.random.default_rng(0))
    assert np.allclose(exact, sampled, atol=0.01)
    assert not np.array_equal(exact, sampled)


def test_a_tree_can_be_read_as_text_and_dict_and_kept_as_arrays():
    table, p, q, rng = random_points(1)
    tree, c, _ = TreeLearner().bind(table, table)(p / p.sum(), q / q.sum(), 500.0, rng)
    text = tree.to_text(["a", "b", "c", "d"])
    assert text.count("?") == (tree.left >= 0).sum()
    assert text.count("weight") == (tree.left < 0).sum()
    root = tree.to_dict(["a", "b", "c", "d"])
    assert root["feature"] in "abcd"
    assert {"yes", "no", "threshold", "real", "c"} <= set(root)
    assert np.array_equal(WeakTree.from_arrays(tree.arrays())(table), c)
