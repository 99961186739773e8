"""What is guaranteed of a fitted model, what was measured, and what the paper printed.

Everything under ``guaranteed`` follows from proofs that hold; what is only printed in the paper is kept apart.
"""

import math
from dataclasses import asdict, dataclass, field

import numpy as np

from fbde.kldrop import corrected_gamma, printed_gamma


@dataclass(frozen=True)
class Rate:
    """One fairness rate (SR or RR) of Q_T.

    ``guaranteed`` holds for any weak learners bounded by C (Lemmas B.1 and B.3: the start times e^(−4CΣθ) for SR,
    e^(−2CΣθ) for RR); ``from_steps`` for the recorded normalisers (Lemma 3.1), which is tighter; ``measured`` is the
    rate of Q_T itself. ``printed`` is the bound of Theorem 3.2 or 3.3 for this leverage, ``printed_valid`` whether
    it is a theorem. ``epsilon`` is the size of the smallest relative mollifier around Q_0 that contains Q_T
    (Definition 4.1), ``epsilon_guaranteed`` a bound of it that was known before boosting.
    """

    name: str
    start: float
    guaranteed: float
    from_steps: float
    measured: float
    printed: float
    printed_valid: bool
    epsilon: float
    epsilon_guaranteed: float


@dataclass(frozen=True)
class Progress:
    """Theorem 3.6 and Corollary 3.7: Δ(Q_T) = KL(P, Q_0) − KL(P, Q_T) and its interval.

    ``lower`` uses the corrected Γ; ``printed_lower`` the printed one, which is not a valid bound. ``None`` where
    θ_t > 1, for which the theorem says nothing.
    """

    measured: float
    lower: float | None
    upper: float
    printed_lower: float | None


@dataclass(frozen=True)
class Certificate:
    """Guaranteed and measured fairness of a fitted model; ``print`` it, or use ``to_dict``."""

    statistical_rate: Rate
    representation_rate: Rate
    progress: Progress
    leverage: str
    target: str
    tau: float
    C: float
    theta_sum: float
    n_steps: int
    kl_start: float
    edges: dict = field(repr=False)

    def to_dict(self):
        """Plain numbers and texts, ready for JSON."""
        entry = asdict(self)
        entry.pop("edges")
        return entry

    @property
    def holds(self):
        """Whether every guaranteed bound is at most what was measured (up to rounding)."""
        rates = (self.statistical_rate, self.representation_rate)
        return all(max(r.guaranteed, r.from_steps) <= r.measured * (1 + 1e-9) for r in rates)

    def sufficient_steps(self, epsilon, *, printed=False):
        """Corollary 3.7: a number of steps T after which KL(P, Q_T) < ``epsilon``; infinity if no T is sure to do.

        Uses the smallest edges γ_P, γ_Q and the largest variance seen. ``printed=True`` uses the printed Γ.
        """
        gamma = printed_gamma if printed else corrected_gamma
        gain = self.C * self.edges["gamma_P"] + float(gamma(self.edges["variance"], self.edges["gamma_Q"], self.C))
        needed = self.kl_start - epsilon
        if needed <= 0:
            return 0
        if gain <= 0:
            return math.inf
        wanted, lam = needed / gain, self.edges["lambda"]  # Σθ must exceed ``wanted``
        if self.leverage == "relative":
            try:
                return math.floor(math.exp(4 * self.C * wanted / lam)) + 1
            except OverflowError:
                return math.inf
        limit = lam / (2 * self.C) if self.leverage == "exact" else lam / (4 * self.C)
        return math.inf if wanted >= limit else max(math.floor(-math.log2(1 - wanted / limit)) + 1, 1)

    def __str__(self):
        lines = [
            f"FBDE certificate: {self.n_steps} steps, {self.leverage} leverage, {self.target} budget {self.tau:g}",
            f"{'':24}{'at start':>10}{'guaranteed':>12}{'from steps':>12}{'measured':>10}   mollifier",
        ]
        for rate in (self.statistical_rate, self.representation_rate):
            lines.append(
                f"{rate.name:24}{rate.start:10.4f}{rate.guaranteed:12.4f}{rate.from_steps:12.4f}{rate.measured:10.4f}"
                f"   {rate.epsilon:.4f} (guaranteed at most {rate.epsilon_guaranteed:.4f})"
            )
        for rate in (self.statistical_rate, self.representation_rate):
            if not rate.printed_valid:
                lines.append(f"printed for {rate.name}: over {rate.printed:.4f} -- not a theorem for this leverage")
        p = self.progress
        lower = "no bound (theta > 1)" if p.lower is None else f"{p.lower:.4f}"
        lines.append(f"KL to the data fell by {p.measured:.4f}; guaranteed between {lower} and {p.upper:.4f}")
        return "\n".join(lines)


@dataclass(frozen=True)
class EstimatedCertificate(Certificate):
    """A certificate whose measured rates are averages over ``draws`` draws, with standard errors."""

    sr_error: float
    rr_error: float
    draws: int

    def __str__(self):
        text = f"measured on {self.draws} draws; standard errors {self.sr_error:.4f} (SR), {self.rr_error:.4f} (RR)"
        return f"{super().__str__()}\n{text}"


def certify(boosted, initial_marginal, final_marginal, *, positive, tau, leverage, target, C, sr0, rr0):
    """The certificate of a boosted distribution with marginals Q_0(y, s) and Q_T(y, s)."""
    theta_sum = float(np.sum(boosted.theta))
    T = len(boosted.theta)
    Z_ys = np.prod(boosted.Z_ys, axis=0) if T else np.ones_like(initial_marginal)
    Z_s = np.prod(boosted.Z_s, axis=0) if T else np.ones(initial_marginal.shape[1])
    start = sr0 if target == "SR" else rr0
    common = {"tau": tau, "leverage": leverage, "target": target, "start": start, "T": T}
    rates = {}
    for name, factor, first, last, change, rate0 in (
        (
            "SR",
            4,
            _positive(initial_marginal, positive),
            _positive(final_marginal, positive),
            Z_ys[positive] / Z_s,
            sr0,
        ),
        ("RR", 2, initial_marginal.sum(axis=0), final_marginal.sum(axis=0), Z_s, rr0),
    ):
        printed, valid = _printed(name, rate0, **common)
        moved = np.log(last) - np.log(first)
        rates[name] = Rate(
            name={"SR": "statistical rate", "RR": "representation rate"}[name],
            start=float(rate0),
            guaranteed=float(rate0 * np.exp(-factor * C * theta_sum)),
            from_steps=float(rate0 * change.min() / change.max()),
            measured=float(last.min() / last.max()),
            printed=printed,
            printed_valid=valid,
            epsilon=float(moved.max() - moved.min()),
            epsilon_guaranteed=float(factor * C * theta_sum),
        )
    trace = boosted.table()
    edges = _worst_edges(trace) | {"lambda": -math.log(tau / start)}
    return Certificate(
        statistical_rate=rates["SR"],
        representation_rate=rates["RR"],
        progress=_progress(trace, theta_sum, C),
        leverage=leverage,
        target=target,
        tau=tau,
        C=C,
        theta_sum=theta_sum,
        n_steps=T,
        kl_start=float(trace["kl_train"][0]),
        edges=edges,
    )


def _positive(marginal, positive):
    return marginal[positive] / marginal.sum(axis=0)


def _printed(name, rate0, *, tau, leverage, target, start, T):
    """The bound of Theorems 3.2 and 3.3, or of the remark after Lemma B.3, and whether it is true.

    Exact leverage for SR: not true. The same formula for an RR target is, since RR moves half as much.
    """
    T = max(T, 1)
    power = 1 + math.log(T) if leverage == "relative" else 1.0
    if target == "SR":
        bound = tau**power if name == "SR" else rate0 * math.sqrt(tau / start) ** power
        return bound, leverage != "exact"
    # The remark speaks of RR only: e^(−2CΣθ) with τ_RR/rr0 in place of τ/sr0.
    halves = {"exact": 1.0, "sound": 0.5, "relative": power / 2}[leverage]
    bound = rate0 * (tau / start) ** (halves if name == "RR" else 2 * halves)
    return bound, True


def _worst_edges(trace):
    if "gamma_P" not in trace:
        return {"gamma_P": 0.0, "gamma_Q": 0.0, "variance": 0.0}
    return {
        "gamma_P": float(np.nanmin(trace["gamma_P"])),
        "gamma_Q": float(np.nanmin(trace["gamma_Q"])),
        "variance": float(np.nanmax(trace["variance"])),
    }


def _progress(trace, theta_sum, C):
    measured = float(trace["kl_train"][0] - trace["kl_train"][-1])
    if "theta" not in trace:
        return Progress(measured, 0.0, 0.0, 0.0)
    applies = np.nanmax(trace["theta"]) <= 1
    return Progress(
        measured=measured,
        lower=float(np.nansum(trace["kl_drop_bound"])) if applies else None,
        upper=2 * C * theta_sum,
        printed_lower=float(np.nansum(trace["kl_drop_printed"])) if applies else None,
    )
