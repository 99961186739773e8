"""Critical-difference diagrams: methods by their mean rank over the tasks, bars join those not told apart."""

import matplotlib.pyplot as plt

from fbde import datasets
from fbde.metrics import METRICS
from fbde.reporting.figures import style
from fbde.reporting.statistics import rank_over_tasks
from fbde.reporting.tables import CONTROLS

SHOWN = ("SR", "RR", "KL", "SR_c", "EO", "Acc")


def rankings(results):
    """A ranking per metric over the tasks with a finite domain, controls and variants for single tables left out."""
    methods = [m for m in results.general(results.config["methods"]) if m not in CONTROLS]
    finite = [name for name in results.config["tasks"] if not datasets.get(name).continuous]
    scores = results.scores[results.scores["method"].isin(methods) & results.scores["dataset"].isin(finite)]
    return [ranking for metric in SHOWN if (ranking := rank_over_tasks(scores, metric)) is not None]


def critical_differences(results):
    """One diagram per metric (Demšar 2006), over the tasks with a finite domain, which all methods can run on."""
    found = rankings(results)
    if not found:
        return style.placeholder("Critical differences over the tasks", "needs three methods that share two tasks")
    heights = [0.85 + 0.19 * ((len(ranking.ranks) + 1) // 2) for ranking in found]
    figure, panels = plt.subplots(len(found), 1, figsize=(7.6, sum(heights)), squeeze=False, height_ratios=heights)
    for axes, ranking in zip(panels.flat, found, strict=True):
        diagram(axes, ranking)
    return figure


def diagram(axes, ranking):
    """Rank axis on top, half of the methods to the left and half to the right, best on the left."""
    k = len(ranking.ranks)
    names, ranks = list(ranking.ranks.index), ranking.ranks.to_numpy()
    half = (k + 1) // 2
    depth = max(half, k - half)
    axes.axis("off")
    axes.hlines(0, 1, k, color="black", linewidth=1.1)
    for tick in range(1, k + 1):
        axes.vlines(tick, 0, 0.18, color="black", linewidth=0.8)
        axes.text(tick, 0.3, str(tick), ha="center", va="bottom", fontsize=6.5)
    bars = len(ranking.cliques)
    first = 0.35 + 0.28 * bars
    for index, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = index < half
        level = -(first + 0.62 * (index if left else k - 1 - index))
        edge = 0.6 if left else k + 0.4
        axes.plot([rank, rank, edge], [0, level, level], color=style.GREY, linewidth=0.7)
        align = "right" if left else "left"
        axes.text(edge + (-0.08 if left else 0.08), level, f"{name} ({rank:.2f})", ha=align, va="center", fontsize=6.5)
    for number, clique in enumerate(ranking.cliques):
        span = [ranking.ranks[clique[0]] - 0.04, ranking.ranks[clique[-1]] + 0.04]
        axes.plot(span, [-0.22 - 0.28 * number] * 2, color=style.BLUE, linewidth=2.6, solid_capstyle="butt")
    _bar(axes, ranking)
    pad = 0.28 * k
    axes.set(xlim=(0.6 - pad, k + 0.4 + pad), ylim=(-(first + 0.62 * depth), 2.5))
    direction = "higher" if METRICS[ranking.metric].direction > 0 else "lower"
    title = (
        f"{ranking.metric} ({direction} is better): mean rank over {ranking.tasks} tasks; Friedman p = {ranking.p:.2g}"
    )
    axes.set_title(title, fontsize=8, loc="left")


def _bar(axes, ranking):
    """The critical difference, as a bar of its length."""
    width = min(ranking.critical_difference, len(ranking.ranks) - 1)
    axes.plot([1, 1 + width], [1.55, 1.55], color="black", linewidth=1.6, marker="|", markersize=5)
    axes.text(1 + width + 0.15, 1.55, f"CD = {ranking.critical_difference:.2f}", ha="left", va="center", fontsize=6.5)
