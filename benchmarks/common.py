"""What the benchmarks share: the first fold of a task, a stopwatch, a Markdown table."""

import time
from functools import cache

from fbde import datasets
from fbde.tasks import Task, make_folds, split


@cache
def _table(dataset):
    return datasets.get(dataset).load(datasets.fetch_all(dataset))


def load_folds(dataset, sensitive, numbers=(0,), *, method="benchmark", base_seed=0):
    table = _table(dataset)
    task = Task.of(dataset, sensitive)
    return make_folds(table, split(len(table), 5, 1), task, method=method, base_seed=base_seed, numbers=numbers)


def timed(function, repeat=3):
    """The shortest of several runs, and the last result."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def markdown(rows):
    """Rows (dicts with the same keys) as a Markdown table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return "\n".join(lines + ["| " + " | ".join(map(str, row.values())) + " |" for row in rows]) + "\n"
