import json
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

from fbde import datasets, methods
from fbde.reporting import firsttree
from fbde import config as configuration
from fbde.errors import FBDEError

with open(workflow.source_path("../schemas/config.schema.yaml")) as schema:
    try:
        config = configuration.check(config, yaml.safe_load(schema))
    except FBDEError as error:
        raise WorkflowError(str(error)) from None

RESULTS = str(Path(config["results"], *(["smoke"] if config["smoke"] else [])))
FOLDS = [0] if config["smoke"] else list(range(config["folds"]))
RUNS = configuration.runs(config)
# Whose first weak learner is drawn.
TREES = [dataset for dataset in firsttree.SENSITIVE if dataset in config["tasks"]]
# What the figures and the report need to know of the configuration.
SETTINGS = {
    key: config[key]
    for key in ("tasks", "methods", "smoke", "seed", "folds", "split_seed")
}


wildcard_constraints:
    dataset="|".join(config["tasks"]),
    sensitive="[^/]+",
    method="[^/]+",


def source_of(*modules):
    """Digest of the project's code behind a stage: what changes it reruns the stage."""
    return methods.source_digest(*(f"{m.replace('.', '/')}.py" for m in modules))


def dataset_source(wildcards):
    return source_of(datasets.module_name(wildcards.dataset))


def method_settings(wildcards):
    """What fit needs to know of a method; a change of it reruns that method only."""
    entry = config["methods"][wildcards.method]
    smoke = methods.load(entry["file"]).smoke if config["smoke"] else {}
    return {
        "file": entry["file"],
        "params": configuration.settings(
            config, wildcards.method, wildcards.dataset, smoke
        ),
        "time_limit": entry["time_limit"],
    }


def method_source(wildcards):
    return source_of(f"baselines.{config['methods'][wildcards.method]['file']}")


def is_ready(dataset):
    """Whether a dataset could be fetched; known once its checkpoint has run."""
    with checkpoints.fetch.get(dataset=dataset).output[0].open() as file:
        return json.load(file)["status"] == "ready"


def all_scores(wildcards):
    ready = [dataset for dataset in config["tasks"] if is_ready(dataset)]
    return [
        f"{RESULTS}/scores/{dataset}/{sensitive}/{method}.parquet"
        for dataset, sensitive, method in RUNS
        if dataset in ready
    ]


def first_tree_data(wildcards):
    """Table and split of a dataset whose first weak learner is drawn; nothing if it is not there."""
    dataset = wildcards.dataset
    if firsttree.why_absent(dataset, config) or not is_ready(dataset):
        return []
    return [
        f"{RESULTS}/prepared/{dataset}.parquet",
        f"{RESULTS}/splits/{dataset}.parquet",
    ]


def print_summary():
    text = Path(RESULTS) / "summary.txt"
    if text.exists():
        print(text.read_text(), file=sys.stderr, flush=True)
