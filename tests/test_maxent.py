"""MaxEnt: fitted marginals, the closed form against enumeration, and inputs that have no solution."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from fbde import evaluate, methods
from fbde.errors import ConfigError, DataError, FBDEError
from fbde.metrics import FLOOR, rates_of_marginal
from fbde.tasks import Rows, Task, make_folds

Method = methods.load("maxent")
maxent = SimpleNamespace(**Method.fit_fold.__globals__)
TASK = Task("compas", "s", "y", ("a=0", "a=1", "a=2", "b"), {"a": ("a=0", "a=1", "a=2"), "b": ("b",)})
COLUMNS = [*TASK.features, "y", "s"]


def table(rows=300, seed=0):
    """A feature of three values, a binary one, a label that depends on both, and unequal groups."""
    rng = np.random.default_rng(seed)
    s = (rng.random(rows) < 0.3).astype(int)
    a = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    b = (rng.random(rows) < 0.2 + 0.5 * s).astype(int)
    y = (rng.random(rows) < 0.2 + 0.4 * b + 0.2 * (a == 1)).astype(int)
    return pd.DataFrame({"a=0": a == 0, "a=1": a == 1, "a=2": a == 2, "b": b, "y": y, "s": s}).astype(int)


def fold_of(frame, test=None, task=TASK):
    """A fold that trains on every row but those of the mask ``test``, or on all of them."""
    chosen = np.arange(len(frame)) % 2 if test is None else np.asarray(test).astype(int)
    return make_folds(frame, chosen, task, method="maxent", base_seed=0, numbers=[1])[0]


def solve(fold, C=0.5, rho=1.0):
    """The fitted p, its target, and all cells of the product domain as level numbers."""
    joint = maxent.count_joint(fold)
    marginal = maxent.fair_marginal(joint, fold.domain.labels == 1, rho)
    columns, codes = maxent.Columns.fit(fold.task, fold.train)
    codes, count = maxent.distinct(codes, fold.train.weight)
    w = count * (marginal / joint)[codes[:, -2], codes[:, -1]]
    prior = maxent.Prior(columns.sizes, codes, w, C)
    theta = prior.w @ prior.alpha
    cells = np.array(list(itertools.product(*map(range, columns.sizes))))
    return maxent.minimise_dual(prior, theta), theta, cells


def one_hot(cells, prior):
    alpha = np.zeros((len(cells), prior.sizes.sum()))
    alpha[np.arange(len(cells))[:, None], cells + prior.starts] = 1
    return alpha


def prior_on(cells, prior):
    """q on the enumerated cells."""
    w = {tuple(row): weight for row, weight in zip(prior.rows, prior.w, strict=True)}
    return np.array([(1 - prior.C) * w.get(tuple(c), 0) + prior.C / len(cells) for c in cells])


# ------------------------------------------------------------------------------------- the solution


@pytest.mark.parametrize("C", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("rho", [0.5, 0.9, 1.0])
def test_fitted_marginals_equal_the_targets(C, rho):
    p, theta, cells = solve(fold_of(table()), C, rho)
    density = p.density(cells)
    assert density.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(density @ one_hot(cells, p.prior), theta, atol=1e-6)
    assert p.duality_gap(theta) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_minimum_found_on_the_enumerated_domain(seed):
    p, theta, cells = solve(fold_of(table(seed=seed)))
    q, alpha = prior_on(cells, p.prior), one_hot(cells, p.prior)

    def dual(lambda_):
        tilted = q * np.exp(alpha @ lambda_)
        return np.log(tilted.sum()) - lambda_ @ theta, tilted @ alpha / tilted.sum() - theta

    found = minimize(dual, np.zeros(len(theta)), jac=True, method="BFGS", options={"gtol": 1e-9})
    expected = q * np.exp(alpha @ found.x)
    np.testing.assert_allclose(p.density(cells), expected / expected.sum(), atol=1e-6)
    assert p.dual(theta) == pytest.approx(found.fun, abs=1e-9)


def test_closed_forms_equal_sums_over_the_enumerated_domain():
    fitted, theta, cells = solve(fold_of(table()))
    lambda_ = np.random.default_rng(1).normal(size=len(theta))
    p = maxent.Tilted(fitted.prior, lambda_)
    alpha = one_hot(cells, p.prior)
    tilted = prior_on(cells, p.prior) * np.exp(alpha @ lambda_)
    P = tilted / tilted.sum()
    assert p.log_Z == pytest.approx(np.log(tilted.sum()))
    np.testing.assert_allclose(p.density(cells), P, rtol=1e-10)
    np.testing.assert_allclose(p.mean, P @ alpha, rtol=1e-10)
    centred = alpha - P @ alpha
    np.testing.assert_allclose(p.covariance(), (centred * P[:, None]).T @ centred, atol=1e-12)
    np.testing.assert_allclose(p.marginal().ravel(), np.bincount(cells[:, -2] * 2 + cells[:, -1], P))
    primal = np.sum(P * np.log(P / prior_on(cells, p.prior)))
    assert p.duality_gap(theta) == pytest.approx(abs(primal + p.dual(theta)))


def test_prior_that_has_the_target_is_the_solution():
    p, _, cells = solve(fold_of(table()), C=0)
    np.testing.assert_allclose(p.density(cells), prior_on(cells, p.prior), atol=1e-12)


def test_uniform_prior_gives_the_product_of_the_marginals():
    p, theta, cells = solve(fold_of(table()), C=1)
    np.testing.assert_allclose(p.density(cells), theta[cells + p.prior.starts].prod(axis=1), atol=1e-9)


def test_a_product_domain_far_too_large_to_enumerate():
    rng = np.random.default_rng(0)
    names = tuple(f"x{number}" for number in range(80))
    frame = pd.DataFrame(rng.integers(0, 2, (200, 82)), columns=[*names, "y", "s"])
    fold = fold_of(frame, task=Task("compas", "s", "y", names, {name: (name,) for name in names}))
    samples = Method(outside="keep").fit_fold(fold).samples
    assert samples.total == 5 * fold.train.total
    assert Method().fit_fold(fold).samples.total < 5 * fold.train.total


def test_rows_of_more_combinations_than_integers_stay_distinct():
    codes = np.full((4, 40), 2)  # 4⁴⁰ > 2⁶⁴
    codes[[1, 3], 0] = 0
    rows, weight = maxent.distinct(codes, np.array([1.0, 2.0, 4.0, 8.0]))
    assert sorted(zip(rows[:, 0], weight, strict=True)) == [(0, 10), (2, 5)]


# ------------------------------------------------------------------------------------- reweighting


def test_rho_one_is_the_weight_of_algorithm_1():
    joint = np.array([[50.0, 20.0], [10.0, 40.0]])
    weighted = joint * joint.sum(axis=1, keepdims=True) / joint
    expected = weighted / weighted.sum()
    np.testing.assert_allclose(maxent.fair_marginal(joint, np.array([False, True]), 1.0), expected)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("joint", [[[50, 20], [10, 40]], [[9, 30, 20], [1, 30, 5]], [[5, 5], [5, 5]]])
def test_reweighting_reaches_the_statistical_rate_and_no_more(joint, rho):
    joint = np.array(joint, dtype=float)
    RR, SR = rates_of_marginal(maxent.fair_marginal(joint, np.array([False, True]), rho))
    assert pytest.approx(1) == RR
    assert max(rho, rates_of_marginal(joint)[1]) == pytest.approx(SR)


def test_three_labels_and_three_groups():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 2, 400), "y": rng.integers(0, 3, 400)})
    frame["s"] = (frame["y"] + rng.choice(3, 400, p=[0.6, 0.2, 0.2])) % 3
    fold = fold_of(frame, task=Task("compas", "s", "y", ("x",), {}))
    result = Method().fit_fold(fold)
    assert result.marginal.shape == (3, 3)
    np.testing.assert_allclose(result.marginal.sum(axis=0), 1 / 3, atol=1e-8)
    assert rates_of_marginal(result.marginal, positive=1)[1] > 0.9


# -------------------------------------------------------------------------------------- the result


def test_samples_follow_the_density():
    fold = fold_of(pd.concat([table()] * 40, ignore_index=True))
    result = Method(outside="keep").fit_fold(fold)
    samples = result.samples
    frequency = fold.domain.count(samples.X, samples.y, samples.s, samples.weight) / samples.total
    error = np.sqrt(result.density / samples.total)
    assert (np.abs(frequency - result.density) < 5 * error).all()
    np.testing.assert_allclose(result.density.sum(axis=0), result.marginal, atol=1e-9)
    np.testing.assert_allclose(result.marginal.sum(axis=0), [0.5, 0.5], atol=1e-9)


def test_draws_outside_of_the_data_are_dropped_or_kept():
    frame = table()
    frame.loc[frame["a=2"] == 1, "b"] = 1  # a = 2 with b = 0 is in the product, but not in the data
    fold = fold_of(frame)
    dropped, kept = Method().fit_fold(fold), Method(outside="keep").fit_fold(fold)
    number = {
        name: fold.domain.index(result.samples.X, result.samples.y, result.samples.s)
        for name, result in {"dropped": dropped, "kept": kept}.items()
    }
    assert (number["dropped"] >= 0).all()
    assert (number["kept"] < 0).any()
    assert kept.samples.total == 5 * fold.train.total
    assert dropped.samples.total == kept.samples.weight[number["kept"] >= 0].sum()
    assert dropped.density.sum() < 1
    assert dropped.marginal.sum() == pytest.approx(1)


def test_same_seed_same_bytes():
    fold = fold_of(table())
    first, second = (Method().fit_fold(fold) for _ in range(2))
    assert first.samples.X.tobytes() == second.samples.X.tobytes()
    assert first.samples.weight.tobytes() == second.samples.weight.tobytes()
    assert first.density.tobytes() == second.density.tobytes()


def test_both_kls_and_the_duality_gap_are_reported():
    fold = fold_of(table())
    found = evaluate.score(Method().fit_fold(fold), fold)
    rows = {(row["metric"], row["variant"], row["step"]): row["value"] for row in found}
    assert rows["KL", "published", None] != rows["KL", "exact", None]
    assert rows["KL", "published", None] == pytest.approx(rows["KL", "exact", None], abs=0.3)
    assert 0 <= rows["duality_gap", "exact", 0] < 1e-8


# -------------------------------------------------------------------------- inputs without a solution


def test_a_missing_combination_of_label_and_group_is_named():
    frame = table()
    test = (frame["y"] == 1) & (frame["s"] == 1)
    with pytest.raises(FBDEError, match="no training row has y = 1 and s = 1"):
        Method().fit_fold(fold_of(frame, test))


def test_an_infeasible_target_is_an_error_not_a_loop():
    p, theta, _ = solve(fold_of(table()))
    impossible = theta.copy()
    impossible[3:5] = [-0.2, 1.2]
    with pytest.raises(FBDEError, match=r"in column 1 a level should have the probability (-0\.2|1\.2) "):
        maxent.minimise_dual(p.prior, impossible)


def test_a_level_seen_only_in_the_test_fold_gets_the_floor():
    frame = table()
    fold = fold_of(frame, frame["a=2"] == 1)
    result = Method().fit_fold(fold)
    unseen = fold.domain.X[:, 2] == 1
    assert (result.density[unseen] == FLOOR).all()
    assert (result.density[~unseen] > FLOOR).all()
    assert result.samples.X[:, 2].sum() == 0
    assert all(np.isfinite(r["value"]) for r in evaluate.score(result, fold) if r["metric"] == "KL")


@pytest.mark.parametrize("value", [0, 1])
def test_a_constant_column(value):
    frame = table().assign(b=value)
    result = Method().fit_fold(fold_of(frame))
    assert (result.samples.X[:, 3] == value).all()
    assert result.trace["duality_gap"][0] < 1e-8


def test_a_broken_one_hot_group_is_an_error():
    frame = table()
    frame.loc[4, ["a=0", "a=1", "a=2"]] = 1
    with pytest.raises(DataError, match="exactly one 1"):
        Method().fit_fold(fold_of(frame))


def test_continuous_features_are_not_applicable():
    task = Task("made", "s", "y", ("lat",), {"lat": ("lat",)}, ("lat",))
    assert "lat" in Method().not_applicable(task)
    assert Method().not_applicable(TASK) is None


@pytest.mark.parametrize("wrong", [{"C": 1.5}, {"rho": -0.1}])
def test_parameters_out_of_range(wrong):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        Method(**wrong)


def test_levels_keep_the_values_of_the_rows():
    rows = Rows.from_table(table(), TASK)
    columns, codes = maxent.Columns.fit(TASK, rows)
    again = columns.decode(codes, rows.weight, like=rows)
    np.testing.assert_array_equal(again.X, rows.X)
    np.testing.assert_array_equal(again.y, rows.y)
    np.testing.assert_array_equal(again.s, rows.s)
