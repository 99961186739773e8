"""The paper's table of leverage schemes, with the row as printed and the rows that hold."""

from dataclasses import dataclass

import numpy as np

from fbde.leverage import leverages

NAME = "leverage_schemes"
TITLE = "Leverage schemes"
C = float(np.log(2))
TAU, T = 0.8, 32  # as in all of the paper's experiments, with sr0 = 1


@dataclass(frozen=True)
class Scheme:
    """A row: name and leverage; in words and in TeX the order of θ_t, the bound of SR(Q_t), the mollifier's size."""

    name: str
    leverage: str
    valid: bool
    text: tuple[str, str, str]
    tex: tuple[str, str, str]


SCHEMES = [
    Scheme(
        "Exact, as printed",
        "exact",
        False,
        ("O(2^-t)", "τ", "−log τ"),
        (r"O(2^{-t})", r"\tau", r"-\log\tau"),
    ),
    Scheme(
        "Exact, corrected",
        "exact",
        True,
        ("O(2^-t)", "τ^(2(1 − 2^-t))", "−2(1 − 2^-t) log τ"),
        (r"O(2^{-t})", r"\tau^{2(1-2^{-t})}", r"-2(1-2^{-t})\log\tau"),
    ),
    Scheme(
        "Sound (half the steps)",
        "sound",
        True,
        ("O(2^-t)", "τ", "−log τ"),
        (r"O(2^{-t})", r"\tau", r"-\log\tau"),
    ),
    Scheme(
        "Relative",
        "relative",
        True,
        ("O(1/t)", "τ^Ω(log t)", "−(1 + log t) log τ"),
        (r"O(t^{-1})", r"\tau^{\Omega(\log t)}", r"-(1+\log t)\log\tau"),
    ),
]
HEADER = [
    "Fair",
    "θ_t",
    "SR(Q_t) at least",
    "Size ε_t",
    f"SR at T = {T}, τ = {TAU}",
    "RR at the same",
    "smallest SR measured",
]
HEADER_TEX = [
    "Fair", r"$\vartheta_t$", r"$\mathrm{SR}(Q_t)$", r"Size $\varepsilon_t$",
    rf"$\mathrm{{SR}}$, $T={T}$, $\tau={TAU}$", r"$\mathrm{RR}$", r"least $\mathrm{SR}$ measured",
]  # fmt: skip
CAPTION = (
    "Leverage schemes for sr0 = 1. Theorem 3.2 states τ for the exact leverage; its own lemmas give the corrected row, "
    "and a counterexample below τ exists. The sound leverage takes half of each step, and for it the statement holds. "
    "The last column is the smallest SR of any task, fold and step with that leverage and sr0 = 1."
)


def bounds(scheme):
    """(SR, RR) after T steps from sr0 = rr0 = 1: as printed, or e^(−4CΣθ) and e^(−2CΣθ) (Lemmas B.1 and B.3)."""
    if not scheme.valid:
        return TAU, TAU**0.5
    total = float(leverages(scheme.leverage, T, TAU, C).sum())
    return float(np.exp(-4 * C * total)), float(np.exp(-2 * C * total))


def smallest_measured(scores, config, leverage):
    """The smallest SR of any boosting step that was run with a leverage from sr0 = 1; None if nothing was."""
    ids = [
        name
        for name, entry in config["methods"].items()
        if entry.get("params", {}).get("leverage") == leverage and entry["params"].get("sr0", 1.0) == 1.0
    ]
    steps = scores[scores["method"].isin(ids) & (scores["metric"] == "SR") & scores["step"].notna()]
    values = steps["value"].dropna()
    return float(values.min()) if len(values) else None


def rows(scores, config, tex=False):
    """The table's rows as texts, or as TeX."""
    found = []
    for scheme in SCHEMES:
        SR, RR = bounds(scheme)
        least = smallest_measured(scores, config, scheme.leverage)
        formulas = [f"${part}$" for part in scheme.tex] if tex else list(scheme.text)
        measured = f"{least:.3f}" if least is not None else "not run"
        found.append([scheme.name, *formulas, f"{SR:.3f}", f"{RR:.3f}", measured])
    return found
