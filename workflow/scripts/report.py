"""The report: one HTML file that works offline, and the provenance of the results."""

from fbde.files import write_json, write_text
from fbde.reporting import provenance, report
from fbde.reporting.figures.data import Results
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    files, config = snakemake.input, snakemake.params.config
    results = Results.read(files.scores, files.comparison, config, data=files.data, trees=files.trees)
    origin = provenance.collect(config)
    downloads = [files.comparison, files.statistics, files.scores_csv]
    page = report.render(results, figures=files.figures, provenance=origin, downloads=downloads)
    write_json(snakemake.output.provenance, origin | {"configuration": config})
    write_text(snakemake.output.page, page)
    log(f"{len(page) / 1e6:.1f} MB")
