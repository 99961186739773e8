"""Every published cell beside what came out, and the summary a run ends with."""

import pandas as pd

from fbde import published
from fbde.files import read_json, write_table, write_text
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    config = snakemake.params.config
    comparison = published.compare(pd.read_parquet(snakemake.input.scores), config)
    missing = [entry for entry in map(read_json, snakemake.input.data) if entry["status"] == "missing"]
    comparison = published.mark_missing(comparison, missing, config)
    write_table(comparison.round(6), snakemake.output.comparison)
    write_text(snakemake.output.summary, published.summary(comparison, missing, config["smoke"]))
