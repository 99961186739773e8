"""The test fold of each row."""

import pandas as pd

from fbde.files import write_table
from fbde.stage import stage
from fbde.tasks import split

with stage(snakemake.log[0]) as log:
    rows = len(pd.read_parquet(snakemake.input[0], columns=[]))
    fold = split(rows, snakemake.params.folds, snakemake.params.seed)
    write_table(pd.DataFrame({"fold": fold}), snakemake.output[0])
    log(f"{rows} rows in {snakemake.params.folds} folds")
