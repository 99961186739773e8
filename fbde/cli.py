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
    folder: Annotated[Path, typer.Argument(help="Results folder of a run.")] = Path("results"),
):
    """Print how many published cells a run matched.

    Examples: fbde summary / fbde summary results/smoke
    """
    path = folder / "summary.txt"
    if not path.is_file():
        raise FBDEError(f"{path} does not exist; run the workflow first: make paper, or make smoke")
    print(path.read_text(), end="")


def _say(sentence):
    print(sentence, file=sys.stderr, flush=True)


def main():
    from fbde.errors import one_sentence

    with one_sentence():
        app()
