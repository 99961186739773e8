"""docs/results.md from a results folder: verdicts, claims, tables and figures of one run, in Markdown.

Run: python -m fbde.reporting.resultspage reference docs/results.md
"""

import os
import sys
from pathlib import Path

import pandas as pd

from fbde.files import read_json, write_text
from fbde.published import count_verdicts, missing_sentence
from fbde.reporting import leveragetable
from fbde.reporting.claims import judge_all
from fbde.reporting.differences import differences
from fbde.reporting.figures import FIGURES
from fbde.reporting.figures.data import Results
from fbde.reporting.findings import all_findings
from fbde.reporting.report import GROUPS
from fbde.reporting.tablefiles import markdown_lines
from fbde.reporting.tables import LAYOUTS, OWN, SMOKE, table_title


def render(results, provenance, *, folder, seeds=None, published="published"):
    """The page's text; ``folder`` is the way from the page to the folder that holds ``tables`` and ``figures``.

    ``seeds`` is what benchmarks/seeds.py wrote there, if it did.
    """
    parts = ["# Results\n", _origin(provenance), f"**{SMOKE}**\n" if results.smoke else ""]
    parts += [f"> {missing_sentence(entry)}\n".replace("\n", "  \n", 1) for entry in results.missing]
    parts += ["## Published cells by verdict\n", _counts(results.comparison)]
    parts += ["## Claims of the paper\n", _claims(results)]
    titles = {leveragetable.NAME: leveragetable.TITLE} | {name: layout.title for name, layout in LAYOUTS.items()} | OWN
    parts += ["## Tables\n", "".join(f"- [{title}]({folder}/tables/{name}.md)\n" for name, title in titles.items())]
    parts += ["## Cells that differ\n", _differences(results.comparison, seeds)]
    parts += ["## Findings, with the numbers of this run\n"]
    parts += ["".join(f"- **{f.title}.** {f.text} {f.evidence}\n" for f in all_findings(results, published))]
    parts += ["## Figures\n", *_figures(folder)]
    return "\n".join(part for part in parts if part) + "\n"


def _origin(provenance):
    commit, machine = provenance["commit"], provenance["machine"]
    return (
        f"Commit `{commit['id'][:12]}` ({commit['date']}), configuration `{provenance['config']}`, "
        f"{provenance['folds']} folds; {machine['cpu']}, {machine['cores']} cores; "
        f"Python {provenance['versions']['python']}.\n"
    )


def _counts(comparison):
    counts = count_verdicts(comparison)
    rows = [[table_title(name), *map(str, row)] for name, row in zip(counts.index, counts.to_numpy(), strict=True)]
    return markdown_lines(["table", *counts.columns], rows)


def _claims(results):
    rows = [
        [found.claim.title, f"**{found.badge}**", f"{found.sentence} {found.claim.remark}".strip(), found.claim.rule]
        for found in judge_all(results)
    ]
    return markdown_lines(["claim", "verdict", "cases", "rule"], rows)


def _differences(comparison, seeds):
    found = differences(comparison, seeds)
    return "\n".join(f"- {text}: {explanation}" for text, explanation in found) + "\n" if found else "None.\n"


def _figures(folder):
    for group, title in GROUPS.items():
        yield f"### {title}\n"
        for name, figure in FIGURES.items():
            if figure.group == group:
                yield f"![{figure.title}]({folder}/figures/{name}.svg)\n\n*{figure.caption}*\n"


if __name__ == "__main__":
    source, page = map(Path, sys.argv[1:3])
    origin, seeds = read_json(source / "provenance.json"), source / "seeds.csv"
    seeds = pd.read_csv(seeds) if seeds.exists() else None
    way = os.path.relpath(source, page.parent)
    write_text(page, render(Results.of_folder(source), origin, folder=way, seeds=seeds))
