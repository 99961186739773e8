"""What the folds and the tasks can say about differences between methods.

Folds of a cross-validation share training rows, so a plain paired t test finds too much. Per cell the variance is
corrected as Nadeau and Bengio (2003) do it, and Holm's method keeps the error over all cells. Five folds can
give no Wilcoxon p below 0.0625, so no stars are printed anywhere. Over tasks: Friedman's test on ranks, and Nemenyi's
critical difference (Demšar 2006).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from fbde.metrics import METRICS

REFERENCE = "M-E-1.0"  # the configuration the paper leads with
FEWEST_FOLDS = 3
CELL = ["dataset", "sensitive", "metric"]


@dataclass(frozen=True)
class PairedTest:
    """Mean difference, its t statistic and the two-sided p."""

    difference: float
    t: float
    p: float
    folds: int


def corrected_paired_t(first, second, *, test_share=None):
    """Nadeau and Bengio's corrected resampled t test on paired fold values.

    The variance of the mean difference is s² (1/k + n_test/n_train) instead of s²/k. ``test_share`` is
    n_test/n_train; 1/(k − 1), that of a k-fold cross-validation, if None.
    """
    difference = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    k = len(difference)
    if k < 2:
        return PairedTest(float(difference.mean()) if k else np.nan, np.nan, np.nan, k)
    share = 1 / (k - 1) if test_share is None else test_share
    spread = difference.std(ddof=1)
    mean = float(difference.mean())
    if spread <= 1e-12 * max(1.0, abs(mean)):  # all folds differ by the same: nothing to estimate a variance from
        same = abs(mean) <= 1e-12
        return PairedTest(mean, 0.0 if same else np.nan, 1.0 if same else np.nan, k)
    t = mean / (spread * np.sqrt(1 / k + share))
    return PairedTest(mean, float(t), float(2 * stats.t.sf(abs(t), k - 1)), k)


def holm(p):
    """Holm's step-down adjustment; NaN stays NaN and does not count as a test."""
    p = np.asarray(p, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def fold_values(scores, variant="published"):
    """Final values as a table: one row per (dataset, sensitive, metric, fold), one column per method."""
    final = scores[scores["step"].isna() & (scores["variant"] == variant) & (scores["status"] == "done")]
    final = final[final["metric"].isin([name for name in METRICS if name != "time"])]
    return final.pivot_table(index=[*CELL, "fold"], columns="method", values="value", aggfunc="first", observed=True)


def paired_tests(scores, reference=REFERENCE):
    """Every method against the reference in every cell, with Holm's p over all of them."""
    values = fold_values(scores)
    rows = []
    if reference in values:
        for cell, group in values.groupby(level=CELL, sort=False):
            for method in values.columns.drop(reference):
                pair = group[[method, reference]].dropna().to_numpy(dtype=float)
                if len(pair) >= FEWEST_FOLDS:
                    test = corrected_paired_t(pair[:, 0], pair[:, 1])
                    rows.append(
                        {**dict(zip(CELL, cell, strict=True)), "method": method, "reference": reference}
                        | {"difference": test.difference, "t": test.t, "p": test.p, "folds": test.folds}
                    )
    columns = [*CELL, "method", "reference", "difference", "t", "p", "folds"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=holm(table["p"]))


# ------------------------------------------------------------------------------------- over the tasks


@dataclass(frozen=True)
class Ranking:
    """Methods ranked over tasks: mean ranks (1 is best), Friedman's p, Nemenyi's p and critical difference."""

    metric: str
    ranks: pd.Series
    tasks: int
    statistic: float
    p: float
    critical_difference: float
    nemenyi: pd.DataFrame

    @property
    def cliques(self):
        """Groups of neighbouring methods that are not told apart, the largest ones only."""
        names, ranks = list(self.ranks.index), self.ranks.to_numpy()
        found, last = [], -1
        for start in range(len(names)):
            end = int(np.searchsorted(ranks, ranks[start] + self.critical_difference, side="right")) - 1
            if end > start and end > last:
                found.append(names[start : end + 1])
                last = end
        return found


def critical_difference(methods, tasks, alpha=0.05):
    """Nemenyi: two mean ranks differ if they are further apart than q_α √(k (k + 1) / (6 N))."""
    q = stats.studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * tasks)))


def rank_over_tasks(scores, metric, methods=None, alpha=0.05):
    """The :class:`Ranking` of a metric over all tasks on which every one of ``methods`` has a value.

    Without ``methods``, those that have a value on each task where any has. None if fewer than three
    methods or two tasks are left.
    """
    values = fold_values(scores)
    if metric not in values.index.get_level_values("metric"):
        return None
    means = values.xs(metric, level="metric").groupby(level=["dataset", "sensitive"]).mean()
    means = means.dropna(axis=1) if methods is None else means.reindex(columns=list(methods)).dropna()
    if means.shape[1] < 3 or means.shape[0] < 2:
        return None
    table = means.to_numpy(dtype=float) * -METRICS[metric].direction
    ranks = pd.Series(stats.rankdata(table, axis=1).mean(axis=0), index=list(means.columns)).sort_values(kind="stable")
    statistic, p = _friedman(table)
    return Ranking(
        metric,
        ranks,
        len(table),
        statistic,
        p,
        critical_difference(len(ranks), len(table), alpha),
        _nemenyi(ranks, table),
    )


def _friedman(table):
    if np.ptp(table, axis=1).max() == 0:
        return 0.0, 1.0
    statistic, p = stats.friedmanchisquare(*table.T)
    return float(statistic), float(p)


def _nemenyi(ranks, table):
    """p of each pair: the studentized range of the rank difference, with infinite degrees of freedom."""
    tasks, k = table.shape
    gap = np.abs(ranks.to_numpy()[:, None] - ranks.to_numpy())
    q = gap / np.sqrt(k * (k + 1) / (6 * tasks))
    return pd.DataFrame(stats.studentized_range.sf(q * np.sqrt(2), k, np.inf), index=ranks.index, columns=ranks.index)
