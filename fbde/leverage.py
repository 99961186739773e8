"""Leverages θ_t: how far each boosting step may go, so that fairness stays above a budget (Section 3.2).

With λ = −log(τ/sr0), and C the bound of the weak learners:

=========  ==================  ==========================  ==============================
name       θ_t                 Σθ up to T                  guaranteed SR(Q_T) at least
=========  ==================  ==========================  ==============================
exact      λ / (C 2^(t+1))     λ/(2C) · (1 − 2^−T)         sr0 (τ/sr0)^(2 (1 − 2^−T))
sound      λ / (C 2^(t+2))     λ/(4C) · (1 − 2^−T)         τ
relative   λ / (4 C t)         λ/(4C) · (1 + 1/2 + … 1/T)  sr0 (τ/sr0)^(1 + 1/2 + … 1/T)
=========  ==================  ==========================  ==============================

``exact`` is as printed; Theorem 3.2 claims τ for it, which does not hold (docs/findings.md). ``sound`` takes
half of its steps, and for it the theorem does hold.
"""

import math

import numpy as np

from fbde.errors import FBDEError

SCHEMES = ("exact", "sound", "relative")


def leverages(scheme, n_steps, budget, C):
    """θ_1 … θ_T for a budget τ/sr0 (or τ_RR/rr0, the remark after Lemma B.3)."""
    t = np.arange(1, n_steps + 1)
    lam = -math.log(budget)
    if scheme == "exact":
        return lam / (C * 2.0 ** (t + 1))
    if scheme == "sound":
        return lam / (C * 2.0 ** (t + 2))
    if scheme == "relative":
        return lam / (4 * C * t)
    raise FBDEError(f"leverage must be one of {', '.join(SCHEMES)}, not {scheme!r}")


def check_budget(tau, start, target):
    """Refuse a budget that leaves nothing to boost with: 0 < τ < sr0 (or rr0) is needed."""
    name = "sr0" if target == "SR" else "rr0"
    if not tau > 0:
        raise FBDEError(f"tau must be over 0, not {tau}: a rate of 0 guarantees nothing")
    if tau >= start:
        raise FBDEError(
            f"tau = {tau:g} must be under the initial rate {name} = {start:.6g}: "
            "the boosting can only spend what lies between them"
        )
