"""Every published cell beside what came out: verdicts, and a one-screen summary."""

from pathlib import Path

import numpy as np
import pandas as pd

from fbde import datasets

CELL = ["table", "dataset", "sensitive", "method", "metric"]
TOLERANCE = 0.005
VERDICTS = ["match", "near", "differs", "not run", "known misprint", "not comparable"]
# Seconds of another machine and another implementation: shown side by side, not judged.
NOT_COMPARABLE = {"time"}


def paper(folder="published"):
    return pd.read_csv(Path(folder) / "paper.csv").rename(columns={"mean": "published_mean", "std": "published_std"})


def misprints(folder="published"):
    return pd.read_csv(Path(folder) / "misprints.csv", dtype={"folds": "string"})


def paper_tasks(tasks):
    """(dataset, sensitive) in the paper → (dataset, sensitive) of the run that stands for it."""
    found = {}
    for dataset, attributes in tasks.items():
        source = datasets.get(dataset)
        found |= {source.paper[name]: (dataset, name) for name in attributes if name in source.paper}
    return found


def runs_for(methods, table, label, dataset):
    """The method id that supplies a paper's column in a table: one bound to the table goes first."""
    fits = [
        (method.get("tables") is None, name)
        for name, method in methods.items()
        if method.get("paper") == label
        and table in (method.get("tables") or [table])
        and dataset in (method.get("only") or [dataset])
    ]
    return min(fits)[1] if fits else None


def compare(scores, config, folder="published"):
    """One row per published cell: what was printed, what came out, and a verdict."""
    final = scores[scores["step"].isna() & (scores["variant"] == "published") & (scores["status"] == "done")]
    values = {
        key: group.set_index("fold")["value"]
        for key, group in final.groupby(["dataset", "sensitive", "method", "metric"])
    }
    ended = dict(iter(scores[scores["status"] != "done"].groupby(["dataset", "sensitive", "method"])))
    tasks = paper_tasks(config["tasks"])
    noted = misprints(folder).set_index(CELL)
    rows = []
    for cell in paper(folder).to_dict("records"):
        key = tuple(cell[name] for name in CELL)
        dataset, sensitive = tasks.get((cell["dataset"], cell["sensitive"]), (None, None))
        run = runs_for(config["methods"], cell["table"], cell["method"], dataset) if dataset else None
        folds = values.get((dataset, sensitive, run, cell["metric"]), pd.Series(dtype=float))
        left = ended.get((dataset, sensitive, run))
        note = noted.loc[key] if key in noted.index else None
        if note is not None and note["field"] == "folds":
            folds = folds[folds.index.isin([int(number) for number in note["folds"].split()])]
        ran = len(folds) > 0
        mean, std = (folds.mean(), folds.std(ddof=0)) if ran else (np.nan, np.nan)
        rows.append(
            {
                **cell,
                "run": run if ran else None,
                "mean": mean,
                "std": std,
                "delta": mean - cell["published_mean"],
                "verdict": _verdict(cell, mean, ran, note),
                "note": note["reason"] if note is not None else unfinished(left, cell["metric"]),
            }
        )
    return pd.DataFrame(rows)


def unfinished(ended, metric):
    """Why a run gave no value of a metric in some folds, or in any: one sentence, empty if it gave all."""
    if ended is None:
        return ""
    rows = ended[ended["metric"].isna() | ((ended["metric"] == metric) & (ended["variant"] == "published"))]
    return "; ".join(f"{status} ({reason})" for status, reason in rows.groupby(["status", "reason"]).groups)


def mark_missing(comparison, missing, config):
    """Say in each cell that was not run for want of a dataset which one it was."""
    stands_for = {ours[0]: printed for printed, ours in paper_tasks(config["tasks"]).items()}
    names = {}
    for entry in missing:
        if entry["dataset"] in stands_for:
            names[stands_for[entry["dataset"]][0]] = entry["dataset"]
    absent = comparison["dataset"].map(names)
    note = comparison["note"].where(absent.isna(), "dataset " + absent.astype("string") + " is missing")
    return comparison.assign(note=note, missing_dataset=absent)


def _verdict(cell, mean, ran, note):
    if not ran:
        return "not run"
    if cell["metric"] in NOT_COMPARABLE:
        return "not comparable"
    if note is not None and note["field"] == "mean":
        return "known misprint"
    # Six decimals, as in comparison.csv: floating point must not decide at the boundary.
    delta = round(abs(mean - cell["published_mean"]), 6)
    allowed = max(TOLERANCE, cell["published_std"])
    return "match" if delta <= allowed else "near" if delta <= 2 * allowed else "differs"


def count_verdicts(comparison):
    """Cells per table and verdict, with a last row for all of them."""
    counts = pd.crosstab(comparison["table"], comparison["verdict"]).reindex(columns=VERDICTS, fill_value=0)
    counts = counts.reindex(comparison["table"].unique())
    counts.loc["all"] = counts.sum()
    counts.insert(0, "cells", counts.sum(axis=1))
    return counts


def summary(comparison, missing=(), smoke=False):
    """The lines a run ends with: cells per verdict, and which datasets are missing and how to add them."""
    lines = [
        "",
        "Published cells, by verdict" + (" (SMOKE RUN: one fold, reduced settings)" if smoke else ""),
    ]
    lines += count_verdicts(comparison).reset_index().to_string(index=False).splitlines()
    for entry in missing:
        lines += ["", missing_sentence(entry)]
    return "\n".join(lines) + "\n"


def missing_sentence(entry):
    return (
        f"MISSING DATASET {entry['dataset']}: {entry['reason']}.\n"
        f"To add it, put {', '.join(entry['files'])} into a folder and run: {entry['remedy']}"
    )
