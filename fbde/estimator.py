"""FBDE: the scikit-learn-style face of fair boosted density estimation."""

from numbers import Integral, Real

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from fbde.boosting import Points, boost
from fbde.certificate import certify
from fbde.domain import Domain
from fbde.encoding import TableEncoder, expand_positions, value_names
from fbde.errors import DataError, FBDEError
from fbde.initial import DIRECTIONS, MIXINGS, check_support, initial
from fbde.leverage import SCHEMES, check_budget, leverages
from fbde.metrics import rates_of_marginal
from fbde.persistence import Persistent
from fbde.weak import LOG2, TreeLearner


class FBDE(Persistent, DensityMixin, BaseEstimator):
    """Fair boosted density estimation on a finite domain, computed exactly.

    Starts from a fair distribution over (x, y, s) and boosts it towards the data, in steps small enough that
    statistical and representation rate stay above a budget (Soen, Husain, Nock: Fair Densities via Boosting the
    Sufficient Statistics of Exponential Families, ICML 2023).

    Parameters
    ----------
    tau : float
        Budget: the rate that fairness may fall to.
    sr0, rr0 : float
        Statistical and representation rate asked of the initial distribution.
    leverage : {"sound", "exact", "relative"}
        Step sizes. ``sound`` keeps the rate over ``tau`` for any number of steps. ``exact`` is the paper's, whose
        guarantee is tau²/sr0. ``relative`` goes on moving; its guarantee weakens with the number of steps.
    target : {"SR", "RR"}
        The rate that ``tau`` is a budget for.
    n_steps : int
        Number of boosting steps T.
    direction : {"raise", "lower"}
        Whether the initial distribution raises low positive rates or lowers high ones.
    alpha, mixing, prior
        Share of a prior in the initial distribution; inside of each conditional (x | y, s) or of the joint
        distribution; the prior as an array of the domain's shape (None: uniform).
    C : float
        Bound of the weak learners.
    max_depth, min_split, calibrate, sampled, hidden
        The weak learner, see :class:`fbde.weak.TreeLearner`. ``hidden`` lists the columns it may not see, by name;
        ``"s"`` is the sensitive attribute and ``"y"`` the label.
    positive : object, optional
        The positive label; the largest one if None.
    min_gain, sr_floor, rr_floor : float, optional
        Stop when a step would gain less KL, or before it would take SR or RR below a floor.
    auditor : callable, optional
        Gets each proposed :class:`fbde.boosting.Step` and returns True to stop before it is taken.
    keep_steps : bool
        Keep the distribution after each step, for :meth:`staged_probabilities`.
    random_state : int, RandomState or None

    Attributes
    ----------
    domain_ : the cells; ``initial_`` : Q_0 with its rates; ``trace_`` : data frame, a row per step;
    ``weak_learners_``, ``theta_`` : the exponential family; ``stopped_`` : why it ended early, or "".

    Examples
    --------
    >>> import numpy as np
    >>> from fbde import FBDE
    >>> rng = np.random.default_rng(0)
    >>> s = rng.integers(2, size=2000)
    >>> x = rng.integers(3, size=(2000, 2))
    >>> y = (rng.random(2000) < 0.2 + 0.4 * s).astype(int)
    >>> model = FBDE(tau=0.8, random_state=0).fit(x, y, sensitive_features=s)
    >>> model.certificate().statistical_rate.guaranteed > 0.8
    True
    """

    _parameter_constraints = {
        "tau": [Interval(Real, None, None, closed="neither")],
        "sr0": [Interval(Real, 0, 1, closed="right")],
        "rr0": [Interval(Real, 0, 1, closed="right")],
        "leverage": [StrOptions(set(SCHEMES))],
        "target": [StrOptions({"SR", "RR"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "direction": [StrOptions(set(DIRECTIONS))],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "mixing": [StrOptions(set(MIXINGS))],
        "prior": ["array-like", None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_split": [Interval(Real, 0, 1, closed="both")],
        "calibrate": ["boolean"],
        "sampled": ["boolean"],
        "hidden": [tuple, list],
        "positive": "no_validation",
        "min_gain": [Real, None],
        "sr_floor": [Real, None],
        "rr_floor": [Real, None],
        "auditor": [callable, None],
        "keep_steps": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        tau=0.8,
        sr0=1.0,
        rr0=1.0,
        leverage="sound",
        target="SR",
        n_steps=32,
        direction="raise",
        alpha=0.0,
        mixing="conditional",
        prior=None,
        C=LOG2,
        max_depth=8,
        min_split=0.2,
        calibrate=True,
        sampled=False,
        hidden=(),
        positive=None,
        min_gain=None,
        sr_floor=None,
        rr_floor=None,
        auditor=None,
        keep_steps=False,
        random_state=None,
    ):
        self.tau = tau
        self.sr0 = sr0
        self.rr0 = rr0
        self.leverage = leverage
        self.target = target
        self.n_steps = n_steps
        self.direction = direction
        self.alpha = alpha
        self.mixing = mixing
        self.prior = prior
        self.C = C
        self.max_depth = max_depth
        self.min_split = min_split
        self.calibrate = calibrate
        self.sampled = sampled
        self.hidden = hidden
        self.positive = positive
        self.min_gain = min_gain
        self.sr_floor = sr_floor
        self.rr_floor = rr_floor
        self.auditor = auditor
        self.keep_steps = keep_steps
        self.random_state = random_state

    # ------------------------------------------------------------------------------------ fitting

    def fit(self, X, y, *, sensitive_features, sample_weight=None, support=None, test=None):
        """Fit to feature rows, labels and groups.

        Parameters
        ----------
        X, y, sensitive_features : array-likes or data frames with the same number of rows
        sample_weight : array-like, optional
            How often each row counts.
        support : array-like, optional
            Further feature rows that are possible although they are not in ``X``.
        test : tuple (X, y, s), optional
            Held-out rows, for the test columns of the trace.
        """
        self._validate_params()
        codes, y, s, weight = self._check_rows(X, y, sensitive_features, sample_weight)
        rows = codes if support is None else np.vstack([codes, self.encoder_.encode(support)])
        domain, row = Domain.with_positions(rows, y, s)
        return self._fit_counts(domain, codes, y, s, weight, row[: len(codes)], test)

    def _check_rows(self, X, y, sensitive_features, sample_weight):
        if not isinstance(X, pd.DataFrame):
            X = validate_data(self, X, dtype=None, ensure_min_samples=2)
        self.encoder_ = TableEncoder.of(X)
        codes = self.encoder_.encode(X)
        self.n_features_in_ = codes.shape[1]
        if self.encoder_.frame:
            self.feature_names_in_ = np.array(self.encoder_.names, dtype=object)
        self.label_name_ = str(getattr(y, "name", None) or "y")
        self.sensitive_name_ = str(getattr(sensitive_features, "name", None) or "s")
        y = _one_column(y, self.label_name_)
        s = _groups(sensitive_features, self.sensitive_name_)
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        for name, column in ((self.label_name_, y), (self.sensitive_name_, s), ("sample_weight", weight)):
            if len(column) != len(codes):
                raise DataError(f"{name} has {len(column)} rows, X has {len(codes)}")
        if not np.isfinite(weight).all() or (weight < 0).any():
            bad = int(np.argmax(~np.isfinite(weight) | (weight < 0)))
            raise DataError(f"sample_weight must be finite and not negative; row {bad} has {weight[bad]}")
        if not weight.sum() > 0:
            raise DataError("sample_weight is 0 in every row")
        return codes, y, s, weight

    def _fit_counts(self, domain, codes, y, s, weight, row, test=None):
        """Everything after this pass over the rows works on the cells."""
        thetas = self._start(domain, codes, y, s, weight, row)
        cells = self._cells()
        self._boosted = self._boost(
            thetas,
            Points(*cells, self.data_.ravel()),
            Points(*cells, self.initial_.Q.ravel()),
            rng=np.random.default_rng(check_random_state(self.random_state).randint(2**31)),
            test=None if test is None else self._test_points(cells, test),
            keep_steps=self.keep_steps,
        )
        self._unpack()
        return self

    def _start(self, domain, codes, y, s, weight, row=None):
        """P and Q_init on the cells; gives the leverages."""
        self.domain_ = domain
        counts = domain.count(codes, y, s, weight, row=row)
        self.n_rows_ = float(counts.sum())
        self.data_ = P = counts / self.n_rows_
        self.positive_ = self._positive_position()
        names = self.label_name_, self.sensitive_name_
        check_support(P.sum(axis=0), domain.labels, domain.groups, self.positive_, names)
        self.initial_ = initial(
            P,
            self.positive_,
            sr0=self.sr0,
            rr0=self.rr0,
            direction=self.direction,
            alpha=self.alpha,
            mixing=self.mixing,
            prior=None if self.prior is None else np.asarray(self.prior, dtype=float).reshape(domain.shape),
        )
        start = self.initial_.sr0 if self.target == "SR" else self.initial_.rr0
        check_budget(self.tau, start, self.target)
        return leverages(self.leverage, self.n_steps, self.tau / start, self.C)

    def _boost(self, thetas, real, fake, **options):
        return boost(
            self._learner(),
            thetas,
            real,
            fake,
            self.domain_.shape[1:],
            self.positive_,
            n=self.n_rows_,
            C=self.C,
            min_gain=self.min_gain,
            sr_floor=self.sr_floor,
            rr_floor=self.rr_floor,
            auditor=self.auditor,
            **options,
        )

    def _unpack(self):
        self.theta_ = np.array(self._boosted.theta)
        self.weak_learners_ = self._boosted.learners
        self.trace_ = pd.DataFrame(self._boosted.table()).rename_axis("step")
        self.stopped_ = self._boosted.stopped

    def _positive_position(self):
        labels = self.domain_.labels
        if len(labels) < 2:
            only = labels.tolist()[0]
            raise DataError(f"{self.label_name_} has one value only ({only!r}); a positive and another are needed")
        if self.positive is None:
            return len(labels) - 1
        found = np.flatnonzero(labels == self.positive)
        if not len(found):
            allowed = ", ".join(map(repr, labels.tolist()))
            raise DataError(f"positive = {self.positive!r} is not a value of {self.label_name_}; it has {allowed}")
        return int(found[0])

    def _cells(self):
        """(table, label, group) of the cells: what the weak learners see, and the positions of y and s."""
        _, labels, groups = self.domain_.shape
        row, label, group = (index.ravel() for index in np.indices(self.domain_.shape))
        expanded = self.encoder_.expand(self.domain_.X)[row]
        columns = [expanded, expand_positions(label, labels), expand_positions(group, groups)]
        return np.hstack(columns).astype(np.float32), label, group

    def _hidden_columns(self):
        """Positions of the columns that the weak learners may not see."""
        _, origin = self.encoder_.expanded_names()
        owners = [self.encoder_.names[i] for i in origin]
        owners += ["y"] * len(self._role_names()[0]) + ["s"] * len(self._role_names()[1])
        for name in self.hidden:
            if name not in owners:
                raise FBDEError(f"hidden column {name!r} does not exist; columns: {', '.join(dict.fromkeys(owners))}")
        return tuple(i for i, owner in enumerate(owners) if owner in self.hidden)

    def _learner(self):
        hidden = self._hidden_columns()
        return TreeLearner(self.C, self.max_depth, self.min_split, self.calibrate, self.sampled, hidden)

    def _test_points(self, cells, test):
        X, y, s = test
        counts = self.domain_.count(self.encoder_.encode(X), _one_column(y, "y"), _groups(s, "s"))
        return Points(*cells, counts.ravel() / counts.sum())

    # -------------------------------------------------------------------------------- using it

    def probabilities(self):
        """Q_T as an array (x rows, labels, groups), aligned with ``domain_``."""
        check_is_fitted(self)
        return self._boosted.mass.reshape(self.domain_.shape)

    def staged_probabilities(self):
        """Q_0, Q_1, … Q_T; needs ``keep_steps=True``."""
        check_is_fitted(self)
        if not self._boosted.log_mass_steps:
            raise FBDEError("the steps were not kept; fit with keep_steps=True")
        return np.exp(self._boosted.log_mass_steps).reshape(-1, *self.domain_.shape)

    def score_samples(self, X, y, *, sensitive_features):
        """log Q_T of each row; −inf outside of the domain."""
        cell = self._cell_of(X, y, sensitive_features)
        with np.errstate(divide="ignore"):
            log_q = np.log(np.append(self.probabilities().ravel(), 0.0))
        return log_q[cell]

    def score(self, X, y, *, sensitive_features, sample_weight=None):
        """Mean log-likelihood of the rows."""
        return float(np.average(self.score_samples(X, y, sensitive_features=sensitive_features), weights=sample_weight))

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from Q_T: features (a data frame if one was fitted), labels, groups."""
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        drawn = rng.multinomial(n_samples, self.probabilities().ravel())
        cell = rng.permutation(np.repeat(np.arange(self.domain_.size), drawn))
        row, label, group = np.unravel_index(cell, self.domain_.shape)
        return self.encoder_.decode(self.domain_.X[row]), self.domain_.labels[label], self.domain_.groups[group]

    def fit_resample(self, X, y, *, sensitive_features, sample_weight=None):
        """Fit, and draw as many rows as were given (imbalanced-learn's word for it)."""
        self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return self.sample(len(np.asarray(y)), random_state=self.random_state)

    def weights_for(self, X, y, *, sensitive_features):
        """Density ratio Q_T / P of each row, to be used as ``sample_weight`` when training on the data itself."""
        cell = self._cell_of(X, y, sensitive_features)
        P = np.append(self.data_.ravel(), 0.0)[cell]
        if (P == 0).any():
            raise DataError(
                f"row {int(np.argmax(P == 0))} does not occur in the fitted data, so it has no weight there"
            )
        return self.probabilities().ravel()[cell] / P

    def certificate(self):
        """What is guaranteed of Q_T, and what was measured: a :class:`fbde.certificate.Certificate`."""
        check_is_fitted(self)
        return certify(
            self._boosted,
            self.initial_.Q.sum(axis=0),
            self.probabilities().sum(axis=0),
            positive=self.positive_,
            tau=self.tau,
            leverage=self.leverage,
            target=self.target,
            C=self.C,
            sr0=self.initial_.sr0,
            rr0=self.initial_.rr0,
        )

    def rates(self):
        """(representation rate, statistical rate) of Q_T."""
        return rates_of_marginal(self.probabilities().sum(axis=0), self.positive_)

    @property
    def column_names_(self):
        """Names of the columns the weak learners see."""
        label, group = self._role_names()
        return [*self.encoder_.expanded_names()[0], *label, *group]

    def _role_names(self):
        return (
            value_names(self.label_name_, self.domain_.labels),
            value_names(self.sensitive_name_, self.domain_.groups),
        )

    def _cell_of(self, X, y, s):
        check_is_fitted(self)
        return self.domain_.index(self.encoder_.encode(X), _one_column(y, "y"), _groups(s, "s"))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_boosted")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _one_column(values, name):
    values = column_or_1d(np.asarray(values), warn=False)
    missing = pd.isna(values)
    if missing.any():
        raise DataError(f"{name} has NaN, first in row {int(np.argmax(missing))}; remove or fill it")
    return values.astype(str) if values.dtype == object else values


def _groups(values, name):
    """One group per row; several sensitive columns are combined to their intersections."""
    table = values if isinstance(values, pd.DataFrame) else np.asarray(values)
    if table.ndim == 1 or table.shape[1] == 1:
        return _one_column(np.asarray(table).reshape(-1), name)
    frame = pd.DataFrame(table)
    for column in frame:
        _one_column(frame[column], f"{name} {column}")
    return np.array(
        [" & ".join(f"{c}={v}" for c, v in zip(frame.columns, row, strict=True)) for row in frame.to_numpy()]
    )
