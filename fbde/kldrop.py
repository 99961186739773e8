"""Theorem 3.5: what a boosting step gains in KL, from a weak learner's edge and variance.

The step from Q to Q exp(θc)/Z changes KL(P, ·) by exactly θ E_P[c] − log E_Q[exp(θc)] (Lemma E.1), which is at
least θ (C γ_P + Γ) if log E_Q[exp(c)] ≤ −Γ and θ ≤ 1. The theorem rests on a quadratic that bounds exp on
[−C, C]. The printed one does not: it lies below exp. ``corrected`` uses one that does.
"""

import numpy as np


def printed_quadratic(C):
    """(A, B, K) of Lemma E.2: A x² + B x + K meets exp at ±C with slope 0 at −C; for C = log 2 it is below exp."""
    rise = np.exp(C) - np.exp(-C)
    A = rise / (4 * C**2)
    return A, rise / (2 * C), (np.exp(C) + np.exp(-C)) / 2 - A * C**2


def printed_gamma(variance, gamma_Q, C):
    """Γ(variance, γ_Q) as printed in Lemma E.2. Not a valid bound; kept to be shown beside the valid one."""
    A, _, K = printed_quadratic(C)
    value = np.asarray(A * variance - C**2 * A * gamma_Q + K, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(value > 0, -np.log(value), np.inf)


def corrected_quadratic(x, C):
    """g(x) = e^−C (1 + x + C) + a (x + C)²: value and slope of exp at −C, value of exp at C; g ≥ exp on [−C, C]."""
    return np.exp(-C) * (1 + x + C) + _a(C) * (x + C) ** 2


def _a(C):
    return (np.exp(C) - np.exp(-C) * (1 + 2 * C)) / (4 * C**2)


def corrected_gamma(variance, gamma_Q, C):
    """Γ from E_Q[exp(c)] ≤ a (variance + C² (1 − γ_Q)²) + e^−C (1 + C (1 − γ_Q))."""
    return -np.log(_a(C) * (variance + C**2 * (1 - gamma_Q) ** 2) + np.exp(-C) * (1 + C * (1 - gamma_Q)))


def kl_drop_bound(theta, gamma_P, gamma_Q, variance, C, gamma=corrected_gamma):
    """Lower bound θ (C γ_P + Γ) of the drop in KL; valid for the corrected Γ and θ ≤ 1."""
    return theta * (C * gamma_P + gamma(variance, gamma_Q, C))
