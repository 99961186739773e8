"""Pre-processing: weights that make label and group independent."""

from dataclasses import replace

import numpy as np

from fbde.errors import FitFailed
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.thirdparty import aif360_dataset, aif360_groups, quiet


class Method(Base):
    """Reweighing. Kamiran, Calders: Data preprocessing techniques for classification without discrimination,
    Knowledge and Information Systems 33, 2012; aif360's implementation.

    A row counts P(y) P(s) / P(y, s) times: SR becomes 1, and RR stays what it is.
    """

    kind = "sampler"

    def fit_fold(self, fold):
        rows = fold.train.merged()
        with quiet(), np.errstate(all="ignore"):
            from aif360.algorithms.preprocessing import Reweighing

            weight = Reweighing(**aif360_groups(rows)).fit_transform(aif360_dataset(rows)).instance_weights
        if not np.isfinite(weight).all() or not np.isclose(weight.sum(), rows.total):
            raise FitFailed("Reweighing: a group has only one label, so that no weights make them independent")
        return Distribution(samples=replace(rows, weight=weight))
