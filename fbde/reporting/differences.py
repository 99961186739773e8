"""The cells that differ from print, each with what is known of the reason."""

from math import sqrt

from fbde.published import CELL
from fbde.reporting.tables import table_title, task_title

LEVEL = 0.05


def differences(comparison, seeds=None):
    """(cell, explanation) of each cell whose verdict is "differs"; ``seeds`` is what benchmarks/seeds.py wrote."""
    other_seeds = {} if seeds is None else seeds.set_index(CELL).to_dict("index")
    judged = int((~comparison["verdict"].isin(["not run", "not comparable", "known misprint"])).sum())
    cells = comparison[comparison["verdict"] == "differs"].to_dict("records")
    return [
        (_named(cell), _explained(cell, other_seeds.get(tuple(cell[name] for name in CELL)), judged)) for cell in cells
    ]


def one_more_draw(z, draws, judged):
    """Whether print can be one more draw: a t-test of a new value, at 5 % over all judged cells (Bonferroni).

    These cells were picked out of all because they differ, so that some large z are what chance gives.
    """
    from scipy.stats import t

    return 2 * t.sf(abs(z) / sqrt(1 + 1 / draws), draws - 1) * judged >= LEVEL


def _named(cell):
    place = f"{table_title(cell['table'])}: {task_title(cell['dataset'], cell['sensitive'])}"
    numbers = f"{cell['mean']:.3f}, printed {cell['published_mean']:.3f} ± {cell['published_std']:.3f}"
    return f"{place}, {cell['method']}, {cell['metric']}: {numbers}"


def _explained(cell, seeds, judged):
    note = cell["note"] if isinstance(cell["note"], str) else ""
    if not seeds:
        return note or "unexplained"
    chance = one_more_draw(seeds["z"], seeds["draws"], judged)
    reason = "may be the seed" if chance else "not the seed" if note else "unexplained, and not the seed"
    folds = f" ({seeds['draws']} folds)" if seeds["draws"] > seeds["seeds"] else ""
    others = f"{seeds['seeds']} other seeds{folds} give {seeds['mean']:.3f} ± {seeds['std']:.3f}"
    return "; ".join([*([note] if note else []), f"{reason}: {others}"])
