"""The estimator: scikit-learn's manners, one clear error for bad input, models kept without pickle."""

import doctest
import zipfile
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import fbde.estimator
from fbde import FBDE, datasets
from fbde.errors import FBDEError
from fbde.metrics import representation_rate, statistical_rate
from fbde.tasks import Task, make_folds, split


def people(n=3000, seed=0):
    """Categories, whole numbers, three groups, text labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"city": rng.choice(["a", "b", "c"], n), "age": rng.integers(0, 4, n)})
    s = pd.Series(rng.choice(["f", "m", "x"], n, p=[0.6, 0.3, 0.1]), name="gender")
    chance = 0.2 + 0.3 * (s == "m") + 0.1 * (X["city"] == "a")
    return X, pd.Series(np.where(rng.random(n) < chance, "hired", "no"), name="job"), s


def fitted(**options):
    X, y, s = people()
    return FBDE(positive="hired", random_state=0, **options).fit(X, y, sensitive_features=s), X, y, s


def test_debiases_and_says_what_is_guaranteed():
    model, _, y, s = fitted(tau=0.8)
    assert statistical_rate(y == "hired", s) < 0.7
    RR, SR = model.rates()
    certificate = model.certificate()
    assert certificate.statistical_rate.guaranteed == pytest.approx(0.8, abs=1e-6)
    assert SR > 0.95
    assert RR > 0.9 > representation_rate(s)
    assert "guaranteed" in str(certificate)
    assert certificate.to_dict()["statistical_rate"]["measured"] == SR
    trace = model.trace_
    assert len(trace) == 33
    assert trace["kl_train"].is_monotonic_decreasing


def test_samples_look_like_the_distribution_and_seeds_are_honoured():
    model, X, *_ = fitted()
    Xs, ys, ss = model.sample(200_000, random_state=1)
    assert list(Xs.columns) == list(X.columns)
    assert Xs["age"].dtype == X["age"].dtype
    counts = model.domain_.count(model.encoder_.encode(Xs), ys, ss) / len(ys)
    assert np.abs(counts - model.probabilities()).max() < 0.005
    again = model.sample(200_000, random_state=1)
    assert Xs.equals(again[0])
    assert not Xs.equals(model.sample(200_000, random_state=2)[0])


def test_density_ratio_weights_make_the_data_fair():
    model, X, y, s = fitted()
    weight = model.weights_for(X, y, sensitive_features=s)
    assert weight.mean() == pytest.approx(1, abs=1e-6)
    assert statistical_rate(y == "hired", s, weight) == pytest.approx(model.rates()[1], abs=1e-6)
    assert representation_rate(s, weight) == pytest.approx(model.rates()[0], abs=1e-6)


def test_without_mixing_boosting_never_moves_the_features_within_label_and_group():
    """P/Q_0 is then a function of (y, s) alone, so that is all a weak learner can tell real from fake by."""
    moved = {}
    for alpha in (0, 0.5):
        model, *_ = fitted(alpha=alpha, leverage="relative")
        P, Q = model.data_, model.probabilities()
        moved[alpha] = np.abs(P / P.sum(axis=0) - Q / Q.sum(axis=0)).sum(axis=0).max() / 2
        assert np.abs(P.sum(axis=0) - Q.sum(axis=0)).max() > 0.01
    assert moved[0] < 1e-7  # the floor of empty cells
    assert moved[0.5] > 0.01


@pytest.mark.parametrize("dataset", ["compas", "adult", "german"])
def test_nor_does_it_move_the_features_within_label_and_group_on_the_papers_data(dataset, prepared):
    table = prepared(dataset)
    fold_of_row = split(len(table), 5, 1)
    for sensitive in datasets.get(dataset).sensitive:
        task = Task.of(dataset, sensitive)
        for fold in make_folds(table, fold_of_row, task, method="m", base_seed=0, numbers=range(5)):
            for leverage, sr0 in product(("exact", "relative"), (1.0, 0.9)):
                model = FBDE(leverage=leverage, sr0=sr0, random_state=0)
                model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s, support=fold.domain.X)
                P, Q = model.data_, model.probabilities()
                moved = np.abs(P / P.sum(axis=0) - Q / Q.sum(axis=0)).sum(axis=0).max() / 2
                assert moved < 1e-7, (sensitive, fold.number, leverage, sr0)


def test_log_likelihood():
    model, X, y, s = fitted()
    scores = model.score_samples(X, y, sensitive_features=s)
    assert scores.mean() == pytest.approx(model.score(X, y, sensitive_features=s))
    entropy = -np.sum(model.data_[model.data_ > 0] * np.log(model.data_[model.data_ > 0]))
    assert -scores.mean() - entropy == pytest.approx(model.trace_["kl_train"].iloc[-1])
    outside = pd.DataFrame({"city": ["z"], "age": [0]})
    assert model.score_samples(outside, ["no"], sensitive_features=["f"])[0] == -np.inf


def test_sample_weight_is_repetition():
    X, y, s = people(400)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    one = FBDE(positive="hired", random_state=0).fit(X, y, sensitive_features=s, sample_weight=weight)
    index = np.repeat(np.arange(len(y)), weight)
    two = FBDE(positive="hired", random_state=0).fit(X.iloc[index], y.iloc[index], sensitive_features=s.iloc[index])
    assert np.allclose(one.probabilities(), two.probabilities())


def test_a_saved_model_is_the_same_model_and_holds_no_pickle(tmp_path):
    model, X, y, s = fitted(keep_steps=True, leverage="relative")
    model.save(tmp_path / "model.npz")
    again = FBDE.load(tmp_path / "model.npz")
    assert np.array_equal(again.probabilities(), model.probabilities())
    assert again.certificate() == model.certificate()
    assert again.sample(5, random_state=3)[0].equals(model.sample(5, random_state=3)[0])
    assert np.array_equal(again.staged_probabilities(), model.staged_probabilities())
    assert again.weak_learners_[0].to_dict() == model.weak_learners_[0].to_dict()
    assert again.trace_.equals(model.trace_)
    assert again.score(X, y, sensitive_features=s) == model.score(X, y, sensitive_features=s)
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        assert all(b"pickle" not in archive.read(name)[:200] for name in archive.namelist())


def test_weak_learners_can_be_kept_from_seeing_columns():
    model, *_ = fitted(hidden=("s", "city"))
    names = np.array(model.column_names_)
    used = {names[i] for tree in model.weak_learners_ for i in tree.feature if i >= 0}
    assert used
    assert not [name for name in used if name.startswith(("gender", "city"))]
    with pytest.raises(FBDEError, match="hidden column 'town' does not exist; columns: city, age, y, s"):
        fitted(hidden=("town",))


def test_intersections_of_several_sensitive_columns_are_groups():
    X, y, s = people()
    both = pd.DataFrame({"gender": s, "young": X["age"] < 2})
    model = FBDE(positive="hired", random_state=0).fit(X[["city"]], y, sensitive_features=both)
    assert len(model.domain_.groups) == 6
    assert "gender=m & young=True" in model.domain_.groups
    assert model.rates()[1] > 0.8


def test_support_adds_rows_that_are_possible_but_were_not_seen():
    X, y, s = people()
    more = pd.DataFrame({"city": ["a"], "age": [9]})
    model = FBDE(positive="hired", alpha=0.5, random_state=0).fit(X, y, sensitive_features=s, support=more)
    assert model.score_samples(more, ["no"], sensitive_features=["f"])[0] > -10


BAD = {
    "a group with no weight": ("group 'x' has no rows", lambda X, y, s: (X, y, s, (s != "x").astype(float))),
    "no positives in a group": (
        "gender: group 'x' has no row with job = 'hired'",
        lambda X, y, s: (X, y.mask(s == "x", "no"), s, None),
    ),
    "one group": ("gender has one group only", lambda X, y, s: (X, y, s.mask(s != "f", "f"), None)),
    "one label": ("job has one value only", lambda X, y, s: (X, y.mask(y != "no", "no"), s, None)),
    "NaN in a feature": ("column 'age' has NaN or infinity, first in row 5", lambda X, y, s: (_hole(X), y, s, None)),
    "NaN in the label": ("job has NaN, first in row 3", lambda X, y, s: (X, y.mask(y.index == 3), s, None)),
    "NaN in the group": ("gender has NaN, first in row 3", lambda X, y, s: (X, y, s.mask(s.index == 3), None)),
    "negative weights": (
        "sample_weight must be finite and not negative; row 0",
        lambda X, y, s: (X, y, s, -np.ones(len(y))),
    ),
    "other length": ("job has 10 rows, X has 3000", lambda X, y, s: (X, y[:10], s, None)),
}  # fmt: skip


def _hole(X):
    X = X.astype({"age": float})
    X.loc[5, "age"] = np.nan
    return X


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_refused_in_one_sentence(case):
    words, spoil = BAD[case]
    X, y, s, weight = spoil(*people())
    positive = None if case == "one label" else "hired"
    with pytest.raises(FBDEError, match=words) as error:
        FBDE(positive=positive).fit(X, y, sensitive_features=s, sample_weight=weight)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tau": 1.0}, "tau = 1 must be under the initial rate sr0 = 1"),
        ({"tau": 0.95, "sr0": 0.9}, "must be under"),
        ({"tau": 0.0}, "tau must be over 0"),
        ({"positive": "perhaps"}, "'perhaps' is not a value of job; it has 'hired', 'no'"),
    ],
)
def test_settings_that_cannot_hold_are_refused(options, words):
    X, y, s = people()
    with pytest.raises(FBDEError, match=words):
        FBDE(**{"positive": "hired", **options}).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("options", [{"n_steps": 0}, {"leverage": "bold"}, {"alpha": 1.5}, {"sr0": 0}, {"C": -1}])
def test_parameters_out_of_range_are_named(options):
    X, y, s = people()
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(options))}' parameter of FBDE must be"):
        FBDE(**options).fit(X, y, sensitive_features=s)


def test_scikit_learns_manners():
    model = FBDE(tau=0.7, leverage="relative")
    assert repr(model) == "FBDE(leverage='relative', tau=0.7)"
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.probabilities()
    with pytest.raises(FBDEError, match="keep_steps=True"):
        fitted()[0].staged_probabilities()


class FBDEOnOneTable(FBDE):
    """For scikit-learn's checks, which know X and y only: label and group are digits of the features."""

    @staticmethod
    def _digits(X):
        X = np.asarray(X, dtype=float)
        return np.floor(1001 * X.sum(axis=1)) % 2, np.floor(10001 * X[:, 0]) % 2

    def fit(self, X, y, sample_weight=None):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X = validate_data(self, X, dtype=float, ensure_min_samples=2)
        label, group = self._digits(X)
        return super().fit(X, label, sensitive_features=group, sample_weight=sample_weight)

    def score_samples(self, X):
        X = validate_data(self, X, dtype=float, reset=False)
        label, group = self._digits(X)
        return super().score_samples(X, label, sensitive_features=group)

    def score(self, X, y=None):
        return float(np.mean(self.score_samples(X)))


INAPPLICABLE = {
    "check_all_zero_sample_weights_error": "refused in our own words",
    "check_sample_weights_not_overwritten": "its rows of whole numbers do not give two groups",
    "check_sample_weights_shape": "its rows of whole numbers do not give two groups",
}


@parametrize_with_checks([FBDEOnOneTable(n_steps=2)], expected_failed_checks=lambda estimator: INAPPLICABLE)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_examples_in_the_docstring():
    assert doctest.testmod(fbde.estimator).failed == 0
