"""Pre-processing: features from which the group has been regressed out."""

from dataclasses import replace

import numpy as np

from fbde.logistic import Counted, indicators, newton, predict
from fbde.methods import Method as Base
from fbde.thirdparty import quiet, repeated


class Method(Base):
    """CorrelationRemover of fairlearn (Bird et al.: Fairlearn: A toolkit for assessing and improving fairness
    in AI, 2020), then unpenalised logistic regression.

    Each feature is replaced by what linear regression on the group leaves of it; ``alpha`` mixes that with
    the feature itself. The group is needed at prediction time.
    """

    kind = "classifier"

    def __init__(self, *, alpha: float = 1.0):
        self.alpha = alpha

    def fit_fold(self, fold):
        groups = np.unique(fold.train.s)
        removed = len(groups) - 1
        with quiet():
            from fairlearn.preprocessing import CorrelationRemover

            remover = CorrelationRemover(sensitive_feature_ids=range(removed), alpha=self.alpha)
            remover.fit(_table(repeated(fold.train, "CorrelationRemover"), groups))
            rows = fold.train.merged()
            beta = newton(Counted.of(replace(rows, X=remover.transform(_table(rows, groups)))))
            return predict(beta, remover.transform(_table(fold.test, groups)))


def _table(rows, groups):
    return np.column_stack([indicators(rows.s, groups), rows.X])
