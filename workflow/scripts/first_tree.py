"""The weak learner of the first boosting round, as the paper shows it, or why there is none."""

import pandas as pd

from fbde.files import write_json
from fbde.reporting import firsttree
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    config = snakemake.params.config
    if snakemake.input:
        table, fold_of_row = (pd.read_parquet(path) for path in snakemake.input)
        found = firsttree.first_tree(table, fold_of_row["fold"], config)
        log(found["text"])
    else:
        found = firsttree.absent(firsttree.why_absent(config) or f"the dataset {firsttree.DATASET} is missing")
        log(found["absent"])
    write_json(snakemake.output[0], found)
