"""Pre-processing: as many rows of every label in every group."""

from typing import Literal

import numpy as np

from fbde.errors import FitFailed
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.tasks import Rows
from fbde.thirdparty import quiet, repeated

NEIGHBOURS = 5


class Method(Base):
    """Group-balanced oversampling with imbalanced-learn (Lemaître, Nogueira, Aridas, JMLR 2017): every (y, s)
    is brought to the size of the largest, so that RR = SR = 1.

    ``new: copies`` repeats rows at random. ``new: smote`` interpolates between a row and one of its 5 nearest
    neighbours (Chawla, Bowyer, Hall, Kegelmeyer: SMOTE, JAIR 2002); on discrete features the result is
    rounded, which gives the nearer of the two.
    """

    kind = "sampler"

    def __init__(self, *, new: Literal["copies", "smote"] = "copies"):
        self.new = new

    def fit_fold(self, fold):
        rows = repeated(fold.train, "imbalanced-learn")
        kinds, number = np.unique(np.column_stack([rows.y, rows.s]), axis=0, return_inverse=True)
        number = number.ravel()
        with quiet():
            X, number = self._sampler(np.bincount(number), fold.seed).fit_resample(rows.X, number)
        y, s = kinds[number].T
        if not fold.domain:
            return Distribution(samples=Rows(X, y, s, np.ones(len(X))))
        return Distribution(samples=Rows(np.rint(X), y, s, np.ones(len(X))).merged())

    def _sampler(self, sizes, seed):
        from imblearn.over_sampling import SMOTE, RandomOverSampler

        if self.new == "copies":
            return RandomOverSampler(random_state=seed)
        if sizes.min() < 2:
            raise FitFailed("SMOTE: a group has a single row with some label, which has no neighbour")
        return SMOTE(k_neighbors=min(NEIGHBOURS, sizes.min() - 1), random_state=seed)
