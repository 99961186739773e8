"""The report: one HTML file that works offline, with every claim, cell, table and figure, and where they come from."""

import base64
import json
import math
from pathlib import Path

import jinja2

from fbde.published import VERDICTS, count_verdicts, missing_sentence
from fbde.reporting import htmltables, leveragetable, statistics
from fbde.reporting.claims import judge_all
from fbde.reporting.differences import differences
from fbde.reporting.figures import FIGURES
from fbde.reporting.figures.ranks import rankings
from fbde.reporting.findings import DEVIATIONS, all_findings
from fbde.reporting.tables import COMPANION, LAYOUTS, OWN, SMOKE, build_all, final_values, table_title, task_title
from fbde.tasks import seed_of

TEMPLATES = Path(__file__).parent / "templates"
NO_PRINT = "no print"
INLINE_LIMIT = 1_500_000  # bytes of a download that is put into the page itself
GROUPS = {
    "agreement": "Agreement with print",
    "iterations": "Over boosting iterations",
    "trade-offs": "Trade-offs between methods",
    "theory": "Theory and certificates",
    "interpretability": "Weak learners",
    "cost": "Cost",
}


def render(results, *, figures, provenance, downloads=(), published="published"):
    """The page's text. ``figures`` is the folder with the SVG files, ``downloads`` are files to be offered."""
    tests = statistics.paired_tests(results.scores)
    tables = build_all(results.scores, results.comparison, results.config, results.missing, results.smoke)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("report.html").render(
        smoke=SMOKE if results.smoke else "",
        counts=verdict_counts(results.comparison),
        by_table=_count_rows(results.comparison),
        verdicts=VERDICTS,
        missing=[missing_sentence(entry) for entry in results.missing],
        claims=judge_all(results),
        evidence_titles=evidence_titles(),
        cells=script_json(cells(results, tests)),
        tables=[_table_entry(table) for table in tables],
        leverage=_leverage_entry(results),
        table_css=htmltables.CSS,
        figures=_figures(Path(figures)),
        tests=_tests_summary(tests),
        rankings=rankings(results),
        findings=all_findings(results, published),
        deviations=DEVIATIONS,
        differences=differences(results.comparison),
        provenance=provenance,
        outcomes=outcomes(results.scores),
        downloads=[_download(Path(path)) for path in downloads if Path(path).exists()],
    )


def verdict_counts(comparison):
    """Verdict → number of published cells."""
    found = comparison["verdict"].value_counts()
    return {name: int(found.get(name, 0)) for name in VERDICTS}


def _count_rows(comparison):
    counts = count_verdicts(comparison)
    return [(table_title(name), row.to_dict()) for name, row in counts.iterrows()]


def evidence_titles():
    """Anchor → title of everything a claim may point to."""
    found = {f"figure-{name}": figure.title for name, figure in FIGURES.items()}
    found |= {f"table-{name}": layout.title for name, layout in LAYOUTS.items()}
    found |= {f"table-{name}": title for name, title in OWN.items()}
    return found | {f"table-{leveragetable.NAME}": leveragetable.TITLE}


# --------------------------------------------------------------------------------------------- the cells


def cells(results, tests):
    """One entry per published cell and per value that has no counterpart in print, ready for JSON."""
    values = final_values(results.scores)
    p = {(row["dataset"], row["sensitive"], row["method"], row["metric"]): row for row in tests.to_dict("records")}
    entries, used = [], set()
    for cell in results.comparison.to_dict("records"):
        task = results.of_paper.get((cell["dataset"], cell["sensitive"]))
        run = cell["run"] if isinstance(cell["run"], str) else None
        entry = {
            "table": table_title(cell["table"]),
            "task": task_title(cell["dataset"], cell["sensitive"]),
            "dataset": cell["dataset"],
            "method": cell["method"],
            "metric": cell["metric"],
            "published": _pair(cell["published_mean"], cell["published_std"]),
            "ours": _pair(cell["mean"], cell["std"]) if run else None,
            "delta": _rounded(cell["delta"]) if run else None,
            "verdict": cell["verdict"],
            "note": cell["note"] if isinstance(cell["note"], str) else "",
        }
        if task and run:
            used.add((*task, run, cell["metric"]))
            entry |= _details(results, values, p, (*task, run, cell["metric"]))
        entries.append(entry)
    return entries + _without_print(results, values, p, used)


def _without_print(results, values, p, used):
    entries = []
    for dataset, sensitive, method, metric, variant in values:
        key = dataset, sensitive, method, metric
        if variant == "published" and key not in used:
            entries.append(
                {
                    "table": "not in the paper",
                    "task": task_title(dataset, sensitive),
                    "dataset": dataset,
                    "method": method,
                    "metric": metric,
                    "published": None,
                    "ours": _pair(*values[*key, variant]),
                    "delta": None,
                    "verdict": NO_PRINT,
                    "note": "",
                }
                | _details(results, values, p, key)
            )
    return entries


def _details(results, values, p, key):
    """What a click on a cell shows: the folds with seed and seconds, the other variant, the paired test."""
    dataset, sensitive, method, metric = key
    seconds = results.folds((dataset, sensitive), method, "time")
    base = results.config.get("seed", 0)
    folds = [
        [
            int(fold),
            _rounded(value),
            seed_of(base, dataset, sensitive, method, int(fold)),
            _rounded(seconds.get(fold, math.nan)),
        ]
        for fold, value in results.folds((dataset, sensitive), method, metric).items()
    ]
    variants = {name: _pair(*values[*key, name]) for name in ("exact", "corrected", "hard") if (*key, name) in values}
    test = p.get((dataset, sensitive, method, metric))
    entry = {"run": method, "folds": folds, "variants": variants}
    if COMPANION.get(metric) == "exact":
        entry["hint"] = "exact: from the density instead of samples"
    if test:
        numbers = {name: _rounded(test[name]) for name in ("difference", "p", "p_holm")}
        entry["test"] = numbers | {"reference": test["reference"]}
    return entry


def _rounded(value):
    return None if value is None or math.isnan(value) else round(float(value), 6)


def _pair(mean, std):
    return [_rounded(mean), _rounded(std)]


def script_json(value):
    """JSON that may stand inside of a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# ------------------------------------------------------------------------------------------ other sections


def _table_entry(table):
    return {"name": table.name, "title": table.title, "html": htmltables.fragment(table), "ran": table.ran}


def _leverage_entry(results):
    rows = leveragetable.rows(results.scores, results.config)
    html = htmltables.plain(leveragetable.CAPTION, leveragetable.HEADER, rows)
    return {"name": leveragetable.NAME, "title": leveragetable.TITLE, "html": html}


def _figures(folder):
    """(group title, [figure]) with the SVG as a data URI; figures that are not in the folder are left out."""
    found = {title: [] for title in GROUPS.values()}
    for name, figure in FIGURES.items():
        path = folder / f"{name}.svg"
        if path.exists():
            uri = "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()
            found[GROUPS[figure.group]].append(
                {"name": name, "title": figure.title, "caption": figure.caption, "uri": uri}
            )
    return [(title, group) for title, group in found.items() if group]


def _tests_summary(tests):
    known = tests["p_holm"].dropna()
    return {"reference": statistics.REFERENCE, "tests": len(known), "below": int((known < 0.05).sum())}


def outcomes(scores):
    """Runs that gave nothing: (status, reason, methods, number of tasks)."""
    bad = scores[scores["status"].isin(["not applicable", "failed", "timed out", "missing"])]
    rows = []
    for (status, reason), group in bad.groupby(["status", "reason"], sort=False, observed=True):
        tasks = group[["dataset", "sensitive"]].drop_duplicates()
        named = ", ".join(task_title(*task) for task in tasks.itertuples(index=False, name=None))
        rows.append((status, reason, ", ".join(dict.fromkeys(group["method"])), named))
    return rows


def _download(path):
    """A file as a data URI if it is small, else as a link to the file beside the report."""
    content = path.read_bytes()
    kind = {".csv": "text/csv", ".json": "application/json", ".parquet": "application/octet-stream"}.get(
        path.suffix, "text/plain"
    )
    inline = len(content) <= INLINE_LIMIT
    href = f"data:{kind};base64,{base64.b64encode(content).decode()}" if inline else path.name
    return {"name": path.name, "href": href, "inline": inline, "kilobytes": round(len(content) / 1024)}
