"""Metric rows of one method on one task."""

from fbde.files import write_table
from fbde.methods import load_outcomes
from fbde.scores import score_outcomes
from fbde.stage import stage
from fbde.tasks import Task, read_folds

with stage(snakemake.log[0]) as log:
    names, outcomes = snakemake.wildcards, load_outcomes(snakemake.input.fit)
    folds = read_folds(
        snakemake.input.table,
        snakemake.input.split,
        Task.of(names.dataset, names.sensitive),
        method=names.method,
        base_seed=snakemake.params.seed,
        numbers=[outcome.fold for outcome in outcomes],
    )
    write_table(score_outcomes(names.method, outcomes, folds, report=log), snakemake.output[0])
