"""A weak learner drawn as a tree: boxes ask, circles are leaves; the redder a node the more it looks like data.

Dashed: a question that tells nothing, since P(real) is the same whatever the answer.
"""

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import Ellipse, FancyBboxPatch

from fbde.reporting.figures import style
from fbde.reporting.firsttree import prune
from fbde.reporting.tables import task_title

# Blue: looks like Q (fake), red: looks like data (real). Each node also says its probability, for readers in grey.
SHADES = LinearSegmentedColormap.from_list("fake to real", [style.SKY, "#f4f4f4", "#f0a27a"])
TOP_LEVELS = 3
BOX = 0.84, 0.46  # width and height of a node in units of one leaf and one level


def weak_tree(results, dataset, *, levels=None, pruned=True):
    """The first round's tree; only its first ``levels`` levels of questions if given."""
    found = results.trees.get(dataset) or {"absent": results.why_absent([dataset])}
    if "absent" in found:
        return style.placeholder("Weak learner of the first round", found["absent"])
    root = cut(prune(found["tree"]) if pruned else found["tree"], levels)
    places = {}
    leaves = _place(root, 0, 0.0, places)
    deepest = max(depth for _, depth in places.values())
    figure, axes = plt.subplots(figsize=(max(1.12 * leaves, 6.4), 1.02 * (deepest + 1) + 0.6))
    axes.axis("off")
    scale = Normalize(*_range(root))
    for path, (x, depth) in places.items():
        node = _node(root, path)
        _edges(axes, path, places, node, found["meanings"])
        _draw(axes, x, depth, node, scale)
    axes.set(xlim=(-0.1, leaves + 0.1), ylim=(-deepest - 0.4, 0.3))
    part = f", first {levels} levels" if levels else ""
    title = f"Weak learner of round 1: {found['method']}, {task_title(found['dataset'], found['sensitive'])}"
    axes.set_title(f"{title}, fold {found['fold']}{part}", fontsize=9)
    bar = figure.colorbar(plt.cm.ScalarMappable(scale, SHADES), ax=axes, shrink=0.5, aspect=18, pad=0.01)
    bar.set_label("P(real)   fake ← → real", fontsize=7)
    bar.ax.tick_params(labelsize=6.5)
    return figure


def cut(node, levels):
    """The tree without what is below ``levels`` questions; such nodes are marked with "more"."""
    if levels is None or "feature" not in node:
        return node
    if levels == 0:
        return {key: node[key] for key in ("real", "c", "weight")} | {"more": True}
    return node | {side: cut(node[side], levels - 1) for side in ("yes", "no")}


def _place(node, depth, left, places, path=""):
    """Put leaves side by side and each question above the middle of its answers; gives the number of leaves."""
    if "feature" not in node:
        places[path] = (left + 0.5, depth)
        return 1
    first = _place(node["yes"], depth + 1, left, places, path + "y")
    second = _place(node["no"], depth + 1, left + first, places, path + "n")
    places[path] = ((places[path + "y"][0] + places[path + "n"][0]) / 2, depth)
    return first + second


def _node(root, path):
    for step in path:
        root = root["yes" if step == "y" else "no"]
    return root


def _range(node):
    """A range around 1/2 that holds every node's probability."""
    width = max(abs(value - 0.5) for value in _reals(node))
    return 0.5 - max(width, 0.02), 0.5 + max(width, 0.02)


def _reals(node):
    yield node["real"]
    for side in ("yes", "no"):
        if side in node:
            yield from _reals(node[side])


def answers(node, meanings):
    """What the two branches of a question mean."""
    if node["threshold"] == 0.5:
        values = meanings.get(node["feature"])
        return (values["0"], values["1"]) if values else ("no", "yes")
    return f"≤ {node['threshold']:g}", f"> {node['threshold']:g}"


def _edges(axes, path, places, node, meanings):
    if "feature" not in node:
        return
    x, depth = places[path]
    for side, text in zip("yn", answers(node, meanings), strict=True):
        to, below = places[path + side]
        ends = [-depth - BOX[1] / 2, -below + BOX[1] / 2]
        axes.plot([x, to], ends, color=style.GREY, linewidth=0.9, linestyle=_line(node), zorder=1)
        axes.text(
            (0.42 * x + 0.58 * to), -depth - 0.5 - 0.06, text, fontsize=6, ha="center", va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, zorder=2,
        )  # fmt: skip


def _draw(axes, x, depth, node, scale):
    width, height = BOX
    facts = f"P(real) {node['real']:.3f}\nweight {node['weight']:.1%}"
    look = {"facecolor": SHADES(scale(node["real"])), "edgecolor": "black", "linewidth": 0.7, "zorder": 3}
    look["linestyle"] = _line(node)
    if "feature" in node or "more" in node:
        corner = (x - width / 2 + 0.04, -depth - height / 2 + 0.04)
        axes.add_patch(FancyBboxPatch(corner, width - 0.08, height - 0.08, boxstyle="round,pad=0.04", **look))
        facts = f"{_wrapped(node['feature'])}?\n{facts}" if "feature" in node else f"{facts}\n…"
    else:
        axes.add_patch(Ellipse((x, -depth), width, height * 0.92, **look))
    axes.text(x, -depth, facts, ha="center", va="center", fontsize=5.8, zorder=4, linespacing=1.15)


def _line(node):
    return "--" if "feature" in node and "feature" not in prune(node) else "-"


def _wrapped(name, width=15):
    """A column's name on one line if it fits, else broken after the equals sign."""
    return name if len(name) <= width else name.replace("=", "=\n", 1)
