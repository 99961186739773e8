"""Fit one method on one task, all folds."""

from fbde import methods
from fbde.runs import run
from fbde.stage import stage
from fbde.tasks import Task, read_folds

with stage(snakemake.log[0]) as log:
    names, settings = snakemake.wildcards, snakemake.params.settings
    folds = read_folds(
        snakemake.input.table,
        snakemake.input.split,
        Task.of(names.dataset, names.sensitive),
        method=names.method,
        base_seed=snakemake.params.seed,
        numbers=snakemake.params.folds,
    )
    method = methods.load(settings["file"])(**settings["params"])
    log(f"{names.method} with {settings['params'] or 'default parameters'}")
    outcomes = run(method, folds, limit=settings["time_limit"], report=log)
    methods.save_outcomes(snakemake.output[0], outcomes)
