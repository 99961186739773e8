"""Control: the training fold with the sensitive attribute permuted."""

from dataclasses import replace

from fbde.methods import Distribution
from fbde.methods import Method as Base


class Method(Base):
    """Group membership made independent of everything else: SR is 1 up to chance, RR is that of the data."""

    kind = "sampler"

    def fit_fold(self, fold):
        return Distribution(samples=replace(fold.train, s=fold.rng.permutation(fold.train.s)))
