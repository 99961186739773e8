"""A task is a dataset with one sensitive attribute; a fold of it is what a method is fitted on."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from fbde import datasets
from fbde.domain import Domain, unique_rows


@dataclass(frozen=True)
class Task:
    """The roles of the columns: features X, label y (positive value 1), sensitive attribute s."""

    dataset: str
    sensitive: str
    label: str
    features: tuple[str, ...]
    groups: dict = field(compare=False)
    continuous: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset, sensitive):
        source = datasets.get(dataset)
        features = tuple(source.features(sensitive))
        groups = {name: columns for name, columns in source.groups.items() if set(columns) <= set(features)}
        return cls(dataset, sensitive, source.label, features, groups, source.continuous)

    @property
    def name(self):
        return f"{self.dataset}/{self.sensitive}"


@dataclass(frozen=True)
class Rows:
    """Feature rows, labels, groups and how often each row counts."""

    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_table(cls, table, task):
        X = table[list(task.features)].to_numpy(dtype=float)
        return cls(X, table[task.label].to_numpy(), table[task.sensitive].to_numpy(), np.ones(len(table)))

    @property
    def total(self):
        return float(self.weight.sum())

    def merged(self):
        """The same rows with equal ones counted together: exact, and far fewer of them."""
        table = np.column_stack([self.X, self.y, self.s])
        unique, position = unique_rows(table)
        weight = np.bincount(position, self.weight)
        return Rows(unique[:, :-2], unique[:, -2].astype(self.y.dtype), unique[:, -1].astype(self.s.dtype), weight)


@dataclass(frozen=True)
class Fold:
    """One training and one test part, the domain of the whole dataset (if finite), and a seed."""

    task: Task
    number: int
    train: Rows
    test: Rows
    domain: Domain | None
    seed: int

    @property
    def groups(self):
        """The values of s: those of the whole dataset, also where the test part lacks one."""
        return np.union1d(self.train.s, self.test.s)

    @property
    def rng(self):
        return np.random.default_rng(self.seed)

    @cached_property
    def train_distribution(self):
        """P on the cells, from the training rows."""
        return self.domain.count(self.train.X, self.train.y, self.train.s, self.train.weight) / self.train.total

    @cached_property
    def test_distribution(self):
        return self.domain.count(self.test.X, self.test.y, self.test.s, self.test.weight) / self.test.total


def split(rows, folds, seed):
    """The number of the fold in which each row is a test row: scikit-learn's shuffled KFold."""
    from sklearn.model_selection import KFold

    number = np.empty(rows, dtype="int8")
    for index, (_, test) in enumerate(KFold(folds, shuffle=True, random_state=seed).split(np.empty(rows))):
        number[test] = index
    return number


def seed_of(base, *names):
    """A seed from names alone, so that it depends neither on order nor on the number of cores."""
    text = "\0".join(map(str, (base, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def make_folds(table, fold_of_row, task, *, method, base_seed, numbers):
    """The folds of a task as one method gets them."""
    whole = Rows.from_table(table, task)
    domain = None if task.continuous else Domain.of(whole.X, whole.y, whole.s)
    fold_of_row = np.asarray(fold_of_row)
    return [
        Fold(
            task=task,
            number=number,
            train=_rows(whole, fold_of_row != number),
            test=_rows(whole, fold_of_row == number),
            domain=domain,
            seed=seed_of(base_seed, task.dataset, task.sensitive, method, number),
        )
        for number in numbers
    ]


def _rows(whole, keep):
    return Rows(whole.X[keep], whole.y[keep], whole.s[keep], whole.weight[keep])


def read_folds(table_path, split_path, task, **options):
    """Read the prepared table and its split, and make the folds."""
    table = pd.read_parquet(table_path)
    return make_folds(table, pd.read_parquet(split_path)["fold"], task, **options)
