"""What all tests share: a small synthetic task, its folds, and the raw files where a source has them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from fbde import datasets
from fbde.errors import DataMissing
from fbde.tasks import Task, make_folds, split

settings.register_profile("fbde", deadline=None, derandomize=True, database=None)
settings.load_profile("fbde")


def toy_table(rows=200, seed=0):
    """A feature of three values (one-hot), a binary one, and label and group that depend on each other."""
    rng = np.random.default_rng(seed)
    s = (rng.random(rows) < 0.4).astype(int)
    a = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = (rng.random(rows) < 0.3 + 0.4 * s).astype(int)
    y = (rng.random(rows) < 0.2 + 0.3 * b + 0.2 * s + 0.2 * (a == 1)).astype(int)
    return pd.DataFrame({"a=0": a == 0, "a=1": a == 1, "a=2": a == 2, "b": b, "y": y, "s": s}).astype("int8")


def toy_task(dataset="compas"):
    """The roles of the columns of :func:`toy_table`; the dataset's id must be a known one."""
    return Task(dataset, "s", "y", ("a=0", "a=1", "a=2", "b"), {"a": ("a=0", "a=1", "a=2"), "b": ("b",)})


def toy_folds(table=None, task=None, *, method="toy", folds=3, numbers=None):
    table = toy_table() if table is None else table
    fold_of_row = split(len(table), folds, 1)
    numbers = range(folds) if numbers is None else numbers
    return make_folds(table, fold_of_row, task or toy_task(), method=method, base_seed=0, numbers=numbers)


@pytest.fixture
def table():
    return toy_table()


@pytest.fixture
def folds():
    return toy_folds()


@pytest.fixture
def fold(folds):
    return folds[0]


@pytest.fixture(scope="session")
def raw_data():
    """Dataset id → verified raw files (name → path); skips, naming the dataset, if no source has them."""

    @cache
    def find(name):
        try:
            return datasets.fetch_all(name)
        except DataMissing as error:
            return error

    def paths(name):
        found = find(name)
        if isinstance(found, DataMissing):
            pytest.skip(f"dataset {name}: {found}")
        return found

    return paths


@pytest.fixture(scope="session")
def prepared(raw_data):
    """Dataset id → prepared table."""

    @cache
    def load(name):
        return datasets.get(name).load(raw_data(name))

    return load
