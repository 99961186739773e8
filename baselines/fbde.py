"""FBDE itself, as one method among the others: on finite domains and, for tasks that have them, continuous features."""

from typing import Literal

import numpy as np

from fbde.continuous import ContinuousFBDE
from fbde.estimator import FBDE
from fbde.evaluate import SAMPLES_PER_ROW, binned_kl, fit_tree, marginal_kl
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.metrics import classifier_rate
from fbde.tasks import Rows

TRACED = "theta Z accuracy accuracy_test gamma_P gamma_Q variance kl_drop kl_drop_bound kl_drop_printed".split()


class Method(Base):
    """Soen, Husain, Nock: Fair Densities via Boosting the Sufficient Statistics of Exponential Families. ICML 2023.

    ``sampled`` is for finite domains; ``learner`` and all that follow are for continuous features.
    """

    kind = "sampler"
    smoke = {"n_steps": 4, "epochs": 4, "draws": 20_000}

    def __init__(
        self,
        *,
        leverage: Literal["exact", "sound", "relative"] = "sound",
        sr0: float = 1.0,
        tau: float = 0.8,
        n_steps: int = 32,
        alpha: float = 0.0,
        sampled: bool = False,
        learner: Literal["network", "tree"] = "network",
        layers: int = 1,
        epochs: int = 32,
        draws: int = 100_000,
        sampler: Literal["rejection", "ula", "mala"] = "rejection",
    ):
        self.options = {"leverage": leverage, "sr0": sr0, "tau": tau, "n_steps": n_steps, "alpha": alpha}
        self.finite = {"sampled": sampled}
        self.continuous = {"learner": learner, "layers": layers, "epochs": epochs, "draws": draws, "sampler": sampler}

    def fit_fold(self, fold):
        return self._fit_continuous(fold) if fold.task.continuous else self._fit_finite(fold)

    def _fit_finite(self, fold):
        model = FBDE(**self.options, **self.finite, keep_steps=True, random_state=fold.seed)
        _fit(model, fold, support=fold.domain.X)
        steps = model.staged_probabilities()
        return Distribution(density=steps[-1], steps=steps, trace=_trace(model, ["kl_train"]))

    def _fit_continuous(self, fold):
        # The estimator calls the columns of an array x0, x1, …
        names = [f"x{i}" for i, column in enumerate(fold.task.features) if column in fold.task.continuous]
        options = self.options | self.continuous
        model = ContinuousFBDE(**options, continuous=names, keep_steps=True, random_state=fold.seed)
        train, test = fold.train, fold.test
        _fit(model, fold, support=np.vstack([train.X, test.X]))
        draws = model.draw(SAMPLES_PER_ROW * len(train.X), random_state=fold.seed)
        X, y, s = model.rows_of(draws.cell, draws.x)
        trace = _trace(model, ["RR", "SR", "cross_entropy_train", "cross_entropy_test"]) | _steps(model, fold)
        certificate = model.certificate()
        trace |= {"SR_error": np.array([certificate.sr_error]), "RR_error": np.array([certificate.rr_error])}
        trace |= {name: np.array([draws.diagnostics[name]]) for name in ("acceptance", "ess", "r_hat")}
        return Distribution(
            samples=Rows(X, y, s, np.ones(len(X))),
            marginal=model.marginal_.value,
            trace=trace,
            log_likelihood=model.score(test.X, test.y, sensitive_features=test.s),
        )


def _fit(model, fold, support):
    train, test = fold.train, fold.test
    model.fit(train.X, train.y, sensitive_features=train.s, support=support, test=(test.X, test.y, test.s))


def _trace(model, more):
    """The numbers of each boosting step, and what is guaranteed at the end."""
    certificate = model.certificate()
    trace = {name: model.trace_[name].to_numpy() for name in [*TRACED, *more]}
    trace["SR_guaranteed"] = np.array([certificate.statistical_rate.guaranteed])
    trace["RR_guaranteed"] = np.array([certificate.representation_rate.guaranteed])
    return trace


def _steps(model, fold):
    """KL in bins and of (y, s) alone, and SR_c after each step, on draws of Q_0 with their weights in Q_t."""
    (X, y, s), masses = model.staged_draws()
    inputs = np.column_stack([fold.test.X, fold.test.s])
    steps = {"KL": [], "KL_ys": [], "SR_c": []}
    for mass in masses:
        rows = Rows(X, y, s, mass * SAMPLES_PER_ROW * fold.train.total)
        tree = fit_tree(rows, fold.seed)
        probability = tree.predict_proba(inputs)[:, tree.classes_ == 1].sum(axis=1)
        steps["KL"].append(binned_kl(fold.test, rows))
        steps["KL_ys"].append(marginal_kl(fold.test, rows))
        steps["SR_c"].append(classifier_rate(probability, fold.test.s))
    return {name: np.array(values) for name, values in steps.items()}
