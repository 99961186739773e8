"""The finite support: rows found and counted exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fbde.domain import Domain, unique_rows
from fbde.errors import DataError

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 5)),
    elements=st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.0]),
)


@given(st.one_of(tables, hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 5)))))
def test_unique_rows_are_those_of_numpy(table):
    rows, position = unique_rows(table)
    expected, inverse = np.unique(table + table.dtype.type(0), axis=0, return_inverse=True)
    assert np.array_equal(rows, expected)
    assert np.array_equal(position, inverse.ravel())


def test_unique_rows_of_more_columns_than_a_key_can_hold():
    table = np.random.default_rng(0).integers(0, 50, (400, 40)).astype(float)
    table = np.vstack([table, table])
    rows, position = unique_rows(table)
    assert len(rows) == 400
    assert np.array_equal(rows[position], table)


@given(tables, st.integers(0, 100))
def test_counts_are_those_of_a_loop(table, seed):
    rng = np.random.default_rng(seed)
    y, s, weight = rng.integers(0, 3, len(table)), rng.integers(0, 2, len(table)), rng.random(len(table))
    domain = Domain.of(table, y, s)
    expected = np.zeros(domain.shape)
    for row, label, group, w in zip(table, y, s, weight, strict=True):
        i = np.flatnonzero((row == domain.X).all(axis=1))[0]
        expected[i, np.searchsorted(domain.labels, label), np.searchsorted(domain.groups, group)] += w
    assert np.allclose(domain.count(table, y, s, weight), expected)


def test_rows_outside_of_the_domain_are_an_error_or_dropped():
    domain = Domain.of(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0, 1]), np.array([0, 1]))
    X, y, s = np.array([[0.0, 1.0], [5.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 7]), np.array([1, 1, 0])
    assert domain.index(X, y, s).tolist() == [1, -1, -1]
    assert domain.count(X, y, s, outside="drop").sum() == 1
    with pytest.raises(DataError, match="2 rows are outside of the domain; first at row 1"):
        domain.count(X, y, s)


def test_cells_and_design_are_in_flat_order():
    domain = Domain(np.array([[3.0], [4.0]]), np.array([0, 1]), np.array([0, 1, 2]))
    X, y, s = domain.cells()
    assert np.array_equal(domain.index(X, y, s), np.arange(12))
    assert domain.design().shape == (12, 3)
