"""The weak learner of a dataset's first boosting round, or why there is none."""

import pandas as pd

from fbde.files import write_json
from fbde.reporting import firsttree
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    config, dataset = snakemake.params.config, snakemake.wildcards.dataset
    if snakemake.input:
        table, fold_of_row = (pd.read_parquet(path) for path in snakemake.input)
        found = firsttree.first_tree(dataset, table, fold_of_row["fold"], config)
        log(found["text"])
    else:
        reason = firsttree.why_absent(dataset, config) or f"the dataset {dataset} is missing"
        found = {"dataset": dataset, "absent": reason}
        log(reason)
    write_json(snakemake.output[0], found)
