"""Every method against the reference in every cell: corrected paired tests, with Holm's p over all of them."""

import pandas as pd

from fbde.files import write_table
from fbde.reporting import statistics
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    tests = statistics.paired_tests(pd.read_parquet(snakemake.input[0]))
    log(f"{len(tests)} paired tests against {statistics.REFERENCE}")
    write_table(tests.round(9), snakemake.output[0])
