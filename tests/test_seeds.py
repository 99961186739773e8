"""The check whether another seed explains a cell that differs."""

import importlib
from pathlib import Path

import pandas as pd
import pytest

CELL = {"table": "runtime", "dataset": "german", "sensitive": "sex", "method": "MaxEnt", "metric": "SR"}


@pytest.fixture
def seeds(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1] / "benchmarks")
    return importlib.import_module("seeds")


def test_print_is_measured_in_stds_of_the_means_over_the_folds(seeds):
    scores = pd.DataFrame({"seed": [1, 1, 2, 2, 3, 3], "fold": [0, 1] * 3, "value": [0.1, 0.3, 0.3, 0.5, 0.5, 0.7]})
    cell = CELL | {"run": "maxent", "published_mean": 0.8, "published_std": 0.1, "note": ""}
    row = seeds._row(cell, scores)
    assert (row["seeds"], row["lowest"], row["highest"]) == pytest.approx((3, 0.2, 0.6))
    assert (row["mean"], row["std"], row["z"]) == pytest.approx((0.4, 0.2, 2.0))
    single = seeds._row(cell | {"note": "a single fold"}, scores)
    assert (single["seeds"], single["draws"], single["highest"]) == (3, 6, 0.7)


def test_lines_of_other_cells_stay(seeds, tmp_path):
    path = tmp_path / "seeds.csv"
    for metric, z in (("SR", 1.0), ("KL", 2.0), ("SR", 3.0)):
        seeds._merge(path, pd.DataFrame([CELL | {"metric": metric, "z": z}]))
    assert pd.read_csv(path).set_index("metric")["z"].to_dict() == {"KL": 2.0, "SR": 3.0}


def test_a_run_with_other_seeds_reproduces_itself(seeds, raw_data):
    raw_data("german")
    entry = {"file": "data", "params": {}, "per_dataset": {}}
    first, again = (seeds._scores({"methods": {"data": entry}}, ("german", "sex"), "data", 1) for _ in range(2))
    assert set(first["fold"]) == set(range(5)) and set(first["seed"]) == {1}
    timed = (first["metric"] == "time").to_numpy()
    assert first["value"][~timed].tolist() == again["value"][~timed].tolist()
