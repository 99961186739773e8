"""The cells that differ from print, each with what is known of the reason."""

from fbde.published import CELL
from fbde.reporting.tables import table_title, task_title

SEED_NOISE = 2  # standard deviations over the seeds within which print counts as one more draw


def differences(comparison, seeds=None):
    """(cell, explanation) of each cell whose verdict is "differs"; ``seeds`` is what benchmarks/seeds.py wrote."""
    other_seeds = {} if seeds is None else seeds.set_index(CELL).to_dict("index")
    cells = comparison[comparison["verdict"] == "differs"].to_dict("records")
    return [(_named(cell), _explained(cell, other_seeds.get(tuple(cell[name] for name in CELL)))) for cell in cells]


def _named(cell):
    place = f"{table_title(cell['table'])}: {task_title(cell['dataset'], cell['sensitive'])}"
    numbers = f"{cell['mean']:.3f}, printed {cell['published_mean']:.3f} ± {cell['published_std']:.3f}"
    return f"{place}, {cell['method']}, {cell['metric']}: {numbers}"


def _explained(cell, seeds):
    note = cell["note"] if isinstance(cell["note"], str) else ""
    if not seeds:
        return note or "unexplained"
    by_seed = abs(seeds["z"]) <= SEED_NOISE
    others = f"{seeds['seeds']} other seeds give {seeds['mean']:.3f} ± {seeds['std']:.3f}"
    reason = note or ("within what the seed does" if by_seed else "unexplained, and not the seed")
    return f"{reason}: {others}"
