"""All metric rows in one table; a run that could not be is a row with its reason."""

import pandas as pd

from fbde.files import read_json, write_table
from fbde.scores import missing_rows
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    reports = [read_json(path) for path in snakemake.input.data]
    tables = [pd.read_parquet(path) for path in snakemake.input.scores]
    absent = missing_rows(reports, snakemake.params.runs)
    scores = pd.concat([*tables, *([absent] if len(absent) else [])], ignore_index=True)
    log(f"{len(scores)} rows from {len(tables)} runs, {len(absent)} runs without data")
    for path in snakemake.output:
        write_table(scores, path)
