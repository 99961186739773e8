"""In-processing: a fair classifier by a sequence of reweighted and relabelled fits."""

from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from fbde.domain import unique_rows
from fbde.errors import FitFailed
from fbde.logistic import Counted, decide, newton, with_intercept
from fbde.methods import Method as Base
from fbde.methods import Predictions
from fbde.thirdparty import quiet, repeated


class Method(Base):
    """Reductions. Agarwal, Beygelzimer, Dudík, Langford, Wallach: A Reductions Approach to Fair
    Classification, ICML 2018; fairlearn's implementation, with unpenalised logistic regression and demographic parity.

    ``search: grid`` with constraint weight 0 is the published setting: of ``grid_size`` multipliers it takes
    the one with the least training error. ``search: gradient`` is the paper's own algorithm
    (ExponentiatedGradient), a randomised vote: the probability is that of a positive decision.
    """

    kind = "classifier"
    smoke: ClassVar[dict] = {"grid_size": 6}

    def __init__(
        self,
        *,
        search: Literal["grid", "gradient"] = "grid",
        difference_bound: float = 0.0,
        grid_size: int = 36,
        constraint_weight: float = 0.0,
    ):
        self.search = search
        self.difference_bound = difference_bound
        self.grid_size = grid_size
        self.constraint_weight = constraint_weight

    def fit_fold(self, fold):
        rows = repeated(fold.train, "fairlearn")
        X, place = unique_rows(np.concatenate([rows.X, fold.test.X]))
        train, test = np.split(place[:, None], [len(rows.X)])
        learner = LogisticByPlace(with_intercept(X))
        labels = (rows.y == 1).astype(int)
        with quiet():
            if self.search == "grid":
                return self._grid(learner, train, labels, rows.s, test)
            return self._gradient(learner, train, labels, rows.s, test, fold.seed)

    def _grid(self, learner, train, labels, groups, test):
        from fairlearn.reductions import DemographicParity, GridSearch

        constraints = DemographicParity(difference_bound=self.difference_bound)
        search = GridSearch(learner, constraints, grid_size=self.grid_size, constraint_weight=self.constraint_weight)
        search.fit(train, labels, sensitive_features=groups)
        # fairlearn puts in a constant classifier, with one class only, where all labels became equal.
        positive = search.predictors_[search.best_idx_].classes_ == 1
        return decide(search.predict_proba(test)[:, positive].sum(axis=1))

    def _gradient(self, learner, train, labels, groups, test, seed):
        from fairlearn.reductions import DemographicParity, ExponentiatedGradient

        constraints = DemographicParity(difference_bound=self.difference_bound)
        search = ExponentiatedGradient(learner, constraints).fit(train, labels, sensitive_features=groups)
        if search.best_gap_ > search.nu:
            gap = f"{search.best_gap_:.4f}, not below {search.nu:.4f}"
            raise FitFailed(f"Reductions: the duality gap is {gap} after {search.max_iter} steps")
        votes = np.column_stack([predictor.predict(test) for predictor in search.predictors_])
        probability = votes @ search.weights_.sort_index().to_numpy()
        # The weights sum to one only up to rounding.
        return Predictions(search.predict(test, random_state=seed), np.round(probability, 12))


class LogisticByPlace:
    """Logistic regression for fairlearn, which sees of each row only the number of its design row.

    Counting takes the place of sorting tens of thousands of rows for each of the fits.
    """

    classes_ = np.array([0, 1])

    def __init__(self, design):
        self.design = design

    def __deepcopy__(self, memo):
        return LogisticByPlace(self.design)

    def fit(self, X, y, sample_weight):
        place, weight = np.asarray(X)[:, 0], np.asarray(sample_weight, dtype=float)
        data = Counted.at(place, self.design, np.asarray(y) == 1, weight)
        self.probability = expit(self.design @ newton(data))
        return self

    def predict_proba(self, X):
        probability = self.probability[np.asarray(X)[:, 0]]
        return np.column_stack([1 - probability, probability])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)
