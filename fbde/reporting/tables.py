"""The paper's tables as data, ours beside print and corrected forms below, and tables of what is not in the paper.

A :class:`Table` knows nothing of formats: :mod:`tablefiles` beside it writes it as CSV and Markdown, :mod:`latex` and
:mod:`htmltables` as their names say.
"""

import math
from dataclasses import dataclass, field

import pandas as pd

from fbde import datasets
from fbde.metrics import METRICS
from fbde.published import missing_sentence, paper_tasks

SIGNS = {
    "match": "✓",
    "near": "≈",
    "differs": "✗",
    "known misprint": "†",
    "not comparable": "",
    "not run": "·",
}
LEGEND = (
    "Ours ± std over the folds, with the published number below. "
    "✓ match, ≈ near, ✗ differs, † known misprint, · not run. "
    "Bold: best of the row, the data themselves and the controls left out."
)
OWN_LEGEND = "Mean ± std over the folds. Bold: best of the row, the data themselves and the controls left out."
SMOKE = "SMOKE RUN: one fold, reduced settings. Not the paper's experiment."
# What is shown below a published form, where it prints differently: the form without its flaw.
COMPANION = {"SR_c": "corrected", "cPR": "corrected", "cSR": "corrected", "dist": "corrected", "KL": "exact"}
CONTROLS = {"Data", "data", "shuffled"}
PARTS = {"data": "data", "prediction": "pred", "clustering": "clus", "cost": "cost"}


@dataclass(frozen=True)
class Layout:
    """A table's title and caption, and whether its rows are grouped by task or by dataset and attribute."""

    title: str
    caption: str
    by: str = "task"


LAYOUTS = {
    "summary_experiments_table": Layout(
        "Summary: COMPAS and Adult", "FBDE (T = 32) and baselines on COMPAS (race) and Adult (sex)."
    ),
    "full_experiments_table": Layout(
        "Full results: COMPAS and Adult", "FBDE (T = 32) and baselines on COMPAS and Adult, both sensitive attributes."
    ),
    "runtime": Layout(
        "Runtime",
        "Seconds to fit one fold. Published: another machine and implementation, so shown and not judged. "
        "The paper prints 'Adult (sex)' twice; the second is race.",
    ),
    "summary_continuous_table": Layout(
        "Continuous domain: Minneapolis",
        "FBDE (T = 16) on Minneapolis. The printed numbers are those of S = searched, Y = race.",
    ),
    "full_experiments_table_extra": Layout(
        "Full results: Dutch and German", "FBDE (T = 32, prior mixing 1/2) and baselines on Dutch and German."
    ),
    "no_mixing_experiments_table": Layout(
        "Dutch and German without mixing", "FBDE (T = 32) without prior mixing.", by="dataset"
    ),
    "inprocessing": Layout(
        "In-processing", "Predictions from FBDE's samples against in-processing algorithms.", by="dataset"
    ),
}
OWN = {"other_methods": "Methods that are not in print", "unpublished_tasks": "Tasks that are not in print"}


@dataclass(frozen=True)
class Cell:
    """What came out and what was printed; NaN where there is nothing."""

    mean: float = math.nan
    std: float = math.nan
    published_mean: float = math.nan
    published_std: float = math.nan
    verdict: str = ""
    note: str = ""
    run: str = ""
    best: bool = False
    best_published: bool = False

    @property
    def ran(self):
        return not math.isnan(self.mean)

    @property
    def printed(self):
        return not math.isnan(self.published_mean)


@dataclass(frozen=True)
class Row:
    """A metric of a task in one variant; ``block`` and ``part`` are the row's groups."""

    dataset: str
    sensitive: str
    metric: str
    variant: str
    block: str
    part: str
    cells: dict

    @property
    def label(self):
        return self.metric if self.variant == "published" else f"{self.metric}, {self.variant}"


@dataclass(frozen=True)
class Table:
    """Rows over ``columns`` (the paper's) and ``extra`` columns (methods that the paper does not have there)."""

    name: str
    title: str
    caption: str
    columns: list
    extra: list
    rows: list
    notes: list = field(default_factory=list)
    smoke: bool = False

    @property
    def ran(self):
        return any(cell.ran for row in self.rows for cell in row.cells.values())

    @property
    def legend(self):
        return LEGEND if self.columns else OWN_LEGEND


def number(value):
    """Three decimals without the leading zero, as the paper prints them."""
    if math.isnan(value):
        return "–"
    text = f"{round(value, 3) + 0.0:.3f}"  # adding 0 turns −0 into 0
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def final_values(scores):
    """(dataset, sensitive, method, metric, variant) → (mean, population std) of the final step."""
    final = scores[scores["step"].isna() & (scores["status"] == "done")]
    groups = final.groupby(["dataset", "sensitive", "method", "metric", "variant"], observed=True)["value"]
    return {key: (float(values.mean()), float(values.std(ddof=0))) for key, values in groups}


def build_all(scores, comparison, config, missing=(), smoke=False):
    """Every table of the paper, one of the methods and one of the tasks that are not in it."""
    values = final_values(scores)
    tables = [
        _build(name, part, values, config, missing, smoke) for name, part in comparison.groupby("table", sort=False)
    ]
    own = [_other_methods(values, config, smoke), _other_tasks(values, config, smoke)]
    return [*tables, *(table for table in own if table.rows)]


def _build(name, part, values, config, missing, smoke):
    layout = LAYOUTS.get(name, Layout(name, ""))
    tasks = paper_tasks(config["tasks"])
    columns = list(part["method"].unique())
    extra = [method for method, entry in config["methods"].items() if _is_extra(entry, name)]
    cells = {
        tuple(cell[k] for k in ("dataset", "sensitive", "metric", "method")): cell for cell in part.to_dict("records")
    }
    rows = []
    for dataset, sensitive, metric in (
        part[["dataset", "sensitive", "metric"]].drop_duplicates().itertuples(index=False)
    ):
        task = tasks.get((dataset, sensitive), (dataset, sensitive))
        printed = {c: cells.get((dataset, sensitive, metric, c)) for c in columns}
        found = {c: _cell(cell) for c, cell in printed.items() if cell is not None}
        found |= {
            c: Cell(*values[*task, c, metric, "published"], run=c)
            for c in extra
            if (*task, c, metric, "published") in values
        }
        block, label = _groups(layout, task[0], dataset, sensitive, metric)
        place = dataset, sensitive, metric
        rows.append(Row(*place, "published", block, label, mark_best(found, metric)))
        for variant, cells_of_variant in _companions(found, task, metric, values):
            rows.append(Row(*place, variant, block, label, mark_best(cells_of_variant, metric)))
    absent = set(part["missing_dataset"].dropna()) if "missing_dataset" in part else set()
    notes = [missing_sentence(entry) for entry in missing if entry["dataset"] in absent]
    table = Table(name, layout.title, layout.caption, columns, extra, rows, notes, smoke)
    if not table.ran:
        table.notes.insert(0, "Nothing of this table was run; what stands here is print.")
    return table


def _is_extra(entry, table):
    """Whether a method is not in the paper but was put into this table of it by the configuration."""
    return entry.get("paper") is None and table in (entry.get("tables") or [])


def _cell(entry):
    ran = entry["verdict"] != "not run"
    return Cell(
        entry["mean"] if ran else math.nan,
        entry["std"] if ran else math.nan,
        entry["published_mean"],
        entry["published_std"],
        entry["verdict"],
        _text(entry.get("note")),
        _text(entry.get("run")),
    )


def _text(value):
    return value if isinstance(value, str) else ""


def _companions(cells, task, metric, values):
    """Rows that stand below the published form because it has a flaw: (name of the variant, cells)."""
    all_folds = {
        c: Cell(*values[*task, cell.run, metric, "published"], run=cell.run)
        for c, cell in cells.items()
        if cell.note and (*task, cell.run, metric, "published") in values
    }
    variant = COMPANION.get(metric)
    other = {
        c: Cell(*values[*task, cell.run, metric, variant], run=cell.run)
        for c, cell in cells.items()
        if (*task, cell.run, metric, variant) in values
    }
    for name, found in (("all folds", all_folds), (variant, other)):
        if any(number(cell.mean) != number(cells[c].mean) for c, cell in found.items()):
            yield name, found


def mark_best(cells, metric):
    """The cells with ``best`` set where ours, or print's, is the best of its row to three decimals."""
    direction = METRICS[metric].direction
    contest = {c: cell for c, cell in cells.items() if c not in CONTROLS}
    ours = _best([cell.mean for cell in contest.values()], direction)
    printed = _best([cell.published_mean for cell in contest.values()], direction)
    return {
        c: Cell(
            **{
                k: getattr(cell, k)
                for k in ("mean", "std", "published_mean", "published_std", "verdict", "note", "run")
            },
            best=c in contest and cell.ran and round(cell.mean, 3) == ours,
            best_published=c in contest and cell.printed and round(cell.published_mean, 3) == printed,
        )
        for c, cell in cells.items()
    }


def _best(values, direction):
    """Best of at least two numbers, to three decimals."""
    known = [value for value in values if not math.isnan(value)]
    return round(max(known, key=lambda value: direction * value), 3) if len(known) > 1 else None


def table_title(name):
    return LAYOUTS[name].title if name in LAYOUTS else name


def task_title(dataset, sensitive):
    return f"{dataset_title(dataset)} (S = {sensitive})"


def dataset_title(dataset):
    return datasets.get(dataset).title if dataset in datasets.names() else dataset


def _groups(layout, run_dataset, dataset, sensitive, metric):
    title = dataset_title(dataset if dataset in datasets.names() else run_dataset)
    if layout.by == "dataset":
        return title, sensitive
    return f"{title} (S = {sensitive})", PARTS[METRICS[metric].family]


# ----------------------------------------------------------------------- what is not in the paper


def _other_methods(values, config, smoke):
    """The paper's tasks with methods that are not in it: ours, and what users would pick instead."""
    methods = [m for m, entry in config["methods"].items() if m in CONTROLS or entry.get("paper") is None]
    caption = (
        "Ours and not the paper's: FBDE with the sound leverage, the baselines as they are meant, and what users would "
        "pick instead. In the corrected form where a metric has one; hard: of decisions, not of probabilities."
    )
    tasks = paper_tasks(config["tasks"]).values()
    return _own("other_methods", caption, tasks, methods, values, smoke)


def _other_tasks(values, config, smoke):
    """Tasks of the configuration that the paper does not print, all methods."""
    known = set(paper_tasks(config["tasks"]).values())
    tasks = [(d, s) for d, attributes in config["tasks"].items() for s in attributes if (d, s) not in known]
    caption = "Tasks of the configuration that are not in the paper's tables; there is nothing to compare them with."
    return _own("unpublished_tasks", caption, tasks, list(config["methods"]), values, smoke)


def _own(name, caption, tasks, methods, values, smoke):
    having = {key[:3] for key in values}
    methods = [m for m in methods if any((*task, m) in having for task in tasks)]
    rows = []
    for task in tasks if set(methods) - CONTROLS else ():
        for metric, facts in METRICS.items():
            found = {
                variant: {
                    m: Cell(*values[*task, m, metric, variant], run=m)
                    for m in methods
                    if (*task, m, metric, variant) in values
                }
                for variant in facts.variants
            }
            for variant in ("corrected" if found.get("corrected") else "published", "hard"):
                if cells := found.get(variant):
                    block, part = _groups(Layout("", ""), task[0], *task, metric)
                    rows.append(Row(*task, metric, variant, block, part, mark_best(cells, metric)))
    return Table(name, OWN[name], caption, [], methods, rows, [], smoke)


def long_form(table):
    """A table as a data frame with one row per cell."""
    return pd.DataFrame(
        [
            {
                "table": table.name,
                "dataset": row.dataset,
                "sensitive": row.sensitive,
                "metric": row.metric,
                "variant": row.variant,
                "method": column,
                "run": cell.run,
                "mean": cell.mean,
                "std": cell.std,
                "published_mean": cell.published_mean,
                "published_std": cell.published_std,
                "verdict": cell.verdict,
                "best": cell.best,
                "note": cell.note,
            }
            for row in table.rows
            for column, cell in row.cells.items()
        ]
    )
