"""Ours beside print, and methods beside each other: agreement, forest plots, Pareto fronts, certificates, runtimes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from fbde.leverage import leverages
from fbde.metrics import METRICS
from fbde.published import TOLERANCE
from fbde.reporting.figures import style
from fbde.reporting.tables import CONTROLS, table_title, task_title

FAR = 4.0  # where the axis of the agreement plot ends


def _judged(comparison):
    return comparison[~comparison["verdict"].isin(["not run", "not comparable"])]


def _verdict_key(verdicts):
    return [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=name)
        for name, (colour, marker) in style.VERDICT_STYLES.items()
        if name in set(verdicts)
    ]


def agreement(results):
    """Each judged cell: how far ours is from print, in units of what counts as a match."""
    cells = _judged(results.comparison)
    if cells.empty:
        return style.placeholder("Published against reproduced", "no published cell was run")
    metrics = [metric for metric in METRICS if metric in set(cells["metric"])]
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(metrics) + 1.2))
    for bound, shade in ((2, "#f1f1f1"), (1, "#e2e2e2")):
        axes.axvspan(-bound, bound, color=shade, zorder=0)
    spread = np.random.default_rng(0)
    for position, metric in enumerate(metrics):
        part = cells[cells["metric"] == metric]
        unit = np.maximum(part["published_std"], TOLERANCE)
        distance = np.clip((part["mean"] - part["published_mean"]) / unit, -FAR, FAR)
        height = position + spread.uniform(-0.3, 0.3, len(part))
        for verdict, (colour, marker) in style.VERDICT_STYLES.items():
            own = (part["verdict"] == verdict).to_numpy()
            axes.scatter(distance[own], height[own], s=11, color=colour, marker=marker, alpha=0.75, linewidths=0.3)
    axes.set(
        yticks=range(len(metrics)), yticklabels=metrics, xlim=(-FAR - 0.2, FAR + 0.2), ylim=(len(metrics) - 0.4, -0.6)
    )
    axes.set_xlabel(f"(ours − published) / max(published std, {TOLERANCE}); farther than ±{FAR:g} drawn at the edge")
    axes.set_title(f"Published against reproduced: {len(cells)} cells")
    style.legend_below(figure, _verdict_key(cells["verdict"]))
    return figure


def forest(results, table):
    """A table as a forest plot: published in grey, ours coloured by verdict, one panel per task and metric."""
    part = results.comparison[(results.comparison["table"] == table)]
    title = table_title(table)
    if part.empty or (part["verdict"] == "not run").all():
        why = "nothing of this table was run" if len(part) else "the comparison has no such table"
        return style.placeholder(f"Forest plot: {title}", why)
    ran = part[part["verdict"] != "not run"]
    tasks = list(ran[["dataset", "sensitive"]].drop_duplicates().itertuples(index=False, name=None))
    metrics, methods = list(part["metric"].unique()), list(part["method"].unique())
    size = (1.55 * len(metrics) + 1.2, (0.16 * len(methods) + 0.75) * len(tasks) + 0.7)
    figure, panels = plt.subplots(len(tasks), len(metrics), figsize=(max(size[0], 6.4), size[1]), squeeze=False)
    for i, task in enumerate(tasks):
        for j, metric in enumerate(metrics):
            cells = part[(part["dataset"] == task[0]) & (part["sensitive"] == task[1]) & (part["metric"] == metric)]
            _forest_panel(panels[i, j], cells, methods, labels=j == 0)
            panels[i, j].set_xlabel(metric, fontsize=7)
        panels[i, 0].set_title(task_title(*task), fontsize=8, loc="left", weight="bold")
    left_out = part[["dataset", "sensitive"]].drop_duplicates().shape[0] - len(tasks)
    said = f" ({left_out} tasks were not run)" if left_out else ""
    figure.suptitle(f"{title}: published (grey) and ours{said}", fontsize=9)
    grey = Line2D([], [], color=style.GREY, marker="|", markersize=8, label="published ± std")
    style.legend_below(figure, [grey, *_verdict_key(part["verdict"])])
    return figure


def _forest_panel(axes, cells, methods, labels):
    height = {method: -k for k, method in enumerate(methods)}
    y = cells["method"].map(height)
    centre, spread = cells["published_mean"], cells["published_std"]
    axes.hlines(y, centre - spread, centre + spread, color=style.GREY, linewidth=2.6, alpha=0.55)
    axes.plot(centre, y, color=style.GREY, marker="|", markersize=7, alpha=0.7, linestyle="none")
    for verdict, (colour, marker) in style.VERDICT_STYLES.items():
        own = cells[cells["verdict"] == verdict]
        axes.hlines(y[own.index], own["mean"] - own["std"], own["mean"] + own["std"], color=colour, linewidth=0.9)
        axes.plot(own["mean"], y[own.index], color=colour, marker=marker, markersize=3.4, linestyle="none")
    axes.set(yticks=list(height.values()), yticklabels=list(height) if labels else [], ylim=(-len(methods) + 0.4, 0.6))
    axes.tick_params(labelsize=6)
    if not _log_axis(axes, cells["published_mean"], wide=8):
        axes.locator_params(axis="x", nbins=3)


def _log_axis(axes, values, wide):
    """A log scale with plain numbers if the values span more than a factor of ``wide``; says whether it was set."""
    values = np.asarray(values, dtype=float)
    if not len(values) or values.min() <= 0 or values.max() / values.min() < wide:
        return False
    far = values.max() / values.min() > 100
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if far else (1, 3), numticks=5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return True


# ------------------------------------------------------------------------------------------- Pareto fronts


def pareto_front(points, directions):
    """Which points (rows) no other point beats in one coordinate without losing in the other."""
    values = np.asarray(points, dtype=float) * np.asarray(directions)
    return np.array([not np.any(np.all(values >= v, axis=1) & np.any(values > v, axis=1)) for v in values], dtype=bool)


def pareto(results, fairness, utility, variant="published"):
    """Fairness against utility, one panel per task; the line joins what no method beats in both, controls aside."""
    methods = results.general(results.methods_with(fairness, utility))
    tasks = [t for t in results.tasks if any(_point(results, t, m, fairness, utility, variant) for m in methods)]
    if not tasks:
        return style.placeholder(f"{fairness} against {utility}", "no method has both metrics in these results")
    looks = style.looks(results.config["methods"])
    columns = min(len(tasks), 4)
    rows = -(-len(tasks) // columns)
    legend = 0.22 * -(-len(methods) // 6)
    figure, panels = plt.subplots(rows, columns, figsize=(2.75 * columns, 2.35 * rows + legend + 0.3), squeeze=False)
    for axes, task in zip(panels.flat, tasks, strict=False):
        _pareto_panel(axes, results, task, methods, looks, fairness, utility, variant)
    for axes in panels.flat[len(tasks) :]:
        axes.axis("off")
    handles = [
        Line2D([], [], color=looks[m].colour, marker=looks[m].marker, markerfacecolor=looks[m].face, linestyle="none",
               markersize=5, label=m)
        for m in methods
    ]  # fmt: skip
    style.legend_below(figure, handles, 6)
    return figure


def _point(results, task, method, fairness, utility, variant):
    x, y = (_folds(results, task, method, metric, variant) for metric in (utility, fairness))
    return (x.mean(), y.mean(), x.std(ddof=0), y.std(ddof=0)) if len(x) and len(y) else None


def _folds(results, task, method, metric, variant):
    """Fold values of the variant, or as published for a metric that has no such variant."""
    values = results.folds(task, method, metric, variant)
    return values if len(values) else results.folds(task, method, metric)


def _pareto_panel(axes, results, task, methods, looks, fairness, utility, variant):
    found = {m: p for m in methods if (p := _point(results, task, m, fairness, utility, variant))}
    points = np.array([p[:2] for m, p in found.items() if m not in CONTROLS])
    if len(points):
        front = pareto_front(points, (METRICS[utility].direction, METRICS[fairness].direction))
        line = points[front][np.argsort(points[front][:, 0], kind="stable")]
        axes.plot(*line.T, color=style.GREY, linewidth=0.9, linestyle="--", zorder=1)
    for method, (x, y, dx, dy) in found.items():
        look = looks[method]
        axes.errorbar(x, y, xerr=dx, yerr=dy, color=look.colour, marker=look.marker, markerfacecolor=look.face,
                      markersize=5, elinewidth=0.6, linestyle="none")  # fmt: skip
    if utility != "KL" or not _log_axis(axes, [x for x, *_ in found.values()], wide=3):
        axes.locator_params(axis="x", nbins=5)
    better = "←" if METRICS[utility].direction < 0 else "→"
    axes.set_xlabel(f"{utility} ({better} better)")
    axes.set_ylabel(f"{fairness} (↑ better)")
    axes.set_title(task_title(*task), fontsize=7.5)
    axes.tick_params(labelsize=6.5)


# ------------------------------------------------------------------------------ certificates and runtimes


def certificates(results):
    """Guaranteed against measured SR and RR of every FBDE run: each fold is a point, the bound a bar before it."""
    runs = [
        (task, method)
        for task in results.tasks
        for method in results.config["methods"]
        if len(results.by_step(task, method, "SR_guaranteed"))
    ]
    if not runs:
        return style.placeholder("Certificate against measured", "no run left SR_guaranteed and RR_guaranteed rows")
    figure, panels = plt.subplots(1, 2, figsize=(9, 0.145 * len(runs) + 1.1), sharey=True)
    looks = style.looks(results.config["methods"])
    for axes, rate in zip(panels, ("SR", "RR"), strict=True):
        for row, (task, method) in enumerate(runs):
            guaranteed = float(results.by_step(task, method, f"{rate}_guaranteed").min().min())
            measured = results.folds(task, method, rate, "exact")
            look = looks[method]
            axes.plot([guaranteed, measured.min()], [-row, -row], color="#c9c9c9", linewidth=0.8, zorder=1)
            axes.plot([guaranteed], [-row], marker="|", color="black", markersize=6, zorder=3)
            axes.plot(measured, [-row] * len(measured), marker=look.marker, color=look.colour, mfc=look.face,
                      linestyle="none", markersize=3.2, zorder=2)  # fmt: skip
        _printed_bounds(axes, rate)
        axes.set(title=f"{rate}: guaranteed (bar), measured (a point per fold)", xlabel=rate)
    labels = [f"{task_title(*task)}  {method}" for task, method in runs]
    panels[0].set(yticks=[-row for row in range(len(runs))], yticklabels=labels, ylim=(-len(runs) + 0.3, 0.7))
    panels[0].tick_params(axis="y", labelsize=5.6)
    panels[1].tick_params(axis="y", length=0)
    return figure


def _printed_bounds(axes, rate, tau=0.8):
    """The line of Theorem 3.2 as printed, and what holds for that leverage, both from sr0 = rr0 = 1."""
    C = float(np.log(2))
    total = float(leverages("exact", 32, tau, C).sum())
    printed = tau if rate == "SR" else tau**0.5
    holds = float(np.exp(-(4 if rate == "SR" else 2) * C * total))
    axes.axvline(printed, color=style.RED, linestyle="--", linewidth=0.9, label=f"printed for exact: {printed:.3f}")
    axes.axvline(holds, color=style.BLUE, linestyle=":", linewidth=1.1, label=f"true for exact: {holds:.3f}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2, fontsize=6.5)


def runtimes(results):
    """Seconds to fit a fold, on a log scale: ours, and as printed for another machine and implementation."""
    methods = [m for m in results.general(results.config["methods"]) if m in results.timed]
    tasks = [t for t in results.tasks if any(len(results.folds(t, m, "time")) for m in methods)]
    if not tasks:
        return style.placeholder("Runtime", "no run has been timed")
    columns = min(4, len(tasks))
    rows = -(-len(tasks) // columns)
    size = 2.3 * columns + 1.3, (0.15 * len(methods) + 0.6) * rows + 0.4
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, sharey=True)
    for axes, task in zip(panels.flat, tasks, strict=False):
        _runtime_panel(axes, results, task, methods)
    panels[0, 0].set(yticks=[-row for row in range(len(methods))], yticklabels=methods)
    for axes in panels.flat[len(tasks) :]:
        axes.axis("off")
    points = Line2D([], [], color="black", marker="o", linestyle="none", label="ours, one point per fold")
    bars = Line2D(
        [], [], color=style.GREY, marker="|", linestyle="none", markersize=8, markeredgewidth=2, label="published"
    )
    style.legend_below(figure, [points, bars])
    return figure


def _runtime_panel(axes, results, task, methods):
    looks = style.looks(results.config["methods"])
    printed = results.comparison[results.comparison["metric"] == "time"]
    place = {ours: name for name, ours in results.of_paper.items()}.get(task, (None, None))
    for row, method in enumerate(methods):
        values, look = results.folds(task, method, "time"), looks[method]
        axes.plot(np.maximum(values, 1e-4), [-row] * len(values), linestyle="none", marker=look.marker,
                  color=look.colour, markerfacecolor=look.face, markersize=3.6)  # fmt: skip
        here = (printed["dataset"] == place[0]) & (printed["sensitive"] == place[1])
        old = printed[here & (printed["method"] == results.config["methods"][method].get("paper"))]
        axes.plot(old["published_mean"].iloc[:1], [-row] * min(len(old), 1), marker="|", color=style.GREY, markersize=8,
                  markeredgewidth=2)  # fmt: skip
    axes.set(xscale="log", xlim=(5e-5, 3e4), xticks=[1e-4, 1e-2, 1, 1e2, 1e4], xlabel="seconds per fold")
    axes.set_title(task_title(*task), fontsize=7.5)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=6.5)
