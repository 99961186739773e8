"""The figures of the paper and ours: FIGURES lists them all, ``write_all`` draws them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fbde.reporting.figures import comparisons, iterations, ranks, theory, trees


@dataclass(frozen=True)
class Figure:
    """A figure's title and caption, what it belongs to, and the function that draws it from the results."""

    title: str
    caption: str
    group: str
    draw: Callable


def _iteration_figures():
    for datasets, name, titles in (
        (("compas", "adult"), "", "COMPAS and Adult"),
        (("dutch", "german"), "_extra", "Dutch and German"),
    ):
        for pair in iterations.PAIRS:
            title = f"{iterations.pair_title(pair)}, {titles}".replace("SR$_c$", "SR_c")
            caption = "Mean and one standard deviation over the folds; the dotted line is the value at step 8."
            yield (
                f"{pair}{name}",
                Figure(title, caption, "iterations", partial(iterations.task_grid, pair=pair, datasets=datasets)),
            )


def _forests():
    from fbde.reporting.tables import LAYOUTS

    for table, layout in LAYOUTS.items():
        caption = "Published mean ± std in grey, ours in the colour and shape of its verdict."
        yield (
            f"forest_{table}",
            Figure(f"Forest plot: {layout.title}", caption, "agreement", partial(comparisons.forest, table=table)),
        )


FIGURES = {
    "weak_tree_top": Figure(
        "Weak learner of the first round, first three levels",
        "Boxes ask, circles are leaves. Red looks like data and is weighted up, blue like Q and is weighted down. "
        "Without questions that tell nothing.",
        "interpretability",
        partial(trees.weak_tree, dataset="compas", levels=trees.TOP_LEVELS),
    ),
    "weak_tree_full": Figure(
        "Weak learner of the first round, all of it",
        "The tree of the figure before with all that it asks. Dashed questions tell nothing: x | y, s is the same in "
        "Q_0 and in the data, so only y and s tell them apart.",
        "interpretability",
        partial(trees.weak_tree, dataset="compas", pruned=False),
    ),
    "weak_tree_mixed": Figure(
        "Weak learner of the first round where Q_0 is a mixture",
        "On German Credit Q_0 is mixed with the uniform distribution, so the features tell real from fake, too.",
        "interpretability",
        partial(trees.weak_tree, dataset="german"),
    ),
    "boosting_main": Figure(
        "Boosting iterations, main text",
        "Left: accuracy of the weak learners and KL, M-R-0.9 on Adult. Right: SR and KL (of bins), M-E-1.0 on "
        "Minneapolis.",
        "iterations",
        iterations.main_panels,
    ),
    **dict(_iteration_figures()),
    "minneapolis_all": Figure(
        "Boosting iterations, Minneapolis",
        "One row per pair of quantities, one column per configuration. KL is that of 20 × 20 bins of the positions "
        "with y and s, while the printed cells have the KL of (y, s) alone.",
        "iterations",
        iterations.continuous_grid,
    ),
    "exp_bounds": Figure(
        "Bounds of exp(x)",
        "The printed quadratic of Lemma E.2 lies below exp; the corrected one and the chord lie above.",
        "theory",
        theory.exp_bounds,
    ),
    "agreement": Figure(
        "Published against reproduced",
        "One point per published cell that was run. Dark band: match; light band: near.",
        "agreement",
        comparisons.agreement,
    ),
    **dict(_forests()),
    "pareto_sr_kl": Figure(
        "Statistical rate against KL",
        "All methods; the dashed line joins those that no other beats in both, controls aside.",
        "trade-offs",
        partial(comparisons.pareto, fairness="SR", utility="KL"),
    ),
    "pareto_rr_kl": Figure(
        "Representation rate against KL",
        "All methods; the dashed line joins those that no other beats in both, controls aside.",
        "trade-offs",
        partial(comparisons.pareto, fairness="RR", utility="KL"),
    ),
    "pareto_src_acc": Figure(
        "Fairness of a classifier against its accuracy",
        "All methods; the dashed line joins those that no other beats in both, controls aside. SR_c is the corrected "
        "one, from predicted probabilities: cut to integers, as on Dutch in print, they can all be 0.",
        "trade-offs",
        partial(comparisons.pareto, fairness="SR_c", utility="Acc", variant="corrected"),
    ),
    "certificates": Figure(
        "Certificate against measured",
        "The guaranteed rate of every FBDE run and the exact rate of each fold.",
        "theory",
        comparisons.certificates,
    ),
    "runtimes": Figure("Runtime", "Seconds to fit one fold, on a log scale.", "cost", comparisons.runtimes),
    "critical_differences": Figure(
        "Critical differences over the tasks",
        "Mean ranks; a bar joins methods that Nemenyi's test at 5 % does not tell apart.",
        "trade-offs",
        ranks.critical_differences,
    ),
}


def draw(name, results):
    """The figure as a matplotlib figure."""
    import matplotlib as mpl

    from fbde.reporting.figures import style

    with mpl.rc_context(style.SETTINGS):
        return FIGURES[name].draw(results)


def write_all(results, folder, names=None, report=lambda text: None):
    """Draw the figures and write each as SVG, PDF and PNG; gives the paths."""
    import matplotlib as mpl

    from fbde.reporting.figures import style

    written = []
    with mpl.rc_context(style.SETTINGS):
        for name in names or FIGURES:
            written += style.save(FIGURES[name].draw(results), folder, name, smoke=results.smoke)
            report(f"drew {name}")
    return written
