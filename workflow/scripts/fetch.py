"""Find the raw files of a dataset, or say why there are none and how to add them."""

from fbde import datasets
from fbde.errors import DataMissing
from fbde.files import write_json
from fbde.stage import stage

with stage(snakemake.log[0]) as log:
    name = snakemake.wildcards.dataset
    files = [raw.name for raw in datasets.get(name).files]
    report = {"dataset": name, "status": "ready", "files": files}
    try:
        paths = datasets.fetch_all(name, data_dir=snakemake.params.data_dir, report=log)
        report["paths"] = {file: str(path.resolve()) for file, path in paths.items()}
    except DataMissing as error:
        if snakemake.params.require_all:
            raise
        log(str(error))
        mode = "--config smoke=true " if snakemake.params.smoke else ""
        report |= {
            "status": "missing",
            "reason": str(error),
            "remedy": f"FBDE_DATA=FOLDER snakemake --cores all {mode}--forcerun {snakemake.output[0]}",
        }
    write_json(snakemake.output[0], report)
