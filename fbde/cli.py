"""The command line: ``fbde …``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fbde.errors import FBDEError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Fair boosted density estimation: data, results, and fair tables of your own.",
)


Folder = Annotated[Path, typer.Argument(help="Results folder of a run.")]
Several = Annotated[list[str] | None, typer.Option(help="Show only these; may be given several times.")]


@app.command("datasets")
def list_datasets():
    """List the datasets: where each comes from, and whether it is on this machine.

    Example: fbde datasets
    """
    from rich.console import Console
    from rich.table import Table

    from fbde import datasets
    from fbde.datasets.sources import local_copy

    table = Table("id", "title", "sensitive attributes", "raw files", "here", "licence")
    for name in datasets.names():
        source = datasets.get(name)
        here = all(local_copy(raw) for raw in source.files)
        files = ", ".join(raw.name for raw in source.files)
        table.add_row(name, source.title, ", ".join(source.sensitive), files, "yes" if here else "no", source.licence)
    Console().print(table)


@app.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Dataset ids; all if none is given.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder to look in first (default: FBDE_DATA).")] = None,
):
    """Fetch and verify raw files into the cache.

    Examples: fbde fetch / fbde fetch compas adult / fbde fetch dutch --data-dir ~/downloads
    """
    from fbde import datasets

    failed = False
    for name in names or datasets.names():
        try:
            for file, path in datasets.fetch_all(name, data_dir=data_dir, report=_say).items():
                print(f"{name}: {file} is at {path}")
        except FBDEError as error:
            failed = True
            _say(f"error: {error}")
    sys.exit(failed)


@app.command()
def summary(
    folder: Folder = Path("results"),
):
    """Print how many published cells a run matched.

    Examples: fbde summary / fbde summary results/smoke
    """
    path = folder / "summary.txt"
    if not path.is_file():
        raise FBDEError(f"{path} does not exist; run the workflow first: make paper, or make smoke")
    print(path.read_text(), end="")


@app.command()
def cells(
    folder: Folder = Path("results"),
    table: Several = None,
    dataset: Several = None,
    sensitive: Several = None,
    method: Several = None,
    metric: Several = None,
    verdict: Several = None,
):
    """Print published cells beside what came out.

    Examples: fbde cells --verdict differs / fbde cells reference --dataset compas --method Data --metric RR
    """
    chosen = {"table": table, "dataset": dataset, "sensitive": sensitive, "method": method}
    found = _read(folder, "comparison.csv", chosen | {"metric": metric, "verdict": verdict})
    shown = ["table", "dataset", "sensitive", "method", "metric"]
    shown += ["published_mean", "published_std", "mean", "std", "run", "verdict", "note"]
    print(found[shown].to_string(index=False, na_rep="", float_format="{:.3f}".format))


@app.command()
def scores(
    folder: Folder = Path("results"),
    dataset: Several = None,
    sensitive: Several = None,
    method: Several = None,
    metric: Several = None,
    variant: Several = None,
    step: Annotated[int | None, typer.Option(help="A boosting step; the final result if not given.")] = None,
):
    """Print mean and standard deviation over the folds of any score, in every variant.

    Examples: fbde scores --dataset dutch --metric SR_c / fbde scores --method M-E-1.0 --metric KL --step 8
    """
    chosen = {"dataset": dataset, "sensitive": sensitive, "method": method, "metric": metric, "variant": variant}
    found = _read(folder, "scores.parquet", chosen)
    found = found[found["step"].isna() if step is None else found["step"] == step]
    keys = ["dataset", "sensitive", "method", "metric", "variant"]
    groups = found[found["status"] == "done"].groupby(keys, sort=False)["value"]
    result = groups.agg(mean="mean", std=lambda values: values.std(ddof=0), folds="count").reset_index()
    if result.empty:
        raise FBDEError("no finished score fits")
    print(result.to_string(index=False, float_format="{:.4f}".format))


def _read(folder, name, chosen):
    """A results table, filtered; a filter value that does not occur is refused with what does."""
    import pandas as pd

    from fbde.errors import unknown

    path = folder / name
    if not path.is_file():
        raise FBDEError(f"{path} does not exist; run the workflow first: make paper, or make smoke")
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    for column, wanted in chosen.items():
        for value in wanted or ():
            if value not in set(table[column]):
                raise FBDEError(unknown(column, value, table[column].dropna().unique()))
        if wanted:
            table = table[table[column].isin(wanted)]
    if table.empty:
        raise FBDEError("nothing fits all of these filters")
    return table


def _say(sentence):
    print(sentence, file=sys.stderr, flush=True)


def main():
    from fbde.errors import one_sentence

    with one_sentence():
        app()
