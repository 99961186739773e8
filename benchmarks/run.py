"""Run every benchmark and write docs/benchmarks.md. Ratios are taken within one run on one machine.

Run: python benchmarks/run.py            all of them
     python benchmarks/run.py finite     some of them; the others keep their section
"""

import importlib
import platform
import re
import sys
from pathlib import Path

from fbde.files import write_text

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent / "docs" / "benchmarks.md"
NAMES = ["finite", "baselines", "tabfairgan", "samplers"]
HEAD = "# Benchmarks\n\nMade by `make benchmark`; every ratio was taken in one run.\n"


def main(names):
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    sections = _sections(REPORT.read_text()) if REPORT.exists() else {}
    for name in names or NAMES:
        print(f"running {name} …", file=sys.stderr, flush=True)
        text = importlib.import_module(name).main().strip()
        sections[name] = f"{text}\n\n*{platform.machine()}, Python {platform.python_version()}*"
    body = "\n".join(f"\n<!-- {name} -->\n{sections[name]}" for name in NAMES if name in sections)
    write_text(REPORT, HEAD + body + "\n")
    print(f"wrote {REPORT.relative_to(HERE.parent)}", file=sys.stderr)


def _sections(text):
    parts = re.split(r"<!-- (\w+) -->\n", text)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main(sys.argv[1:])
