"""Post-processing: a threshold for each group on the scores of one classifier."""

from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from fbde.logistic import Counted, newton, with_intercept
from fbde.methods import Method as Base
from fbde.methods import Predictions
from fbde.thirdparty import quiet, repeated

Parity = Literal["demographic_parity", "true_positive_rate_parity", "equalized_odds"]


class Method(Base):
    """ThresholdOptimizer of fairlearn, after Hardt, Price, Srebro: Equality of Opportunity in Supervised
    Learning, NeurIPS 2016, on unpenalised logistic regression.

    The group is needed at prediction time. Decisions are drawn at random between two thresholds; the
    probability is that of a positive decision, not a score.
    """

    kind = "classifier"

    def __init__(
        self,
        *,
        constraints: Literal[
            "demographic_parity", "true_positive_rate_parity", "equalized_odds"
        ] = "demographic_parity",
    ):
        self.constraints = constraints

    def fit_fold(self, fold):
        rows = repeated(fold.train, "ThresholdOptimizer")
        beta = newton(Counted.of(fold.train))
        train, test = (expit(with_intercept(X) @ beta)[:, None] for X in (rows.X, fold.test.X))
        with quiet():
            from fairlearn.postprocessing import ThresholdOptimizer

            model = ThresholdOptimizer(
                estimator=GivenScores(),
                constraints=self.constraints,
                prefit=True,
                predict_method="predict_proba",
            )
            model.fit(train, (rows.y == 1).astype(int), sensitive_features=rows.s)
            decision = model.predict(test, sensitive_features=fold.test.s, random_state=fold.seed)
            probability = model._pmf_predict(test, sensitive_features=fold.test.s)[:, 1]
        # The two thresholds' shares sum to one only up to rounding.
        return Predictions(np.asarray(decision).astype(int), np.round(probability, 12))


class GivenScores(BaseEstimator):
    """A fitted classifier whose single input is its score."""

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        score = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1 - score, score])
