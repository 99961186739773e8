"""The tests of significance against cases computed by hand and by an independent package."""

import numpy as np
import pandas as pd
import pytest

from fbde.reporting import statistics
from fbde.scores import table


def scores_of(values, metric="SR"):
    """Final rows from {(dataset, method): fold values}."""
    return table(
        [
            {"dataset": d, "sensitive": "sex", "method": m, "fold": fold, "metric": metric, "variant": "published"}
            | {"value": value, "status": "done", "reason": ""}
            for (d, m), folds in values.items()
            for fold, value in enumerate(folds)
        ]
    )


def test_corrected_t_by_hand():
    # Differences 1, 2, 3, 4, 5: mean 3, s² = 2.5; t = 3 / sqrt(2.5 (1/5 + 1/4)) = 3 / sqrt(1.125).
    found = statistics.corrected_paired_t([1, 2, 3, 4, 5], [0, 0, 0, 0, 0])
    assert found.difference == 3
    assert found.t == pytest.approx(3 / np.sqrt(1.125))
    # The distribution function of t with 4 degrees of freedom has a closed form; here t² = 8.
    assert found.p == pytest.approx(1 - 3 / 4 * np.sqrt(8 / 3) * (1 - 2 / 9))
    plain = statistics.corrected_paired_t([1, 2, 3, 4, 5], [0, 0, 0, 0, 0], test_share=0)
    assert plain.t == pytest.approx(3 / np.sqrt(0.5))
    assert plain.p < found.p


def test_corrected_t_without_spread():
    assert statistics.corrected_paired_t([1, 2, 3], [1, 2, 3]).p == 1
    assert np.isnan(statistics.corrected_paired_t([2, 3, 4], [1, 2, 3]).p)
    assert np.isnan(statistics.corrected_paired_t([2], [1]).p)


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, never falling: .04 .06 .06 .06.
    assert statistics.holm([0.03, 0.01, np.nan, 0.04, 0.02]) == pytest.approx(
        [0.06, 0.04, np.nan, 0.06, 0.06], nan_ok=True
    )
    assert statistics.holm([0.6, 0.9]) == pytest.approx([1, 1])
    assert len(statistics.holm([])) == 0


def test_paired_tests_cover_every_cell_once():
    rng = np.random.default_rng(0)
    values = {(d, m): rng.random(5) for d in ("a", "b") for m in ("M-E-1.0", "x", "y")}
    found = statistics.paired_tests(scores_of(values))
    assert len(found) == 4
    assert not found.duplicated(["dataset", "metric", "method"]).any()
    assert (found["p_holm"] >= found["p"]).all()
    expected = statistics.corrected_paired_t(values["a", "x"], values["a", "M-E-1.0"])
    row = found[(found["dataset"] == "a") & (found["method"] == "x")].iloc[0]
    assert row["p"] == pytest.approx(expected.p)


def test_paired_tests_need_folds_and_a_reference():
    assert statistics.paired_tests(scores_of({("a", "M-E-1.0"): [0.1], ("a", "x"): [0.2]})).empty
    assert statistics.paired_tests(scores_of({("a", "x"): [0.2] * 5})).empty
    assert statistics.paired_tests(table([])).empty


def test_friedman_and_nemenyi_by_hand():
    # Four tasks, the same order x > y > z in each: ranks 1, 2, 3; χ² = 12·4/(3·4)·(1 + 0 + 1) = 8.
    values = {(d, m): [v + i] * 2 for i, d in enumerate("abcd") for m, v in (("x", 0.9), ("y", 0.5), ("z", 0.1))}
    found = statistics.rank_over_tasks(scores_of(values), "SR")
    assert found.ranks.to_dict() == {"x": 1, "y": 2, "z": 3}
    assert found.statistic == pytest.approx(8)
    assert found.p == pytest.approx(np.exp(-4))  # χ² with two degrees of freedom: exp(−8/2)
    # Demšar's table: q = 2.343 for three methods at 0.05.
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), abs=1e-3)
    assert found.cliques == [["x", "y"], ["y", "z"]]
    lower = statistics.rank_over_tasks(scores_of(values, "KL"), "KL")
    assert lower.ranks.to_dict() == {"z": 1, "y": 2, "x": 3}


def test_nemenyi_agrees_with_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(3)
    values = {(f"d{i}", m): [rng.random() + shift] for i in range(8) for shift, m in enumerate("abcd")}
    found = statistics.rank_over_tasks(scores_of(values), "SR")
    means = pd.Series({key: folds[0] for key, folds in values.items()}).unstack()
    theirs = posthocs.posthoc_nemenyi_friedman(-means.to_numpy())
    theirs.index = theirs.columns = means.columns
    for a in "abc":
        assert found.nemenyi.loc[a, "d"] == pytest.approx(theirs.loc[a, "d"], abs=1e-3)


def test_ranking_needs_three_methods_and_two_tasks():
    assert (
        statistics.rank_over_tasks(scores_of({("a", "x"): [1.0], ("a", "y"): [2.0], ("a", "z"): [3.0]}), "SR") is None
    )
    assert statistics.rank_over_tasks(table([]), "SR") is None
