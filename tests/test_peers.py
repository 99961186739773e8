"""What users would pick instead: the adapters do what they say, and honour weights, seeds and groups."""

import logging
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, softmax

from baselines.nearest import nearest_table
from fbde import methods
from fbde.errors import FBDEError
from fbde.logistic import Counted, FitFailed, newton, with_intercept
from fbde.methods import Predictions
from fbde.metrics import classifier_rate, representation_rate, statistical_rate
from fbde.tasks import Rows
from fbde.thirdparty import global_seed_kept, quiet, repeated

LFR = {"rows": 60, "evaluations": 300, "prototypes": 3}
CLASSIFIERS = {
    "fairconstraints": {},
    "fairconstraints-c": {"share": None},
    "reductions": {"grid_size": 6},
    "reductions-eg": {"search": "gradient", "difference_bound": 0.01},
    "fairglm": {},
    "fairglm-published": {"penalty": 0, "solver": "gradient"},
    "correlationremover": {},
    "thresholdoptimizer": {},
    "lfr": LFR,
}
SAMPLERS = {"reweighing": {}, "resampling": {}, "resampling-smote": {"new": "smote"}, "nearest": {"sr": 1.0, "rr": 1.0}}
NEEDS_GROUP = {"correlationremover", "thresholdoptimizer"}


def method(name):
    cls, given = methods.load(name.split("-")[0]), {**CLASSIFIERS, **SAMPLERS}[name]
    methods.check_parameters(cls, given, name)
    return cls(**given)


def part(rows, chosen):
    return Rows(*(getattr(rows, name)[chosen] for name in ("X", "y", "s", "weight")))


# ------------------------------------------------------------------------------- every one of them


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_decides_reproducibly_and_sees_the_group_only_if_it_must(name, fold):
    found, again = method(name).fit_fold(fold), method(name).fit_fold(fold)
    assert isinstance(found, Predictions)
    assert set(np.unique(found.decision)) <= {0, 1}
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    assert (found.decision == again.decision).all()
    assert (found.probability == again.probability).all()
    exchanged = method(name).fit_fold(replace(fold, test=replace(fold.test, s=1 - fold.test.s)))
    assert (exchanged.probability == found.probability).all() == (name not in NEEDS_GROUP)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "lfr"])
def test_a_classifier_counts_a_weighted_row_as_several(name, fold):
    counted = replace(fold, train=fold.train.merged())
    assert len(counted.train.X) < len(fold.train.X)
    expected = method(name).fit_fold(fold).probability
    assert method(name).fit_fold(counted).probability == pytest.approx(expected, abs=1e-4)
    ignored = replace(counted, train=replace(counted.train, weight=np.ones(len(counted.train.X))))
    assert np.abs(method(name).fit_fold(ignored).probability - expected).max() > 1e-2


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_gives_the_statistical_rate_one_and_counts_weights(name, fold):
    train, rows = fold.train, method(name).fit_fold(fold).samples
    assert statistical_rate(train.y, train.s) < 0.9
    assert statistical_rate(rows.y, rows.s, rows.weight) == pytest.approx(1)
    # New rows are rows that were seen with the same label in the same group.
    seen = {tuple(row) for row in np.column_stack([train.X, train.y, train.s])}
    assert {tuple(row) for row in np.column_stack([rows.X, rows.y, rows.s])} <= seen
    again = method(name).fit_fold(fold).samples
    assert (np.column_stack([rows.X, rows.weight]) == np.column_stack([again.X, again.weight])).all()
    weighted = method(name).fit_fold(replace(fold, train=train.merged())).samples
    assert weighted.total == pytest.approx(rows.total)
    assert statistical_rate(weighted.y, weighted.s, weighted.weight) == pytest.approx(1)


def test_heavy_libraries_are_imported_only_where_they_are_used():
    names = sorted({name.split("-")[0] for name in (*CLASSIFIERS, *SAMPLERS)})
    check = f"""
import sys
from fbde import methods
for name in {names}:
    methods.load(name)
print([name for name in ("cvxpy", "fairlearn", "aif360", "imblearn", "torch") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert done.stderr == ""


# ------------------------------------------------------------------------------------ one by one


def test_reweighing_weights_are_those_of_independence(fold):
    train, rows = fold.train, method("reweighing").fit_fold(fold).samples
    assert rows.total == pytest.approx(train.total)
    assert representation_rate(rows.s, rows.weight) == pytest.approx(representation_rate(train.s))
    for y, s in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share = rows.weight[(rows.y == y) & (rows.s == s)].sum() / rows.total
        assert share == pytest.approx(np.mean(train.y == y) * np.mean(train.s == s))


def test_reweighing_refuses_what_it_cannot_balance(fold):
    only = part(fold.train, (fold.train.y == 0) | (fold.train.s == 0))
    with pytest.raises(FitFailed, match="only one label"):
        method("reweighing").fit_fold(replace(fold, train=only))
    three = replace(fold.train, s=np.arange(len(fold.train.s)) % 3)
    with pytest.raises(FBDEError, match="the training rows have 3"):
        method("reweighing").fit_fold(replace(fold, train=three))


TABLES = st.lists(st.floats(0.02, 1), min_size=4, max_size=4).map(lambda cells: np.reshape(cells, (2, 2)) / sum(cells))


@given(P=TABLES, sr=st.floats(0.3, 1), rr=st.floats(0.3, 1))
@settings(max_examples=40)
def test_nearest_is_nearer_than_what_a_general_solver_finds(P, sr, rr):
    Q = nearest_table(P, sr, rr)
    share, rate = Q.sum(axis=0), Q[1] / Q.sum(axis=0)
    assert Q.sum() == pytest.approx(1)
    assert share.min() >= (rr - 1e-6) * share.max() and rate.min() >= (sr - 1e-6) * rate.max()

    def kl(z):
        return float(np.sum(P * np.log(P / softmax(z).reshape(2, 2))))

    def slack(z):
        share = softmax(z).reshape(2, 2).sum(axis=0)
        rate = softmax(z).reshape(2, 2)[1] / share
        return np.concatenate([share - rr * share[::-1], rate - sr * rate[::-1]])

    constraints = {"type": "ineq", "fun": slack}
    found = minimize(kl, np.zeros(4), method="SLSQP", constraints=constraints, options={"maxiter": 500, "ftol": 1e-13})
    assert slack(found.x).min() > -1e-7
    assert kl(np.log(Q).ravel()) <= found.fun + 1e-6


def test_no_boosting_goes_below_the_nearest_distribution_with_its_rates(fold):
    from fbde import FBDE

    for leverage in ("exact", "relative", "sound"):
        model = FBDE(leverage=leverage, sr0=0.9, random_state=0)
        model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s, support=fold.domain.X)
        P, Q = model.data_.sum(axis=0), model.probabilities().sum(axis=0)
        RR, SR = model.rates()
        bound = nearest_table(P, SR, RR)
        assert 0 < np.sum(P * np.log(P / bound)) < np.sum(P * np.log(P / Q))


def test_nearest_refuses_what_it_cannot_do(fold):
    only = part(fold.train, (fold.train.y == 0) | (fold.train.s == 0))
    with pytest.raises(FitFailed, match="only one label"):
        method("nearest").fit_fold(replace(fold, train=only))
    with pytest.raises(FBDEError, match=r"rr must lie between 0 and 1, not 1\.2"):
        methods.load("nearest")(rr=1.2)


@pytest.mark.parametrize("name", ["resampling", "resampling-smote"])
def test_resampling_makes_all_four_kinds_of_rows_equally_frequent(name, fold):
    rows = method(name).fit_fold(fold).samples
    largest = np.unique(2 * fold.train.y + fold.train.s, return_counts=True)[1].max()
    counts = np.bincount(2 * rows.y + rows.s, rows.weight)
    assert (counts == largest).all()
    assert representation_rate(rows.s, rows.weight) == 1


def test_smote_interpolates_real_features_and_copies_do_not(fold):
    rng = np.random.default_rng(0)
    train = replace(fold.train, X=rng.normal(size=(len(fold.train.y), 2)))
    real = replace(fold, train=train, domain=None)
    old = {tuple(row) for row in train.X}
    new = [tuple(row) in old for row in method("resampling-smote").fit_fold(real).samples.X]
    assert sum(new) == len(train.X) < len(new)
    assert all(tuple(row) in old for row in method("resampling").fit_fold(real).samples.X)


def test_smote_refuses_a_row_without_neighbours(fold):
    kind = (fold.train.y == 1) & (fold.train.s == 0)
    alone = ~kind | (np.cumsum(kind) == 1)
    with pytest.raises(FitFailed, match="no neighbour"):
        method("resampling-smote").fit_fold(replace(fold, train=part(fold.train, alone)))


def test_correlation_remover_is_regression_on_the_group_by_hand(fold):
    train, test = fold.train, fold.test
    centred = train.s - train.s.mean()
    slope = centred @ train.X / (centred @ centred)
    left = train.X - np.outer(centred, slope)
    assert np.abs(centred @ left).max() < 1e-9
    beta = newton(Counted.of(replace(train, X=left)))
    expected = expit(with_intercept(test.X - np.outer(test.s - train.s.mean(), slope)) @ beta)
    assert method("correlationremover").fit_fold(fold).probability == pytest.approx(expected, abs=1e-7)


def test_threshold_optimizer_gives_the_groups_equal_rates_where_it_was_fitted(fold):
    found = method("thresholdoptimizer").fit_fold(replace(fold, test=fold.train))
    plain = methods.load("fairglm")(penalty=0).fit_fold(replace(fold, test=fold.train))
    assert classifier_rate(plain.decision, fold.train.s) < 0.9
    assert classifier_rate(found.probability, fold.train.s) == pytest.approx(1, abs=0.02)
    certain = (found.probability == 0) | (found.probability == 1)
    assert (found.decision[certain] == found.probability[certain]).all()
    assert not certain.all()


def test_lfr_follows_its_rule_and_leaves_numpys_generator_alone(fold):
    cls = methods.load("lfr")
    np.random.seed(fold.seed + 1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    little, much = (classifier_rate(cls(**LFR, tau=tau).fit_fold(fold).probability, fold.test.s) for tau in (0.0, 2.0))
    assert little < much
    assert much > 0.95
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


# ---------------------------------------------------------------------------------- the libraries


def test_quiet_silences_notices_but_not_numbers(caplog):
    with quiet():
        warnings.warn("will change", FutureWarning, stacklevel=1)
        logging.warning("an extra is missing")
        with pytest.raises(RuntimeWarning):
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    assert caplog.records == []
    logging.warning("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]


def test_global_seed_is_put_back_after_an_error():
    np.random.seed(4)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with pytest.raises(ValueError, match="inside"), global_seed_kept():
        np.random.seed(3)  # noqa: NPY002
        raise ValueError("inside")
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_repeated_rows():
    rows = Rows(np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([1, 0]), np.array([3.0, 1.0]))
    found = repeated(rows, "it")
    assert found.X.ravel().tolist() == [1, 1, 1, 2]
    assert found.y.tolist() == [0, 0, 0, 1]
    assert found.s.tolist() == [1, 1, 1, 0]
    assert found.weight.tolist() == [1, 1, 1, 1]
    with pytest.raises(FBDEError, match="it takes no sample weights"):
        repeated(replace(rows, weight=np.array([0.5, 1])), "it")
