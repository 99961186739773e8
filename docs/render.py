"""Fill the README's blocks from what ran: the summary of reference/, and the output of its own example.

Run: python docs/render.py            writes README.md
     python docs/render.py --check    exits 1 if README.md is not what would be written
"""

import contextlib
import io
import re
import sys
from pathlib import Path

from fbde.files import read_json, write_text

ROOT = Path(__file__).resolve().parent.parent


def render(text):
    """README text with every block between ``<!-- name -->`` and ``<!-- /name -->`` made anew."""
    text = fill(text, "certificate", code(run_example(text)))
    return fill(text, "results", results()) if (ROOT / "reference" / "summary.txt").exists() else text


def fill(text, name, content):
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    return pattern.sub(lambda match: match[1] + content + match[2], text)


def code(content):
    return f"```text\n{content.strip()}\n```\n"


def run_example(text):
    """Run the README's Python block and give what it prints."""
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {})
    return printed.getvalue()


def results():
    """The summary of the last full run, its time and memory, and a piece of a table."""
    reference = ROOT / "reference"
    run = read_json(reference / "run.json")
    note = f" ({run['note']})" if run["note"] else ""
    summary = (reference / "summary.txt").read_text().strip()
    return (
        f"The last full run (commit `{run['commit'][:10]}`): {run['minutes']:.0f} minutes on {run['cores']} cores"
        f"{note}, {run['peak_gb']:.1f} GB in its largest job. It ended with\n\n{code(summary)}"
        "\nTables, figures and every score of it are in [reference/](reference); "
        "[docs/results.md](docs/results.md) shows them.\n"
    )


if __name__ == "__main__":
    readme = ROOT / "README.md"
    current = readme.read_text()
    wanted = render(current)
    if "--check" in sys.argv:
        sys.exit(0 if wanted == current else "README.md is not what docs/render.py makes; run it")
    write_text(readme, wanted)
