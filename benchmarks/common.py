"""What the benchmarks share: the first fold of a task, a stopwatch, a Markdown table."""

import time

from fbde import datasets
from fbde.tasks import Task, make_folds, split


def load_folds(dataset, sensitive, numbers=(0,)):
    table = datasets.get(dataset).load(datasets.fetch_all(dataset))
    task = Task.of(dataset, sensitive)
    return make_folds(table, split(len(table), 5, 1), task, method="benchmark", base_seed=0, numbers=numbers)


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
