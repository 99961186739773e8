"""The command line: what it prints, and one sentence when something is wrong."""

import sys

import pandas as pd
import pytest

from fbde import cli
from fbde.scores import table


def run(capsys, monkeypatch, *arguments):
    """Exit status, standard output and standard error of ``fbde …``."""
    monkeypatch.setattr(sys, "argv", ["fbde", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


@pytest.fixture
def results(tmp_path):
    """A results folder with two folds of one method, and two published cells."""
    common = {"dataset": "compas", "sensitive": "sex", "method": "data", "status": "done"}
    rows = [
        {**common, "fold": fold, "metric": "RR", "variant": "published", "value": 0.2 + 0.1 * fold} for fold in (0, 1)
    ]
    rows += [{**row, "step": 3, "value": 0.9} for row in rows]
    table(rows).to_parquet(tmp_path / "scores.parquet", index=False)
    cell = {"table": "full", "dataset": "compas", "sensitive": "sex", "method": "Data", "metric": "RR", "run": "data"}
    cell |= {"published_mean": 0.443, "published_std": 0.004, "mean": 0.25, "std": 0.05, "note": "misprint"}
    other = cell | {"metric": "SR", "verdict": "match", "note": ""}
    pd.DataFrame([cell | {"verdict": "known misprint"}, other]).to_csv(tmp_path / "comparison.csv", index=False)
    (tmp_path / "summary.txt").write_text("all cells\n")
    return tmp_path


def test_cells_and_scores_are_filtered(capsys, monkeypatch, results):
    status, out, _ = run(capsys, monkeypatch, "cells", results, "--verdict", "known misprint")
    assert status == 0
    assert "0.443" in out
    assert "SR" not in out
    status, out, _ = run(capsys, monkeypatch, "scores", results, "--metric", "RR")
    assert status == 0
    assert out.split()[-3:] == ["0.2500", "0.0500", "2"]
    assert run(capsys, monkeypatch, "scores", results, "--step", 3)[1].split()[-3:] == ["0.9000", "0.0000", "2"]
    assert run(capsys, monkeypatch, "summary", results)[:2] == (0, "all cells\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cells", "{}", "--metric", "RRR"], "error: unknown metric 'RRR'; did you mean 'RR'?"),
        (["scores", "{}", "--step", "9"], "error: no finished score fits"),
        (["summary", "{}/none"], "does not exist; run the workflow first"),
        (["fetch", "comps"], "error: unknown dataset 'comps'; did you mean 'compas'?"),
    ],
)
def test_what_is_wrong_is_one_sentence(capsys, monkeypatch, results, arguments, sentence):
    status, _, err = run(capsys, monkeypatch, *(argument.format(results) for argument in arguments))
    assert status == 1
    assert sentence in err
    assert "Traceback" not in err


def test_datasets_lists_all_of_them(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FBDE_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = run(capsys, monkeypatch, "datasets")
    assert status == 0
    for name in ("compas", "adult", "german", "dutch", "minneapolis-published"):
        assert name in out


def test_help_has_examples(capsys, monkeypatch):
    for command in ("fetch", "cells", "scores", "summary", "datasets"):
        assert "fbde " + command in run(capsys, monkeypatch, command, "--help")[1]
