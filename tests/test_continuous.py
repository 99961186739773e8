"""FBDE with continuous features: what it guarantees, what it measures, and what it refuses."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from fbde import evaluate, methods
from fbde.continuous import ContinuousFBDE
from fbde.errors import DataError, FBDEError
from fbde.gaussians import Gaussians
from fbde.metrics import kl_divergence
from fbde.neural import Network, NetworkLearner, Workspace, initial_weights
from fbde.sampling import SamplingWarning
from fbde.tasks import Task, make_folds, split
from fbde.weak import BinnedSplits, Splits, TreeLearner, grow

LOG2 = np.log(2)
QUICK = {"n_steps": 3, "epochs": 2, "draws": 4000, "random_state": 0}


def make_data(rows=800, d=2, seed=0):
    """Positions that depend on label and group; both rates of the data are far below 1."""
    rng = np.random.default_rng(seed)
    s = (rng.random(rows) < 0.3).astype(int)
    y = (rng.random(rows) < 0.3 + 0.3 * s).astype(int)
    x = rng.normal(size=(rows, d)) + 0.8 * y[:, None] - 0.5 * s[:, None]
    x[:, 0] = np.where(rng.random(rows) < 0.3, 0.4 * x[:, 0] + 2, x[:, 0])
    return x, y, s


def fitted(data=None, **options):
    x, y, s = data or make_data()
    return ContinuousFBDE(**QUICK | options).fit(x, y, sensitive_features=s)


@pytest.fixture(scope="module")
def model():
    x, y, s = make_data()
    test = make_data(200, seed=1)
    options = QUICK | {"draws": 20_000, "leverage": "exact"}
    return ContinuousFBDE(**options, keep_steps=True).fit(x, y, sensitive_features=s, test=test)


# ---------------------------------------------------------------------------- what it promises


@pytest.mark.parametrize("leverage", ["exact", "sound", "relative"])
@pytest.mark.parametrize("learner", ["network", "tree"])
def test_what_is_guaranteed_is_at_most_what_is_measured(leverage, learner):
    certificate = fitted(leverage=leverage, learner=learner).certificate()
    assert certificate.holds
    assert certificate.statistical_rate.start == pytest.approx(1)
    assert 0 < certificate.sr_error < 0.05 and "standard errors" in str(certificate)


class Corner:
    """The worst that a weak learner bounded by C can do: a constant in each (y, s)."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def bind(self, real, fake):
        def fit(p, q, n, rng):
            return self, self(real), self(fake)

        return fit

    def __call__(self, points):
        return self.values[points[:, -2].astype(int), points[:, -1].astype(int)]


@settings(max_examples=25)
@given(values=st.lists(st.floats(-3, 3), min_size=4, max_size=4), leverage=st.sampled_from(["exact", "sound"]))
def test_guarantees_hold_for_any_weak_learner(values, leverage):
    x, y, s = make_data(100)
    worst = Corner(np.reshape(values, (2, 2)) * LOG2)
    fit = ContinuousFBDE(learner=worst, leverage=leverage, n_steps=8, draws=400, random_state=0)
    certificate = fit.fit(x, y, sensitive_features=s).certificate()
    assert certificate.holds
    if leverage == "sound":
        assert certificate.statistical_rate.measured >= 0.8


def test_the_printed_bound_of_rr_is_broken_by_the_exact_leverage():
    """Theorem 3.2 says RR over √0.8 = .894. No sampler is involved here: Q_T(y, s) is known in closed form."""
    by_group = Corner([[-LOG2, LOG2], [-LOG2, LOG2]])
    certificate = fitted(learner=by_group, leverage="exact", n_steps=16).certificate()
    assert certificate.representation_rate.measured == pytest.approx(0.8, abs=1e-4)
    assert certificate.representation_rate.printed > 0.89 and not certificate.representation_rate.printed_valid


# ---------------------------------------------------------------------------- what it measures


def test_the_marginal_agrees_with_quadrature(model):
    exact, estimate = model.quadrature(), model.marginal_
    assert (np.abs(estimate.value - exact.value) < 4 * estimate.error + 1e-5).all()
    assert abs(estimate.log_Z - exact.log_Z) < 4 * estimate.log_Z_error + 1e-5
    assert model.rates() == pytest.approx((model.trace_["RR"].iloc[-1], model.trace_["SR"].iloc[-1]))


def test_the_density_integrates_to_one(model):
    grid = np.linspace(-7, 7, 120)
    x = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    area = (grid[1] - grid[0]) ** 2
    total = 0.0
    for y in (0, 1):
        for s in (0, 1):
            part = np.exp(model.score_samples(x, np.full(len(x), y), sensitive_features=np.full(len(x), s)))
            assert part.sum() * area == pytest.approx(model.marginal_.value[y, s], abs=5e-3)
            total += part.sum() * area
    assert total == pytest.approx(1, abs=5e-3)


def test_samples_have_the_rates_that_were_measured(model):
    X, y, s = model.sample(40_000, random_state=0)
    assert X.shape == (40_000, 2)
    for label in (0, 1):
        for group in (0, 1):
            share = np.mean((y == label) & (s == group))
            assert share == pytest.approx(model.marginal_.value[label, group], abs=0.01)


@pytest.mark.parametrize("options", [{}, {"sampler": "mala", "chains": 50}, {"sampler": "ula", "burn_in": 20}])
def test_every_sampler_can_be_asked_for(model, options):
    poor = pytest.warns(SamplingWarning) if options.get("sampler") == "ula" else nullcontext()
    with poor:
        draws = model.draw(400, random_state=0, **options)
    assert model.rows_of(draws.cell, draws.x)[0].shape == (400, 2)
    assert draws.diagnostics["sampler"] == options.get("sampler", "rejection")
    if not options:
        assert draws.diagnostics["acceptance"] > draws.diagnostics["guaranteed"] == pytest.approx(0.8 ** (1 - 2**-3))
    assert clone(model).set_params(sampler="mala").sampler == "mala"


def test_the_trace_tells_cross_entropies(model):
    x, y, s = make_data(200, seed=1)
    trace = model.trace_
    assert trace["cross_entropy_test"].iloc[-1] == pytest.approx(-model.score(x, y, sensitive_features=s), abs=1e-5)
    assert (np.diff(trace["cross_entropy_train"]) < 0).all()
    assert model.certificate().progress.measured == pytest.approx(trace["kl_drop"].sum())


def test_steps_are_kept_as_weighted_draws(model):
    (X, y, s), masses = model.staged_draws()
    assert masses.shape == (4, len(X)) and masses.sum(axis=1) == pytest.approx(1)
    assert masses[-1][(y == 1) & (s == 0)].sum() == pytest.approx(model.marginal_.value[1, 0])


def test_units_do_not_matter():
    x, y, s = make_data()
    one, other = fitted(), fitted((1000 * x + 5e6, y, s))
    score = one.score(x, y, sensitive_features=s)
    assert other.score(1000 * x + 5e6, y, sensitive_features=s) == pytest.approx(score - 2 * np.log(1000), abs=1e-3)


def test_weights_count_as_repeated_rows():
    x, y, s = make_data(300)
    twice = np.repeat(np.arange(300), 2)
    options = QUICK | {"learner": "tree"}
    weighted = ContinuousFBDE(**options).fit(x, y, sensitive_features=s, sample_weight=np.full(300, 2.0))
    repeated = ContinuousFBDE(**options).fit(x[twice], y[twice], sensitive_features=s[twice])
    assert weighted.gaussians_.factor == pytest.approx(repeated.gaussians_.factor)
    assert weighted.rates() == pytest.approx(repeated.rates(), abs=0.02)


# --------------------------------------------------------------------------- hard and bad data


def test_ten_dimensions():
    x, y, s = make_data(600, d=10)
    model = fitted((x, y, s))
    assert model.certificate().holds
    assert np.isfinite(model.score_samples(x, y, sensitive_features=s)).all()
    assert model.sample(100, random_state=0)[0].shape == (100, 10)


def test_a_group_with_fewer_rows_than_dimensions_and_a_singular_covariance():
    x, y, s = make_data(600, d=10)
    few = np.flatnonzero((y == 1) & (s == 1))[3:]
    x, y, s = (np.delete(a, few, axis=0) for a in (x, y, s))
    assert np.sum((y == 1) & (s == 1)) == 3
    x[:, 9] = x[:, 0] - x[:, 1]  # singular in every group
    model = fitted((x, y, s), sr0=0.9)
    assert np.isfinite(model.score_samples(x, y, sensitive_features=s)).all()
    drawn = model.sample(500, random_state=0)[0]
    assert np.abs(drawn[:, 9] - drawn[:, 0] + drawn[:, 1]).max() < 0.1


def test_covariances_follow_the_stated_rule():
    rng = np.random.default_rng(0)
    x, cell = rng.normal(size=(200, 3)), np.repeat([0, 1, 2], [180, 15, 5])
    found = Gaussians.fit(x, cell, np.arange(4), np.ones(200))
    covariance = found.factor @ found.factor.transpose(0, 2, 1)
    everything = np.cov(x.T, ddof=0)
    assert covariance[0] == pytest.approx(np.cov(x[:180].T, ddof=0))
    assert covariance[2] == pytest.approx((5 * np.cov(x[195:].T, ddof=0) + 5 * everything) / 10)
    assert covariance[3] == pytest.approx(everything) and found.mean[3] == pytest.approx(x.mean(axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coordinates_that_are_not_numbers(bad):
    x, y, s = make_data(50)
    x[7, 1] = bad
    with pytest.raises(DataError, match=r"column 'b' has NaN or infinity, first in row 7"):
        fitted((pd.DataFrame(x, columns=["a", "b"]), y, s))
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):  # scikit-learn's words for an array
        fitted((x, y, s))
    model = fitted(make_data(60))
    with pytest.raises(DataError, match=r"column 'x1' has NaN or infinity, first in row 7"):
        model.score(x, y, sensitive_features=s)


def test_mistakes_are_named():
    x, y, s = make_data(60)
    frame = pd.DataFrame({"a": x[:, 0], "t": np.where(y, "p", "q"), "one": 1.0})
    for columns, sentence in (
        (["b"], "continuous column 'b' does not exist; columns: a, t, one"),
        (["t"], "column 't' holds texts"),
        (["a", "one"], "column 'one' has one value only"),
        ([], "no column is continuous"),
    ):
        with pytest.raises(FBDEError, match=sentence):
            ContinuousFBDE(continuous=columns, **QUICK).fit(frame, y, sensitive_features=s)
    with pytest.raises(FBDEError, match="no column is continuous"):
        fitted((np.round(x), y, s))
    with pytest.raises(FBDEError, match="hidden column 'z' does not exist"):
        fitted((x, y, s), hidden=["z"])
    with pytest.raises(FBDEError, match="no density to divide by"):
        fitted((x, y, s)).weights_for(x, y, sensitive_features=s)


# ------------------------------------------------------------------------------- mixed columns


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(5)
    x, y, s = make_data(1500)
    town = rng.choice(["north", "south", "west"], 1500, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(
        {"height": x[:, 0] + 3.0 * (town == "north"), "town": town, "age": rng.integers(0, 2, 1500), "width": x[:, 1]}
    )
    return frame, pd.Series(y, name="hired"), pd.Series(np.where(s, "f", "m"), name="sex")


@pytest.mark.parametrize("learner", ["network", "tree"])
def test_continuous_and_discrete_columns_together(mixed, learner):
    frame, y, s = mixed
    model = ContinuousFBDE(**QUICK | {"learner": learner}).fit(frame, y, sensitive_features=s)
    assert [model.encoder_.names[i] for i in model.continuous_] == ["height", "width"]
    X, label, group = model.sample(20_000, random_state=0)
    assert list(X.columns) == list(frame.columns) and set(group) == {"f", "m"} and set(label) == {0, 1}
    assert (X.dtypes["age"], X["town"].nunique()) == (frame.dtypes["age"], 3)
    north = X["town"] == "north"
    assert north.mean() == pytest.approx(0.6, abs=0.05)
    assert X["height"][north].mean() - X["height"][~north].mean() == pytest.approx(3, abs=0.3)
    assert model.certificate().holds
    assert model.marginal_.value == pytest.approx(model.quadrature(nodes=60).value, abs=0.01)
    unseen = frame.assign(town="east").iloc[:2]
    assert (model.score_samples(unseen, y[:2], sensitive_features=s[:2]) == -np.inf).all()


def test_a_hidden_column_is_not_seen(mixed):
    frame, y, s = mixed
    model = ContinuousFBDE(**QUICK, hidden=["town", "s"]).fit(frame, y, sensitive_features=s)
    names = model.column_names_
    points = np.zeros((5, len(names)), dtype=np.float32)
    points[range(4), [names.index(name) for name in ("town=north", "town=south", "town=west", "sex=m")]] = 1
    for c in model.weak_learners_:
        assert np.ptp(c(points)) == 0


# ------------------------------------------------------------------------------ keeping, seeds


@pytest.mark.parametrize("learner", ["network", "tree"])
def test_a_saved_model_is_the_same(mixed, learner, tmp_path):
    frame, y, s = mixed
    model = ContinuousFBDE(**QUICK | {"learner": learner}).fit(frame, y, sensitive_features=s)
    model.save(tmp_path / "model.npz")
    again = ContinuousFBDE.load(tmp_path / "model.npz")
    rows = frame[:50], y[:50]
    assert (
        again.score_samples(*rows, sensitive_features=s[:50]) == model.score_samples(*rows, sensitive_features=s[:50])
    ).all()
    assert again.certificate() == model.certificate()
    pd.testing.assert_frame_equal(again.trace_, model.trace_)
    pd.testing.assert_frame_equal(again.sample(30, random_state=1)[0], model.sample(30, random_state=1)[0])


def test_a_learner_of_ones_own_cannot_be_saved(tmp_path):
    model = fitted(make_data(100), learner=Corner(np.zeros((2, 2))))
    with pytest.raises(FBDEError, match="of your own cannot be saved"):
        model.save(tmp_path / "model.npz")


def test_seeds_are_honoured():
    one, same, other = fitted(), fitted(), fitted(random_state=1)
    pd.testing.assert_frame_equal(one.trace_, same.trace_)
    assert (one.sample(50, random_state=3)[0] == same.sample(50, random_state=3)[0]).all()
    assert not np.array_equal(one.sample(50, random_state=3)[0], one.sample(50, random_state=4)[0])
    assert not one.trace_.equals(other.trace_)


# ------------------------------------------------------------------------------- weak learners


@pytest.mark.parametrize("layers", [1, 2])
def test_a_networks_gradient(layers):
    rng = np.random.default_rng(0)
    weights = [W.astype(np.float32) for W in initial_weights([3, *[5] * layers, 1], rng)[1]]
    c, points = Network(weights, 0.3), rng.normal(size=(40, 3))
    step = 1e-3 * np.eye(3)
    measured = np.stack([(c(points + h) - c(points - h)) / 2e-3 for h in step], axis=1)
    inside = np.abs(c(points)) < 0.299
    assert inside.sum() > 5
    close = np.abs(measured - c.gradient(points)) < 5e-3
    assert close[inside].mean() > 0.9  # a kink may lie in between
    assert (c.gradient(points)[np.abs(c(points)) >= 0.3] == 0).all()


@pytest.mark.parametrize("layers", [1, 2])
def test_the_gradient_of_the_loss(layers):
    rng = np.random.default_rng(0)
    weights, views = initial_weights([3, *[4] * layers, 1], rng)
    rows, signs = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)]), rng.choice([-1.0, 1.0], 30)
    work = Workspace(views, 30, 0.4)

    def loss():
        h = rows
        for W in views[:-1]:
            h = np.column_stack([np.maximum(h @ W, 0), np.ones(30)])
        return np.mean(np.logaddexp(0, -signs * np.clip(h @ views[-1], -0.4, 0.4)[:, 0]))

    found, measured = work.gradient(rows, signs).copy(), np.empty_like(weights)
    for i in range(len(weights)):
        weights[i] += 1e-6
        above = loss()
        weights[i] -= 2e-6
        measured[i] = (above - loss()) / 2e-6
        weights[i] += 1e-6
    assert found == pytest.approx(measured, abs=1e-6)


def test_training_is_what_torch_does():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    table, sign = rng.normal(size=(150, 4)), np.repeat([1.0, -1.0], 75)
    c = NetworkLearner(epochs=3).train(table, sign, np.random.default_rng(5))

    rng = np.random.default_rng(5)
    weights = [torch.tensor(W, requires_grad=True) for W in initial_weights([4, 20, 1], rng)[1]]
    optimiser = torch.optim.Adadelta(weights, lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 1, gamma=0.7)
    for _ in range(3):
        order = rng.permutation(150)
        for start in range(0, 150, 64):
            part = order[start : start + 64]
            hidden = torch.relu(torch.tensor(table[part]) @ weights[0][:-1] + weights[0][-1])
            output = torch.clamp(hidden @ weights[1][:-1] + weights[1][-1], -LOG2, LOG2)[:, 0]
            optimiser.zero_grad()
            torch.nn.functional.softplus(-torch.tensor(sign[part]) * output).mean().backward()
            optimiser.step()
        schedule.step()
    for ours, theirs in zip(c.weights, weights, strict=True):
        assert ours == pytest.approx(theirs.detach().numpy(), abs=1e-6)


def test_binned_splits_grow_the_same_tree_where_values_are_few():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (60, 3)).astype(np.float32)
    real, fake = rng.random((2, 60))
    trees = [grow(splits, real, fake, TreeLearner())[0] for splits in (Splits(table), BinnedSplits(table, (), 8))]
    for name, array in trees[0].arrays().items():
        assert array == pytest.approx(trees[1].arrays()[name])


def test_binned_splits_and_the_tree_agree_where_values_are_many():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3000, 2)).astype(np.float32)
    splits = BinnedSplits(table, (1,), 16)
    assert len(splits.feature) == 15 and set(splits.feature) == {0}
    real = np.where(table[:, 0] > 0.3, 1.0, 0.2)
    tree, leaf = grow(splits, real, np.full(3000, 0.6), TreeLearner())
    assert (tree.leaf_of(table) == leaf).all()
    assert tree.threshold[0] == pytest.approx(0.3, abs=0.15)


# ---------------------------------------------------------------------------------- the method


def test_the_method_runs_on_a_continuous_task():
    x, y, s = make_data(300)
    table = pd.DataFrame({"lat": x[:, 0], "long": x[:, 1], "search": y, "race": s})
    task = Task("minneapolis", "race", "search", ("lat", "long"), {}, ("lat", "long"))
    (fold,) = make_folds(table, split(300, 3, 1), task, method="M", base_seed=0, numbers=[0])
    method = methods.load("fbde")(leverage="exact", n_steps=2, epochs=1, draws=2000)
    result = method.fit_fold(fold)
    assert len(result.samples.X) == 5 * 200 and result.log_likelihood < 0
    rows = pd.DataFrame(evaluate.score(result, fold))
    final = rows[rows["step"].isna()].set_index(["metric", "variant"])["value"]
    assert {("RR", "published"), ("SR", "exact"), ("log_likelihood", "exact")} <= set(final.index)
    assert final["KL", "published"] < final["KL", "corrected"]  # (y, s) alone, and with the positions
    assert final["RR", "published"] == pytest.approx(final["RR", "exact"], abs=0.15)
    steps = rows.dropna(subset="step").groupby("metric").size()
    assert (steps[["RR", "SR", "KL", "KL_ys", "SR_c", "cross_entropy_test"]] == 3).all()


def test_the_printed_kl_of_minneapolis_is_that_of_label_and_group():
    """From nothing but the printed rates and the share of rows with y = 1 in the larger group."""

    def table(RR, SR, rate=0.587):
        share, rates = np.array([RR, 1]) / (1 + RR), np.array([SR * rate, rate])
        return np.array([share * (1 - rates), share * rates])

    P = table(0.183, 0.684)
    for RR, SR, printed in ((0.846, 0.995, 0.218), (0.756, 0.991, 0.186), (0.860, 0.902, 0.219)):
        assert kl_divergence(P, table(RR, SR)) == pytest.approx(printed, abs=0.001)
