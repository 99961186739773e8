"""The paper's tables, ours beside print, as CSV, Markdown, LaTeX and HTML."""

from pathlib import Path

import pandas as pd

from fbde.files import read_json
from fbde.reporting import tablefiles
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    config = snakemake.params.config
    missing = [entry for entry in map(read_json, snakemake.input.data) if entry["status"] == "missing"]
    scores, comparison = pd.read_parquet(snakemake.input.scores), pd.read_csv(snakemake.input.comparison)
    folder = Path(snakemake.output[0])
    written = tablefiles.write_all(scores, comparison, config, folder, missing, config["smoke"])
    log(f"wrote {', '.join(path.name for path in written)}")
