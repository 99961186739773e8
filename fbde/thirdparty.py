"""Fairness libraries that baselines adapt: their notices silenced in one place, our rows in their form."""

import logging
import warnings
from contextlib import contextmanager

import numpy as np

from fbde.errors import FBDEError
from fbde.tasks import Rows


@contextmanager
def quiet():
    """Silence what the libraries say about versions and missing extras, not numeric warnings."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for notice in (DeprecationWarning, FutureWarning, UserWarning):
                warnings.simplefilter("ignore", notice)
            yield
    finally:
        logging.disable(before)


@contextmanager
def global_seed_kept():
    """Undo what a library does to numpy's global generator, which aif360 seeds."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def repeated(rows, library):
    """The rows, each as often as its weight says, for a library that takes no weights."""
    times = np.rint(rows.weight).astype(int)
    if not np.allclose(times, rows.weight):
        raise FBDEError(f"{library} takes no sample weights: the weights must be whole numbers")
    return Rows(*(np.repeat(part, times, axis=0) for part in (rows.X, rows.y, rows.s)), np.ones(times.sum()))


def aif360_dataset(rows):
    """The rows as an aif360 ``BinaryLabelDataset`` with protected attribute ``s``."""
    import pandas as pd

    with quiet():
        from aif360.datasets import BinaryLabelDataset

    table = pd.DataFrame(rows.X, columns=[f"x{number}" for number in range(rows.X.shape[1])])
    table = table.assign(y=rows.y == 1, s=rows.s, weight=rows.weight).astype(float)
    return BinaryLabelDataset(
        df=table, label_names=["y"], protected_attribute_names=["s"], instance_weights_name="weight"
    )


def aif360_groups(rows):
    """aif360's two groups, as arguments; it has no more than two."""
    groups = np.unique(rows.s)
    if len(groups) != 2:
        raise FBDEError(f"aif360 compares two groups, and the training rows have {len(groups)}")
    low, high = ([{"s": float(group)}] for group in groups)
    return {"unprivileged_groups": low, "privileged_groups": high}
