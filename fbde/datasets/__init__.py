"""The datasets: one file each. Adding a file to this folder adds a dataset.

A dataset file defines ``DATASET``, an instance of :class:`Dataset`. The id is the file's name
with ``-`` for ``_``.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from fbde.datasets.sources import RawFile, fetch, read_verified
from fbde.errors import ConfigError, DataError, unknown

_NOT_DATASETS = {"sources"}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What a prepared table means, and how it is made from the raw files.

    ``groups`` maps each original feature to its columns in the prepared table: several one-hot
    columns, or one binary or continuous column. ``paper`` maps a sensitive attribute to the
    (dataset, sensitive) names under which the paper prints it; attributes that are not in it
    are not in the paper.
    """

    title: str
    files: tuple[RawFile, ...]
    prepare: Callable[[Mapping[str, bytes]], "object"]
    label: str
    label_meaning: Mapping[int, str]
    sensitive: Mapping[str, Mapping[int, str]]
    groups: Mapping[str, tuple[str, ...]]
    licence: str
    citation: str
    continuous: tuple[str, ...] = ()
    positive: int = 1
    paper: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # The published code stored Dutch's predicted probabilities in an integer array (docs/findings.md).
    integer_probabilities: bool = False
    # Its printed RR and SR have std .000, which 5·n samples cannot give: they are those of the density.
    rates_from_density: bool = False

    @property
    def columns(self):
        return [column for group in self.groups.values() for column in group]

    def features(self, sensitive):
        """The columns of X when ``sensitive`` is S: all but the label and S itself."""
        if sensitive not in self.sensitive:
            raise ConfigError(unknown(f"sensitive attribute of {self.title}", sensitive, self.sensitive))
        return [column for column in self.columns if column not in (self.label, sensitive)]

    def describe(self):
        """The machine-readable description that is written beside the prepared table."""
        return {
            "title": self.title,
            "label": {"column": self.label, "positive": self.positive, "values": dict(self.label_meaning)},
            "sensitive": {name: dict(values) for name, values in self.sensitive.items()},
            "groups": {name: list(columns) for name, columns in self.groups.items()},
            "continuous": list(self.continuous),
            "kind": "continuous" if self.continuous else "discrete",
            "files": {raw.name: raw.sha256 for raw in self.files},
            "licence": self.licence,
            "citation": self.citation,
        }

    def load(self, paths):
        """Prepare and check the table from raw files at ``paths`` (name → path)."""
        content = {raw.name: read_verified(paths[raw.name], raw) for raw in self.files}
        return self.check(self.prepare(content))

    def check(self, table):
        """Check the prepared table against its description; the first fault is named."""
        import pandera.errors
        import pandera.pandas as pa

        odd = [f"has no column {name!r}" for name in self.columns if name not in table.columns]
        odd += [f"has an unknown column {name!r}" for name in table.columns if name not in self.columns]
        if odd:
            raise DataError(f"the prepared table of {self.title} {odd[0]}; allowed: {', '.join(self.columns)}")

        def one_hot(columns):
            return lambda frame: frame[list(columns)].sum(axis=1) == 1

        schema = pa.DataFrameSchema(
            {name: _column(pa, name in self.continuous) for name in self.columns},
            checks=[
                pa.Check(one_hot(columns), error=f"the columns of {name} must hold exactly one 1")
                for name, columns in self.groups.items()
                if len(columns) > 1 and not set(columns) & set(self.continuous)
            ],
        )
        try:
            return schema.validate(table[self.columns])
        except pandera.errors.SchemaError as error:
            raise DataError(f"the prepared table of {self.title} is wrong: {_fault(error)}") from None


def _fault(error):
    """What pandera found first, in one sentence: the column or feature, the rule, the row."""
    rule = getattr(error.check, "error", None)
    if rule is None:
        return " ".join(str(error).split())[:300]
    where = f"column {error.schema.name!r} " if error.schema.name else ""
    return f"{where}{rule} (row {error.failure_cases['index'].iloc[0]})"


def _column(pa, continuous):
    if continuous:
        return pa.Column("float64", [pa.Check(lambda x: x.abs() < float("inf"), error="must be finite")])
    return pa.Column("int8", [pa.Check.isin([0, 1], error="must be 0 or 1")])


def names():
    """The ids of all datasets, found by their files."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if name not in _NOT_DATASETS)


def module_name(name):
    return f"fbde.datasets.{name.replace('-', '_')}"


def get(name):
    """The :class:`Dataset` called ``name``."""
    if name not in names():
        raise ConfigError(unknown("dataset", name, names()))
    return import_module(module_name(name)).DATASET


def fetch_all(name, **options):
    """Fetch every raw file of a dataset: file name → verified path. Options as in :func:`fetch`."""
    return {raw.name: fetch(raw, **options) for raw in get(name).files}


def require_columns(frame, columns, file):
    """Refuse a raw table that lacks a column, naming it."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        has = ", ".join(map(str, frame.columns))
        raise DataError(f"{file} has no column {', '.join(map(repr, missing))}; its columns are: {has}")
    return frame[list(columns)]


def one_hot(series, name):
    """One 0/1 column per value that occurs, named ``name=value``, in the order of the values."""
    import pandas as pd

    return pd.get_dummies(series, prefix=name, prefix_sep="=", dtype="int8")
