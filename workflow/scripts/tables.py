"""The paper's tables, ours beside print, as CSV and Markdown."""

from pathlib import Path

import pandas as pd

from fbde import tables
from fbde.files import read_json
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    missing = [entry for entry in map(read_json, snakemake.input.data) if entry["status"] == "missing"]
    comparison = pd.read_csv(snakemake.input.comparison)
    written = tables.write_all(comparison, Path(snakemake.output[0]), missing, snakemake.params.smoke)
    log(f"wrote {', '.join(path.name for path in written)}")
