"""The paper's tables: ours beside print."""

from fbde.files import write_table, write_text
from fbde.published import missing_sentence

SIGNS = {
    "match": "✓",
    "near": "≈",
    "differs": "✗",
    "known misprint": "†",
    "not comparable": "",
    "not run": "",
}
LEGEND = "Ours ± std (published ± std). ✓ match, ≈ near, ✗ differs, † known misprint, · not run."


def pivot(comparison):
    """One table of the paper: rows are task and metric, columns are methods, cells hold ours and print."""
    methods = comparison["method"].unique()
    cells = comparison.assign(cell=[_cell(row) for row in comparison.to_dict("records")])
    table = cells.pivot_table(
        index=["dataset", "sensitive", "metric"], columns="method", values="cell", aggfunc="first", sort=False
    )
    return table.reindex(columns=methods).fillna("–").reset_index()


def _cell(row):
    printed = f"({_number(row['published_mean'])} ± {_number(row['published_std'])})"
    if row["verdict"] == "not run":
        return f"· {printed}"
    return f"{_number(row['mean'])} ± {_number(row['std'])} {printed} {SIGNS[row['verdict']]}".rstrip()


def _number(value):
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def markdown(table):
    """A data frame as a Markdown table."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * table.shape[1]]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def write_all(comparison, folder, missing=(), smoke=False):
    """Write every table of the paper as <name>.csv (long) and <name>.md (as printed)."""
    written = []
    for name, part in comparison.groupby("table", sort=False):
        head = [f"# {name}", ""] + (["**SMOKE RUN: one fold, reduced settings.**", ""] if smoke else [])
        absent = [entry for entry in missing if entry["dataset"] in set(part["missing_dataset"].dropna())]
        notes = [f"> {line}" for entry in absent for line in missing_sentence(entry).splitlines()]
        text = "\n".join([*head, LEGEND, "", *notes, *([""] if notes else []), markdown(pivot(part))])
        write_table(part, folder / f"{name}.csv")
        write_text(folder / f"{name}.md", text)
        written += [folder / f"{name}.csv", folder / f"{name}.md"]
    return written
