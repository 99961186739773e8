"""Raw files to one tidy, typed, checked table and its description."""

from fbde import datasets
from fbde.files import read_json, write_json, write_table
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    name = snakemake.wildcards.dataset
    dataset = datasets.get(name)
    table = dataset.load(read_json(snakemake.input[0])["paths"])
    log(f"{name}: {len(table)} rows, {table.shape[1]} columns")
    write_table(table, snakemake.output.table)
    write_json(snakemake.output.description, {"dataset": name, "rows": len(table), **dataset.describe()})
