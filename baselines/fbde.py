"""FBDE itself, as one method among the others."""

from typing import Literal

import numpy as np

from fbde.estimator import FBDE
from fbde.methods import Distribution
from fbde.methods import Method as Base

TRACED = (
    "theta Z accuracy accuracy_test gamma_P gamma_Q variance kl_train kl_drop kl_drop_bound kl_drop_printed".split()
)


class Method(Base):
    """Soen, Husain, Nock: Fair Densities via Boosting the Sufficient Statistics of Exponential Families. ICML 2023."""

    kind = "sampler"
    smoke = {"n_steps": 4}

    def __init__(
        self,
        *,
        leverage: Literal["exact", "sound", "relative"] = "sound",
        sr0: float = 1.0,
        tau: float = 0.8,
        n_steps: int = 32,
        alpha: float = 0.0,
        sampled: bool = False,
    ):
        self.options = {
            "leverage": leverage,
            "sr0": sr0,
            "tau": tau,
            "n_steps": n_steps,
            "alpha": alpha,
            "sampled": sampled,
        }

    def not_applicable(self, task):
        if task.continuous:
            return "continuous features need a weak learner and a sampler that are not in this version"
        return None

    def fit_fold(self, fold):
        model = FBDE(**self.options, keep_steps=True, random_state=fold.seed)
        train, test = fold.train, fold.test
        model.fit(
            train.X,
            train.y,
            sensitive_features=train.s,
            support=fold.domain.X,
            test=(test.X, test.y, test.s),
        )
        certificate = model.certificate()
        trace = {name: model.trace_[name].to_numpy() for name in TRACED}
        trace["SR_guaranteed"] = np.array([certificate.statistical_rate.guaranteed])
        trace["RR_guaranteed"] = np.array([certificate.representation_rate.guaranteed])
        steps = model.staged_probabilities()
        return Distribution(density=steps[-1], steps=steps, trace=trace)
