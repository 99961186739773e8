"""The table of scores: one row per dataset, sensitive attribute, method, fold, step, metric and variant."""

import math

import pandas as pd

from fbde import evaluate

TYPES = {
    "dataset": "string",
    "sensitive": "string",
    "method": "string",
    "fold": "Int64",
    "step": "Int64",
    "metric": "string",
    "variant": "string",
    "value": "Float64",
    "status": "string",
    "reason": "string",
    "seconds": "Float64",
    "peak_mb": "Float64",
}


def table(rows):
    """Rows (dicts) as a typed table with every column of TYPES."""
    return pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES)


def score_outcomes(method, outcomes, folds, report=print):
    """Score each fold of a run. A metric that has no value there is a row with the status "undefined"."""
    rows = []
    for outcome, fold in zip(outcomes, folds, strict=True):
        identity = {
            "dataset": fold.task.dataset,
            "sensitive": fold.task.sensitive,
            "method": method,
            "fold": fold.number,
            "seconds": outcome.seconds,
            "peak_mb": outcome.peak_mb,
        }
        if outcome.status != "done":
            rows.append({**identity, "status": outcome.status, "reason": outcome.reason})
            continue
        found = evaluate.score(outcome.result, fold)
        found.append({"metric": "time", "variant": "published", "value": outcome.seconds})
        for entry in found:
            undefined = math.isnan(entry["value"])
            status, reason = ("undefined", "a cluster or group is empty") if undefined else ("done", "")
            rows.append({**identity, **entry, "status": status, "reason": reason})
        report(f"fold {fold.number}: {len(found)} rows")
    return table(rows)


def missing_rows(reports, runs):
    """A row for each run whose dataset no source could supply."""
    reasons = {entry["dataset"]: entry["reason"] for entry in reports if entry["status"] == "missing"}
    return table(
        [
            {"dataset": d, "sensitive": s, "method": m, "status": "missing", "reason": reasons[d]}
            for d, s, m in runs
            if d in reasons
        ]
    )
