"""Pre-processing: a representation by prototypes that both groups reach alike."""

from dataclasses import replace
from typing import ClassVar

from fbde.logistic import decide, first_reaching
from fbde.methods import Method as Base
from fbde.thirdparty import aif360_dataset, aif360_groups, global_seed_kept, quiet, repeated

FAIRNESS_WEIGHTS = (0.5, 1.0, 5.0, 10.0, 50.0)


class Method(Base):
    """Learning Fair Representations. Zemel, Wu, Swersky, Pitassi, Dwork, ICML 2013; aif360's implementation.

    A row is a mixture of ``prototypes``, and so is its probability of the positive label. The weight of the
    fairness term is the smallest of .5, 1, 5, 10, 50 for which SR_c on the training fold reaches ``tau``.
    aif360 differentiates numerically, one pass over the rows per parameter: it gets a random part of
    at most ``rows`` training rows and ``evaluations`` of its objective.
    """

    kind = "classifier"
    smoke: ClassVar[dict] = {"rows": 200, "evaluations": 500}

    def __init__(self, *, prototypes: int = 5, tau: float = 0.9, rows: int = 1000, evaluations: int = 5000):
        self.prototypes = prototypes
        self.tau = tau
        self.rows = rows
        self.evaluations = evaluations

    def fit_fold(self, fold):
        train = repeated(fold.train, "aif360's LFR")
        part = fold.rng.permutation(len(train.X))[: self.rows]
        rows = replace(train, **{name: getattr(train, name)[part] for name in vars(train)})
        with quiet(), global_seed_kept():
            fairer = (self._fit(rows, weight, fold.seed) for weight in FAIRNESS_WEIGHTS)
            best = first_reaching(self.tau, fairer, rows, lambda model: scores(model, rows))
            return decide(scores(best, fold.test))

    def _fit(self, rows, weight, seed):
        from aif360.algorithms.preprocessing import LFR

        model = LFR(**aif360_groups(rows), k=self.prototypes, Az=weight, seed=seed)
        return model.fit(without_group(rows), maxiter=self.evaluations, maxfun=self.evaluations)


def without_group(rows):
    """aif360 counts the group among the features: take it out again."""
    dataset = aif360_dataset(rows)
    dataset.features = rows.X
    return dataset


def scores(model, rows):
    """The mixture's probability of the positive label. transform() goes by group, but treats groups alike."""
    return model.transform(without_group(rows)).scores.ravel()
