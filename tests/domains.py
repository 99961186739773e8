"""Random finite domains, and weak learners that do their worst: for the tests of the guarantees."""

import numpy as np
from hypothesis import strategies as st

from fbde.boosting import Points, boost
from fbde.initial import initial
from fbde.leverage import leverages


@st.composite
def problems(draw, max_groups=4, max_labels=3):
    """(P, positive, sr0, rr0, tau, scheme, T, C, seed): a random distribution on a small domain, and settings."""
    rows = draw(st.integers(1, 6))
    labels = draw(st.integers(2, max_labels))
    groups = draw(st.integers(2, max_groups))
    seed = draw(st.integers(0, 2**31))
    sharp = draw(st.sampled_from([0.05, 0.3, 1.0, 10.0]))
    P = np.random.default_rng(seed).dirichlet(np.full(rows * labels * groups, sharp)) + 1e-6
    sr0 = draw(st.floats(0.3, 1.0))
    return {
        "P": (P / P.sum()).reshape(rows, labels, groups),
        "positive": draw(st.integers(0, labels - 1)),
        "sr0": sr0,
        "rr0": draw(st.floats(0.3, 1.0)),
        "tau": draw(st.floats(0.02, 0.98)) * sr0,
        "T": draw(st.integers(1, 12)),
        "C": draw(st.sampled_from([0.1, float(np.log(2)), 2.0])),
        "seed": seed,
    }


class Adversary:
    """A weak learner that wants to do harm: ±C by group, by (y, s), at random, or constant."""

    def __init__(self, C, kind, label, group, seed=0):
        self.C, self.kind, self.label, self.group = C, kind, label, group
        self.rng = np.random.default_rng(seed)

    def bind(self, real, fake):
        return lambda p, q, n, rng: (None, *[self._choose(p, q)] * 2)

    def _choose(self, p, q):
        sign = {
            "group": lambda: np.where(self.group == 0, 1, -1),
            "label and group": lambda: np.where((self.label == self.label.max()) == (self.group == 0), 1, -1),
            "random": lambda: self.rng.choice([-1.0, 1.0], len(q)),
            "uniform": lambda: self.rng.uniform(-1, 1, len(q)),
            "towards data": lambda: np.where(p > q, 1, -1),
            "away from data": lambda: np.where(p > q, -1, 1),
            "constant": lambda: np.ones(len(q)),
        }[self.kind]()
        return self.C * sign.astype(float)


KINDS = ["group", "label and group", "random", "uniform", "towards data", "away from data", "constant"]


def boosted(problem, scheme, learner, target="SR", **options):
    """Boost the problem's Q_init; gives the result, Q_init with its rates, and Q_T on the domain."""
    P, C = problem["P"], problem["C"]
    start = initial(P, problem["positive"], sr0=problem["sr0"], rr0=problem["rr0"])
    rate = start.sr0 if target == "SR" else start.rr0
    tau = problem["tau"] / problem["sr0"] * rate
    row, label, group = (index.ravel() for index in np.indices(P.shape))
    table = np.column_stack([row, label, group]).astype(np.float32)
    if isinstance(learner, str):
        learner = Adversary(C, learner, label, group, problem["seed"])
    result = boost(
        learner,
        leverages(scheme, problem["T"], tau / rate, C),
        Points(table, label, group, P.ravel()),
        Points(table, label, group, start.Q.ravel()),
        P.shape[1:],
        problem["positive"],
        n=1000,
        C=C,
        rng=np.random.default_rng(problem["seed"]),
        **options,
    )
    return result, start, result.mass.reshape(P.shape), tau
