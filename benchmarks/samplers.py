"""Exact rejection beside Langevin dynamics, on one fold of Minneapolis with the roles behind the published numbers.

Run: python benchmarks/samplers.py              prints the section
     python benchmarks/samplers.py FILE.csv     and writes the numbers
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from common import load_folds, markdown
from threadpoolctl import threadpool_limits

from fbde.continuous import ContinuousFBDE
from fbde.evaluate import SAMPLES_PER_ROW, binned_kl
from fbde.files import write_table
from fbde.metrics import representation_rate, statistical_rate
from fbde.sampling import SAMPLERS, SamplingWarning
from fbde.tasks import Rows

T = 16
LEVERAGES = ("exact", "relative")


def cpu(function):
    """Result and processor seconds of this one thread: the machine may be busy with other things."""
    start = time.process_time()
    return function(), time.process_time() - start


def fit(fold, leverage):
    model = ContinuousFBDE(leverage=leverage, n_steps=T, keep_steps=True, random_state=0)
    return model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s)


def compare(model, fold, leverage, fitting):
    """One row per sampler: 5·n rows of Q_T, their rates and KL, and what they cost; the exact rates first."""
    RR, SR = model.rates()
    rows = [{"leverage": leverage, "sampler": "none: the marginal itself", "RR": RR, "SR": SR}]
    for name, sampler in SAMPLERS.items():
        n = SAMPLES_PER_ROW * len(fold.train.X)
        draws, seconds = cpu(lambda sampler=sampler, n=n: sampler(model.distribution(), n, np.random.default_rng(0)))
        X, y, s = model.rows_of(draws.cell, draws.x)
        facts = draws.diagnostics
        rows.append(
            {
                "leverage": leverage,
                "sampler": name,
                "RR": representation_rate(s),
                "SR": statistical_rate(y, s),
                "KL, binned": binned_kl(fold.test, Rows(X, y, s, np.ones(n))),
                "seconds": seconds,
                "effective rows": facts["ess"],
                "R-hat": facts["r_hat"],
                "acceptance": facts["acceptance"],
                "guaranteed": facts.get("guaranteed", np.nan),
                "seconds of fit": fitting,
            }
        )
    return rows


def seconds_of_training(model, fold, name):
    """Seconds to draw n rows from each of Q_0 … Q_{T−1}, as the published training does it."""
    n, total = len(fold.train.X), 0.0
    for step in range(T):
        target, rng = model.distribution(step), np.random.default_rng(step)
        total += cpu(lambda target=target, rng=rng: SAMPLERS[name](target, n, rng))[1]
    return total


def measure():
    (fold,) = load_folds("minneapolis-published", "search")
    rows = []
    for leverage in LEVERAGES:
        model, fitting = cpu(lambda leverage=leverage: fit(fold, leverage))
        rows += compare(model, fold, leverage, fitting)
        if leverage == "exact":
            for row in rows[1:]:
                row["seconds in training"] = seconds_of_training(model, fold, row["sampler"])
    return pd.DataFrame(rows)


def text(table):
    """The section of docs/benchmarks.md."""
    one = table[table["leverage"] == "exact"].set_index("sampler")
    fold = one["seconds in training"] + one["seconds"]
    shown = table.drop(columns=["guaranteed", "seconds of fit"])
    digits = {"RR": 4, "SR": 4, "KL, binned": 3, "R-hat": 3, "acceptance": 3, "effective rows": 0}
    rows = [
        {
            name: "–" if pd.isna(v) else v if isinstance(v, str) else f"{v:.{digits.get(name, 2)}f}"
            for name, v in row.items()
        }
        for row in shown.to_dict("records")
    ]
    kept = f"{one['acceptance']['rejection']:.1%} of its proposals (guaranteed: {one['guaranteed']['rejection']:.1%})"
    return (
        "## Samplers for continuous features\n\n"
        f"One fold of Minneapolis (roles behind the published numbers), T = {T}, one thread, processor seconds. Each "
        "sampler draws 5·n rows of the same Q_T; *in training*: also n rows from each of Q_0 … Q_15, as the published "
        "training does it. ULA as published: step .01, one chain per (y, s) (here in step with each other), 100,000 "
        f"steps of burn-in.\n\n{markdown(rows)}\nRejection keeps {kept}. All draws of a fold: "
        f"{fold['rejection']:.2f} s by rejection, {fold['ula']:.0f} s by ULA, a factor of "
        f"{fold['ula'] / fold['rejection']:.0f}. Fitting, with the draws it needs itself: "
        f"{one['seconds of fit']['rejection']:.0f} s.\n"
    )


def main(path=None):
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # the diagnostics are in the table
        table = measure()
    if path:
        write_table(table, path)
    return text(table)


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
