"""Put the small results of a full run into reference/, and render docs/results.md and the README from them.

Run: python docs/make_reference.py MINUTES [RESULTS [NOTE]]

MINUTES is the wall time that snakemake printed at the end of the run, NOTE what should be known about it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from fbde.files import read_json, write_json

ROOT = Path(__file__).resolve().parent.parent
FILES = ["comparison.csv", "scores.parquet", "statistics.csv", "summary.txt", "provenance.json"]


def main(minutes, results, note):
    reference = ROOT / "reference"
    for folder in ("tables", "figures", "data", "trees"):
        shutil.rmtree(reference / folder, ignore_errors=True)
    for name in FILES:
        shutil.copyfile(results / name, reference / name)
    for folder in ("tables", "trees"):
        shutil.copytree(results / folder, reference / folder)
    shutil.copytree(results / "figures", reference / "figures", ignore=shutil.ignore_patterns("*.pdf", "*.png"))
    (reference / "data").mkdir()
    for path in (results / "data").glob("*.json"):
        # Where the files lay on this machine is nobody's business.
        write_json(reference / "data" / path.name, {k: v for k, v in read_json(path).items() if k != "paths"})
    provenance = read_json(results / "provenance.json")
    run = {
        "commit": provenance["commit"]["id"],
        "cores": provenance["machine"]["cores"],
        "minutes": minutes,
        "note": note,
        "peak_gb": float(pd.read_parquet(results / "scores.parquet")["peak_mb"].max()) / 1024,
    }
    write_json(reference / "run.json", run)
    for command in (["-m", "fbde.reporting.resultspage", "reference", "docs/results.md"], ["docs/render.py"]):
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    minutes, results, note = [*sys.argv[1:], ROOT / "results", ""][:3] if len(sys.argv) < 4 else sys.argv[1:4]
    main(float(minutes), Path(results), note)
