"""Curves over boosting iterations: mean and one standard deviation over the folds, a line at the value of step 8."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

from fbde.reporting.figures import style
from fbde.reporting.figures.data import CONFIGURATIONS
from fbde.reporting.tables import task_title

STEP = 8  # the paper marks T = 8
NAMES = {"accuracy": "WL accuracy", "KL": "KL", "RR": "RR", "SR": "SR", "SR_c": "SR$_c$"}
# name → (left quantity, right quantity, the one whose value at step 8 is marked)
PAIRS = {
    "wl_kl": ("KL", "accuracy", "KL"),
    "rr_kl": ("KL", "RR", "RR"),
    "sr_kl": ("KL", "SR", "SR"),
    "sr_src": ("SR", "SR_c", "SR_c"),
}
LOOKS = {"left": (style.BLUE, "-", "o"), "right": (style.RED, "--", "s")}


def pair_title(pair):
    left, right, _ = PAIRS[pair]
    return f"{NAMES[right]} against {NAMES[left]}"


def available(results, task, method, pair):
    left, right, _ = PAIRS[pair]
    return len(results.by_step(task, method, left)) and len(results.by_step(task, method, right))


def panel(axes, results, task, method, pair, *, labels=(True, True)):
    """Two quantities over the iterations, on an axis each; True if there was something to draw."""
    if not available(results, task, method, pair):
        axes.text(0.5, 0.5, "not run", ha="center", va="center", color=style.GREY, transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        return False
    left, right, marked = PAIRS[pair]
    other = axes.twinx()
    other.grid(False)
    for side, name, axis in (("left", left, axes), ("right", right, other)):
        curve(axis, results.by_step(task, method, name), *LOOKS[side], mark=name == marked)
        axis.tick_params(axis="y", colors=LOOKS[side][0], labelsize=6.5)
        if labels[side == "right"]:
            axis.set_ylabel(NAMES[name], color=LOOKS[side][0])
    other.spines["right"].set_visible(True)
    axes.tick_params(axis="x", labelsize=6.5)
    return True


def curve(axes, values, colour, line, marker, *, mark):
    """Mean with a band of one standard deviation; marks the value at step 8 with a point and a horizontal line."""
    mean, std = values.mean(axis=1), values.std(axis=1, ddof=0)
    axes.fill_between(mean.index.astype(float), mean - std, mean + std, color=colour, alpha=0.18, linewidth=0)
    axes.plot(mean.index.astype(float), mean, color=colour, linestyle=line, marker=marker, markevery=4, markersize=2.6)
    if mark and STEP in mean.index:
        axes.axhline(mean[STEP], color=colour, linewidth=0.8, linestyle=":")
        axes.plot([STEP], [mean[STEP]], marker="D", markersize=5, color=colour, markeredgecolor="black", zorder=5)


def key(pair):
    left, right, marked = PAIRS[pair]
    handles = [
        Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=4, label=f"{NAMES[name]} ({side} axis)")
        for side, name in (("left", left), ("right", right))
        for colour, line, marker in [LOOKS[side]]
    ]
    dotted = LOOKS["left" if marked == left else "right"][0]
    label = f"{NAMES[marked]} at step {STEP}"
    handles.append(Line2D([], [], color=dotted, linestyle=":", marker="D", markeredgecolor="black", label=label))
    return handles


def main_panels(results):
    """The two panels of the main text: M-R-0.9 on Adult (sex), M-E-1.0 on Minneapolis."""
    minneapolis = results.of_paper.get(("minneapolis", "race"), ("minneapolis-published", "search"))
    shown = [(("adult", "sex"), "M-R-0.9", "wl_kl"), (minneapolis, "M-E-1.0", "sr_kl")]
    if not any(available(results, *entry) for entry in shown):
        return style.placeholder("Boosting iterations", results.why_absent([task[0] for task, *_ in shown]))
    figure, panels = plt.subplots(1, 2, figsize=(9, 3))
    for axes, (task, method, pair) in zip(panels, shown, strict=True):
        drawn = panel(axes, results, task, method, pair)
        axes.set_title(f"{method}, {task_title(*task)}: {pair_title(pair)}", fontsize=7.5)
        if drawn:
            axes.set_xlabel("boosting iteration")
            axes.legend(handles=key(pair), fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3)
        else:
            axes.text(
                0.5, 0.35, results.why_absent([task[0]]), transform=axes.transAxes, ha="center", va="top",
                fontsize=6.5, color=style.GREY, wrap=True,
            )  # fmt: skip
    return figure


def task_grid(results, pair, datasets):
    """One row per task of these datasets, one column per configuration of FBDE."""
    tasks = results.discrete_tasks(datasets)
    if not any(available(results, task, method, pair) for task in tasks for method in CONFIGURATIONS):
        return style.placeholder(f"{pair_title(pair)} over boosting iterations", results.why_absent(datasets))
    return _grid(results, [(task, pair) for task in tasks], [task_title(*task) for task in tasks], key(pair))


def continuous_grid(results):
    """Minneapolis: one row per pair of quantities."""
    task = results.of_paper.get(("minneapolis", "race"), ("minneapolis-published", "search"))
    rows = [(task, pair) for pair in PAIRS]
    if not any(available(results, *entry[:1], method, entry[1]) for entry in rows for method in CONFIGURATIONS):
        return style.placeholder("Minneapolis over boosting iterations", results.why_absent([task[0]]))
    handles = [
        Line2D([], [], color=LOOKS["left"][0], linestyle="-", marker="o", markersize=4, label="left axis"),
        Line2D([], [], color=LOOKS["right"][0], linestyle="--", marker="s", markersize=4, label="right axis"),
        Line2D([], [], color="black", linestyle=":", marker="D", label=f"value at step {STEP}"),
    ]
    return _grid(results, rows, [pair_title(pair) for pair in PAIRS], handles)


def _grid(results, rows, titles, handles):
    size = len(rows), len(CONFIGURATIONS)
    figure, panels = plt.subplots(*size, figsize=(2.9 * size[1], 1.75 * size[0] + 0.5), squeeze=False)
    for i, (task, pair) in enumerate(rows):
        for j, method in enumerate(CONFIGURATIONS):
            axes = panels[i, j]
            panel(axes, results, task, method, pair)
            axes.set_title(f"{titles[i]}, {method}", fontsize=7.5)
            if i == size[0] - 1:
                axes.set_xlabel("boosting iteration", fontsize=7)
    style.legend_below(figure, handles)
    return figure
