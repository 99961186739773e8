"""The figures of the paper and ours, as SVG, PDF and PNG."""

from pathlib import Path

from fbde.reporting import figures
from fbde.reporting.figures.data import Results
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    files = snakemake.input
    results = Results.read(files.scores, files.comparison, snakemake.params.config, data=files.data, trees=files.trees)
    figures.write_all(results, Path(snakemake.output[0]), report=log)
