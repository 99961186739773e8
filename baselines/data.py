"""Control: the training fold itself."""

from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.metrics import floored


class Method(Base):
    """The data as they are (column "Data" of the paper): what fairness would be without doing anything."""

    kind = "sampler"

    def fit_fold(self, fold):
        density = floored(fold.train_distribution) if fold.domain else None
        return Distribution(samples=fold.train, density=density)
