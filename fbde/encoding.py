"""Tables with texts or categories as numbers, and back: what lets FBDE take a data frame as it is."""

import numpy as np
import pandas as pd

from fbde.errors import DataError


class TableEncoder:
    """Numeric columns stay; others become codes, shown to a weak learner as one 0/1 column per value.

    ``kinds`` holds for each column the name of its numeric type, or the array of its values in order.
    """

    def __init__(self, names, kinds, frame):
        self.names, self.kinds, self.frame = list(names), kinds, frame

    @classmethod
    def of(cls, X):
        """Learn the columns of ``X``, a data frame or a two-dimensional array."""
        frame = isinstance(X, pd.DataFrame)
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            # Whether the numbers are finite is checked when they are encoded.
            return cls([f"x{i}" for i in range(X.shape[1])], [X.dtype.name] * X.shape[1], False)
        table = X if frame else pd.DataFrame(X)
        names = [str(name) for name in table.columns] if frame else [f"x{i}" for i in range(table.shape[1])]
        kinds = []
        for name, (_, column) in zip(names, table.items(), strict=True):
            _check_missing(column, name)
            numeric = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
            kinds.append(column.dtype.name if numeric else np.array(sorted(map(str, column.unique()))))
        return cls(names, kinds, frame)

    def encode(self, X):
        """``X`` as a float table with one column per original column."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and all(map(_numeric, self.kinds)):
            return self._encode_numbers(X)
        table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        if isinstance(X, pd.DataFrame) and self.frame:
            missing = [name for name in self.names if name not in map(str, table.columns)]
            if missing:
                raise DataError(f"column {missing[0]!r} is missing; needed: {', '.join(self.names)}")
            table = table.rename(columns=str)[self.names]
        elif table.shape[1] != len(self.names):
            raise DataError(f"X has {table.shape[1]} columns; {len(self.names)} were fitted")
        codes = np.empty(table.shape)
        for i, (name, values) in enumerate(zip(self.names, self.kinds, strict=True)):
            column = table.iloc[:, i]
            _check_missing(column, name)
            codes[:, i] = column.to_numpy(dtype=float) if _numeric(values) else _codes(column, values)
        return codes

    def _encode_numbers(self, X):
        if X.ndim != 2 or X.shape[1] != len(self.names):
            raise DataError(f"X has shape {X.shape}; {len(self.names)} columns were fitted")
        codes = X.astype(float)
        if not np.isfinite(codes).all():
            row, column = np.argwhere(~np.isfinite(codes))[0]
            raise DataError(f"column {self.names[column]!r} has NaN or infinity, first in row {row}; remove or fill it")
        return codes

    def decode(self, codes):
        """The inverse of :meth:`encode`: a data frame if one was fitted, else an array."""
        columns = {}
        for i, (name, values) in enumerate(zip(self.names, self.kinds, strict=True)):
            column = codes[:, i]
            columns[name] = column.astype(values) if _numeric(values) else values[column.astype(int)]
        table = pd.DataFrame(columns)
        return table if self.frame else table.to_numpy()

    def expand(self, codes):
        """What a weak learner sees: categories of more than two values as one column each."""
        columns = []
        for i, values in enumerate(self.kinds):
            if _numeric(values) or len(values) <= 2:
                columns.append(codes[:, i : i + 1])
            else:
                columns.append(codes[:, i : i + 1] == np.arange(len(values)))
        return np.hstack(columns) if columns else codes

    def expanded_names(self):
        """(names, original column) of the columns that :meth:`expand` gives."""
        names, origin = [], []
        for i, (name, values) in enumerate(zip(self.names, self.kinds, strict=True)):
            found = [name] if _numeric(values) else value_names(name, values)
            names += found
            origin += [i] * len(found)
        return names, origin

    def to_dict(self):
        kinds = [values if _numeric(values) else values.tolist() for values in self.kinds]
        return {"names": self.names, "kinds": kinds, "frame": self.frame}

    @classmethod
    def from_dict(cls, entry):
        kinds = [values if isinstance(values, str) else np.array(values) for values in entry["kinds"]]
        return cls(entry["names"], kinds, entry["frame"])


def value_names(name, values):
    """Column names for values shown as 0/1 columns; two values need one column only."""
    return [f"{name}={values[-1]}"] if len(values) <= 2 else [f"{name}={value}" for value in values]


def expand_positions(position, count):
    """Positions 0 … count − 1 as 0/1 columns; two values need one column only."""
    return position[:, None] if count <= 2 else position[:, None] == np.arange(count)


def _numeric(kind):
    return isinstance(kind, str)


def _codes(column, values):
    """Position of each text among the known values; −1, a code no cell has, for a value that was never seen."""
    texts = column.astype(str).to_numpy()
    position = np.minimum(np.searchsorted(values, texts), len(values) - 1)
    return np.where(values[position] == texts, position, -1)


def _check_missing(column, name):
    bad = column.isna().to_numpy()
    if pd.api.types.is_float_dtype(column):
        bad = bad | ~np.isfinite(column.to_numpy(dtype=float, na_value=np.nan))
    if bad.any():
        raise DataError(f"column {name!r} has NaN or infinity, first in row {int(np.argmax(bad))}; remove or fill it")
