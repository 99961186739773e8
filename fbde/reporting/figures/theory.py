"""Bounds of exp(x) on [−C, C]: the printed quadratic, which is below exp, the corrected one, and the chord."""

import matplotlib.pyplot as plt
import numpy as np

from fbde.kldrop import corrected_quadratic, printed_quadratic
from fbde.reporting.figures import style

C = float(np.log(2))


def exp_bounds(results=None):
    """The curves, and below them their difference to exp, where the sign can be seen."""
    x = np.linspace(-C, C, 241)
    A, B, K = printed_quadratic(C)
    slope = (np.exp(C) - np.exp(-C)) / (2 * C)
    curves = {
        "chord": (np.exp(-C) + slope * (x + C), style.GREEN, "-."),
        "corrected quadratic": (corrected_quadratic(x, C), style.BLUE, "--"),
        "printed quadratic (Lemma E.2)": (A * x**2 + B * x + K, style.RED, ":"),
    }
    figure, (top, bottom) = plt.subplots(1, 2, figsize=(8, 3.1))
    top.plot(x, np.exp(x), color="black", label="exp(x)", linewidth=1.8)
    bottom.axhline(0, color="black", linewidth=1.2)
    for label, (values, colour, line) in curves.items():
        top.plot(x, values, color=colour, linestyle=line, label=label, linewidth=1.7)
        bottom.plot(x, values - np.exp(x), color=colour, linestyle=line, label=label, linewidth=1.7)
    top.set(title="Bounds of exp(x) for C = log 2", xlabel="x")
    bottom.set(title="Bound minus exp(x): below 0 it is no upper bound", xlabel="x")
    bottom.fill_between(
        x, np.minimum(curves["printed quadratic (Lemma E.2)"][0] - np.exp(x), 0), 0, color=style.RED, alpha=0.12
    )
    style.legend_below(figure, top.get_legend_handles_labels()[0])
    return figure
