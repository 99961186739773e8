"""FBDE for continuous features, or continuous and discrete ones together."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from fbde.boosting import Points, Replay, boost
from fbde.certificate import EstimatedCertificate
from fbde.domain import Domain
from fbde.errors import DataError, FBDEError
from fbde.estimator import FBDE, _groups, _one_column
from fbde.gaussians import Gaussians
from fbde.marginals import Marginal, importance, quadrature
from fbde.neural import Network, NetworkLearner
from fbde.sampling import SAMPLERS, Target
from fbde.sampling import sampler as find_sampler
from fbde.weak import LOG2, TreeLearner, WeakTree

MANY = 20  # a floating-point column with more values than this is taken to be continuous
POOL = 4  # draws of Q_0 to train on, per data row


class ContinuousFBDE(FBDE):
    """Fair boosted density estimation with continuous features.

    The initial distribution is a table over the discrete columns, y and s, fair as in :class:`fbde.FBDE`, and a normal
    distribution of the continuous columns in each of its cells (:mod:`fbde.gaussians` says how it is estimated from few
    rows). What is exact on a finite domain is here an average over independent draws from Q_0 with weights between
    e^(−CΣθ) and e^(CΣθ), so that its error is small and stated. Samples of Q_T are exact.

    Parameters
    ----------
    tau, sr0, rr0, leverage, target, n_steps, direction, C, hidden, positive, min_gain, sr_floor, rr_floor, auditor,
    keep_steps, random_state : see :class:`fbde.FBDE`
    alpha : float
        Share of the uniform distribution over the discrete columns' rows.
    continuous : list of column names, optional
        By default the floating-point columns with more than 20 values. Columns of an array are called x0, x1, …
    learner : {"network", "tree"} or an object with ``bind``
        The weak learner: a small network as published, or the calibrated tree.
    layers, units, epochs, batch_size
        The network, see :class:`fbde.neural.NetworkLearner`.
    max_depth, min_split, calibrate, max_bins
        The tree, see :class:`fbde.weak.TreeLearner`.
    draws : int
        Draws from Q_0 for everything that is reported; training uses four per data row, if that is more.
    sampler : {"rejection", "ula", "mala"}
        How :meth:`sample` draws, see :mod:`fbde.sampling`.

    Attributes
    ----------
    domain_ : cells of the discrete columns (continuous ones are 0 there); ``gaussians_`` : Q_0(x | cell) in standard
    units; ``marginal_`` : Q_T(y, s), log Z and their errors; and those of :class:`fbde.FBDE`. In ``trace_`` the cross
    entropies stand for KL, which differs from them by the unknown entropy of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from fbde import ContinuousFBDE
    >>> rng = np.random.default_rng(0)
    >>> s = rng.integers(2, size=500)
    >>> y = (rng.random(500) < 0.2 + 0.4 * s).astype(int)
    >>> x = rng.normal(size=(500, 2)) + y[:, None]
    >>> model = ContinuousFBDE(learner="tree", random_state=0).fit(x, y, sensitive_features=s)
    >>> model.certificate().statistical_rate.guaranteed > 0.8
    True
    """

    _parameter_constraints = FBDE._parameter_constraints | {
        "continuous": [list, tuple, None],
        "learner": [StrOptions({"network", "tree"}), HasMethods("bind")],
        "layers": [Interval(Integral, 1, None, closed="left")],
        "units": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 65536, closed="both")],
        "draws": [Interval(Integral, 100, None, closed="left")],
        "sampler": [StrOptions(set(SAMPLERS))],
    }

    def __init__(
        self,
        *,
        tau=0.8,
        sr0=1.0,
        rr0=1.0,
        leverage="sound",
        target="SR",
        n_steps=16,
        direction="raise",
        alpha=0.0,
        C=LOG2,
        continuous=None,
        learner="network",
        layers=1,
        units=20,
        epochs=32,
        batch_size=64,
        max_depth=8,
        min_split=0.2,
        calibrate=True,
        max_bins=64,
        hidden=(),
        positive=None,
        min_gain=None,
        sr_floor=None,
        rr_floor=None,
        auditor=None,
        draws=100_000,
        sampler="rejection",
        keep_steps=False,
        random_state=None,
    ):
        # A prior over unbounded features would not be a distribution: mixing stays inside of the discrete part.
        super().__init__(
            tau=tau, sr0=sr0, rr0=rr0, leverage=leverage, target=target, n_steps=n_steps, direction=direction,
            alpha=alpha, mixing="conditional", C=C, max_depth=max_depth, min_split=min_split, calibrate=calibrate,
            hidden=hidden, positive=positive, min_gain=min_gain, sr_floor=sr_floor, rr_floor=rr_floor, auditor=auditor,
            keep_steps=keep_steps, random_state=random_state,
        )  # fmt: skip
        self.continuous = continuous
        self.learner = learner
        self.layers = layers
        self.units = units
        self.epochs = epochs
        self.batch_size = batch_size
        self.max_bins = max_bins
        self.draws = draws
        self.sampler = sampler

    # ------------------------------------------------------------------------------------ fitting

    def fit(self, X, y, *, sensitive_features, sample_weight=None, support=None, test=None):
        """Fit to feature rows, labels and groups.

        ``support`` holds further rows whose discrete columns are possible; ``test`` = (X, y, s) gives the trace its
        test columns.
        """
        self._validate_params()
        codes, y, s, weight = self._check_rows(X, y, sensitive_features, sample_weight)
        self._choose_continuous(codes, weight)
        x, codes = self._separate(codes)
        rows = codes if support is None else np.vstack([codes, self._separate(self.encoder_.encode(support))[1]])
        thetas = self._start(Domain.of(rows, y, s), codes, y, s, weight)
        cell = self.domain_.index(codes, y, s)
        self.gaussians_ = Gaussians.fit(x, cell, self._stratum(), weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        with threadpool_limits(1):  # the matrices are small: threads cost more than they give
            real = self._points(cell, x, weight / weight.sum())
            fake, *_ = self._draw_initial(max(self.draws, POOL * len(x)), rng)
            trained = self._boost(thetas, real, fake, rng=rng)
            self._measure(trained, (cell, x), real, test, rng)
        return self

    def _choose_continuous(self, codes, weight):
        """Which columns are continuous, and their standard units."""
        names, kinds = self.encoder_.names, self.encoder_.kinds
        if self.continuous is None:
            floating = [isinstance(kind, str) and kind.startswith("float") for kind in kinds]
            chosen = [i for i, yes in enumerate(floating) if yes and len(np.unique(codes[:, i])) > MANY]
        else:
            chosen = [i for i, name in enumerate(names) if name in self.continuous]
            if len(chosen) < len(self.continuous):
                wrong = next(name for name in self.continuous if name not in names)
                raise FBDEError(f"continuous column {wrong!r} does not exist; columns: {', '.join(names)}")
        if not chosen:
            raise FBDEError("no column is continuous; name some in `continuous`, or use FBDE for a finite domain")
        for i in chosen:
            if not isinstance(kinds[i], str):
                raise DataError(f"column {names[i]!r} holds texts, so it cannot be continuous")
            kinds[i] = "float64"
        x = codes[:, chosen]
        self.continuous_ = np.array(chosen)
        self.shift_ = np.average(x, axis=0, weights=weight)
        self.scale_ = np.sqrt(np.average((x - self.shift_) ** 2, axis=0, weights=weight))
        flat = ~(self.scale_ > 1e-12 * np.abs(self.shift_))
        if flat.any():
            raise DataError(f"column {names[chosen[int(np.argmax(flat))]]!r} has one value only, so it has no density")

    def _separate(self, codes):
        """Continuous coordinates in standard units, and the rows with zeros in their place."""
        codes = codes.copy()
        x = (codes[:, self.continuous_] - self.shift_) / self.scale_
        codes[:, self.continuous_] = 0
        return x, codes

    def _locate(self, X, y, s):
        """Cell (−1 if outside of the domain) and coordinates of each row."""
        x, codes = self._separate(self.encoder_.encode(X))
        return self.domain_.index(codes, _one_column(y, "y"), _groups(s, "s")), x

    def _stratum(self):
        """The (y, s) number of each cell."""
        _, label, group = np.indices(self.domain_.shape).reshape(3, -1)
        return label * self.domain_.shape[2] + group

    def _points(self, cell, x, mass):
        _, label, group = np.unravel_index(cell, self.domain_.shape)
        return Points(self._initial_target().table(cell, x), label, group, mass)

    def _draw_initial(self, number, rng):
        """Draws from Q_0, equally many in each (y, s), with masses that add up to Q_0(y, s); their cells and x."""
        Q, stratum = self.initial_.Q.ravel(), self._stratum()
        each = -(-number // (stratum.max() + 1))
        cells, masses = [], []
        for k in range(stratum.max() + 1):
            part = np.where(stratum == k, Q, 0)
            if part.sum() > 0:
                cells.append(np.repeat(np.arange(len(Q)), rng.multinomial(each, part / part.sum())))
                masses.append(np.full(each, part.sum() / each))
        cell = np.concatenate(cells)
        x = self.gaussians_.draw(cell, rng)
        return self._points(cell, x, np.concatenate(masses)), cell, x

    def _learner(self):
        if not isinstance(self.learner, str):
            return self.learner
        hidden = self._hidden_columns()
        if self.learner == "network":
            return NetworkLearner(self.C, self.layers, self.units, self.epochs, self.batch_size, hidden=hidden)
        tree = {"max_depth": self.max_depth, "min_split": self.min_split, "calibrate": self.calibrate}
        return TreeLearner(self.C, **tree, hidden=hidden, max_bins=self.max_bins)

    def _measure(self, trained, located, real, test, rng):
        """The same steps again on draws that no weak learner was fitted to: what is reported comes from these."""
        fake, cell, x = self._draw_initial(self.draws, rng)
        train_entropy, test_entropy, held_out = -real.mass @ self._log_initial(*located), np.nan, None
        if test is not None:
            place = self._locate(*test)
            if (place[0] < 0).any():
                raise DataError(f"test row {int(np.argmax(place[0] < 0))} is outside of the domain; see `support`")
            held_out = self._points(*place, np.full(len(place[0]), 1 / len(place[0])))
            test_entropy = -held_out.mass @ self._log_initial(*place)
        boosted = boost(
            Replay(trained.learners),
            trained.theta,
            real,
            fake,
            self.domain_.shape[1:],
            self.positive_,
            n=self.n_rows_,
            C=self.C,
            rng=rng,
            test=held_out,
            keep_steps=True,
            cross_entropy=(float(train_entropy), float(test_entropy)),
        )
        steps = np.array(boosted.log_mass_steps)
        log_Z = sum(np.log(row["Z"]) for row in boosted.trace[1:])
        prior = self.initial_.Q.sum(axis=0)
        self.marginal_ = importance(steps[-1] - steps[0] + log_Z, self._stratum()[cell], prior)
        self._draws = (cell, x, steps) if self.keep_steps else None
        by_cell = [np.bincount(cell, np.exp(log_mass), self.domain_.size) for log_mass in steps]
        boosted.mass, boosted.stopped = by_cell[-1], trained.stopped
        with np.errstate(divide="ignore"):
            boosted.log_mass_steps = list(np.log(by_cell)) if self.keep_steps else []
        self._boosted = boosted
        self._unpack()

    def _unpack(self):
        super()._unpack()
        names = {"kl_train": "cross_entropy_train", "kl_test": "cross_entropy_test"}
        self.trace_ = self.trace_.rename(columns=names)

    # -------------------------------------------------------------------------------- using it

    def distribution(self, step=None):
        """Q_T as the samplers see it, or Q_t after ``step`` steps; without ``keep_steps=True`` for rejection only."""
        check_is_fitted(self)
        final = self._boosted.mass
        if step is not None:
            final = np.exp(self._boosted.log_mass_steps[step]) if self._boosted.log_mass_steps else None
        terms = list(zip(self.theta_, self.weak_learners_, strict=True))[:step]
        return self._initial_target(terms, final)

    def _initial_target(self, terms=(), final=None):
        """Q_0, tilted by ``terms``."""
        _, origin = self.encoder_.expanded_names()
        columns = np.array([origin.index(i) for i in self.continuous_])
        Q = self.initial_.Q.ravel()
        return Target(Q / Q.sum(), self.gaussians_, self._cells()[0], columns, terms, self.C, final)

    def _log_initial(self, cell, x):
        """log Q_0 in the units of the data."""
        with np.errstate(divide="ignore"):
            table = np.log(self.initial_.Q.ravel())
        return table[cell] + self.gaussians_.log_density(x, cell) - np.log(self.scale_).sum()

    def score_samples(self, X, y, *, sensitive_features):
        """log Q_T of each row: a density in the continuous columns; −inf for discrete values that never occurred."""
        check_is_fitted(self)
        cell, x = self._locate(X, y, sensitive_features)
        inside = cell >= 0
        values = np.full(len(cell), -np.inf)
        place = cell[inside], x[inside]
        with threadpool_limits(1):
            values[inside] = self._log_initial(*place) + self.distribution().tilt(*place) - self.marginal_.log_Z
        return values

    def draw(self, n_samples, *, sampler=None, random_state=None, **options):
        """Draw from Q_T: :class:`fbde.sampling.Draws` in standard units, with the sampler's diagnostics.

        ``options`` go to the sampler: step, burn_in and chains of ``ula`` and ``mala``.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        with threadpool_limits(1):
            return find_sampler(sampler or self.sampler)(self.distribution(), n_samples, rng, **options)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from Q_T: features (a data frame if one was fitted), labels, groups."""
        draws = self.draw(n_samples, random_state=random_state)
        return self.rows_of(draws.cell, draws.x)

    def rows_of(self, cell, x):
        """Features, labels and groups of points drawn by :meth:`draw`."""
        row, label, group = np.unravel_index(cell, self.domain_.shape)
        codes = self.domain_.X[row]
        codes[:, self.continuous_] = x * self.scale_ + self.shift_
        return self.encoder_.decode(codes), self.domain_.labels[label], self.domain_.groups[group]

    def staged_draws(self):
        """((X, y, s), masses): draws from Q_0, and their masses in each of Q_0 … Q_T; needs ``keep_steps=True``."""
        if self.staged_probabilities() is None or self._draws is None:
            raise FBDEError("the draws are not kept in a saved model")
        cell, x, steps = self._draws
        return self.rows_of(cell, x), np.exp(steps)

    def weights_for(self, X, y, *, sensitive_features):
        raise FBDEError("continuous data have no density to divide by; draw from the model instead (sample)")

    def quadrature(self, nodes=None):
        """Q_T(y, s) and log Z by quadrature, to check ``marginal_``; for up to three continuous columns."""
        check_is_fitted(self)
        with threadpool_limits(1):
            return quadrature(self.distribution(), self._stratum(), self.domain_.shape[1:], nodes)

    def certificate(self):
        """As for a finite domain; what is measured has the standard errors ``sr_error`` and ``rr_error``."""
        rr, sr = self.marginal_.rate_errors(self.positive_)
        return EstimatedCertificate(**vars(super().certificate()), sr_error=sr, rr_error=rr, draws=self.draws)

    # ----------------------------------------------------------------------- keeping it, without pickle

    @property
    def _weak_kind(self):
        return Network if self.learner == "network" else WeakTree

    def save(self, path):
        """Write the fitted model to one npz file: arrays and a JSON header, no pickle."""
        if not isinstance(self.learner, str):
            raise FBDEError("a model with a weak learner of your own cannot be saved")
        super().save(path)

    def _more_arrays(self):
        own = ("continuous_", "shift_", "scale_")
        return {name: getattr(self, name) for name in own} | {
            "gaussian/mean": self.gaussians_.mean,
            "gaussian/factor": self.gaussians_.factor,
            "marginal/value": self.marginal_.value,
            "marginal/spread": self.marginal_.spread,
            "marginal/log_Z": np.array(self.marginal_.log_Z),
        }

    def _take_arrays(self, arrays):
        for name in ("continuous_", "shift_", "scale_"):
            setattr(self, name, arrays[name])
        self.gaussians_ = Gaussians(arrays["gaussian/mean"], arrays["gaussian/factor"])
        self.marginal_ = Marginal(arrays["marginal/value"], arrays["marginal/spread"], float(arrays["marginal/log_Z"]))
        self._draws = None
