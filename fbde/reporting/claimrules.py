"""The rules by which the paper's claims are judged: each gives the cases it looked at, from the results of a run."""

from dataclasses import dataclass

import numpy as np

from fbde.metrics import METRICS
from fbde.published import runs_for
from fbde.reporting.figures.data import CONFIGURATIONS
from fbde.reporting.firsttree import prune, questions
from fbde.reporting.tables import task_title

TAU = 0.8
MAIN = ("compas", "adult")  # the datasets the main text speaks of
SLIGHT = 0.03  # loss of accuracy that still counts as slight
STEP = 8


@dataclass(frozen=True)
class Case:
    """One thing a rule looked at: what, and whether it is as claimed."""

    what: str
    holds: bool


# ----------------------------------------------------------------------------------- helpers of the rules


def _compared(results, tasks, methods, other, metric, holds, variant="published"):
    """A case for each task and method that has the metric where the other column of the paper has it too."""
    for task in tasks:
        rival = results.method_for(other, task[0])
        theirs = results.mean(task, rival, metric, variant) if rival else None
        for method in methods:
            ours = results.mean(task, method, metric, variant)
            if ours is not None and theirs is not None:
                what = f"{method} {metric} {ours:.3f}, {other} {theirs:.3f} on {task_title(*task)}"
                yield Case(what, bool(holds(ours, theirs)))


def _main(results):
    return results.discrete_tasks(MAIN)


def _all_discrete(results):
    return results.discrete_tasks(("compas", "adult", "dutch", "german"))


# -------------------------------------------------------------------------------------------- the rules


def data_fairness(results):
    for metric in ("RR", "SR"):
        yield from _compared(results, _main(results), CONFIGURATIONS, "Data", metric, lambda ours, data: ours > data)


def budget(results):
    for task in _all_discrete(results):
        for method in ("M-E-1.0", "M-E-0.9"):
            for fold, value in results.folds(task, method, "SR", "exact").items():
                yield Case(f"{method} SR {value:.3f} on {task_title(*task)}, fold {fold}", value > TAU)


def leverage_tradeoff(results):
    for task in _main(results):
        for start in ("1.0", "0.9"):
            for metric in ("SR", "KL"):
                exact, relative = (results.mean(task, f"M-{kind}-{start}", metric, "exact") for kind in "ER")
                if exact is not None and relative is not None:
                    what = f"{metric} of M-E-{start} {exact:.3f}, of M-R-{start} {relative:.3f} on {task_title(*task)}"
                    yield Case(what, exact > relative)


def kl_against_maxent(results):
    yield from _compared(results, _main(results), CONFIGURATIONS, "MaxEnt", "KL", lambda ours, theirs: ours < theirs)


def kl_against_maxent_exact(results):
    yield from _compared(
        results, _main(results), CONFIGURATIONS, "MaxEnt", "KL", lambda ours, theirs: ours < theirs, "exact"
    )


def against_tabfairgan(results):
    for metric in ("SR", "RR", "KL"):
        direction = METRICS[metric].direction
        yield from _compared(
            results, _main(results), CONFIGURATIONS, "TabFairGAN", metric, lambda a, b, d=direction: d * a > d * b
        )


def early_steps(results):
    for task in _all_discrete(results):
        for method in CONFIGURATIONS:
            kl = results.by_step(task, method, "KL").mean(axis=1)
            if len(kl) and STEP in kl.index and kl.index.max() > STEP:
                share = (kl[0] - kl[STEP]) / (kl[0] - kl.iloc[-1])
                yield Case(f"{method}: {share:.0%} of the drop in {STEP} steps on {task_title(*task)}", share > 0.5)


def drop_follows_accuracy(results):
    from scipy.stats import spearmanr

    for task in _all_discrete(results):
        for method in CONFIGURATIONS:
            parts = [results.by_step(task, method, name) for name in ("accuracy", "kl_drop", "theta")]
            if all(len(part) for part in parts):
                accuracy, drop, theta = (part.mean(axis=1).dropna() for part in parts)
                gain = (drop / theta).dropna()
                same = accuracy.index.intersection(gain.index)
                if len(same) > 2 and np.ptp(accuracy[same]) > 1e-9:
                    r = spearmanr(accuracy[same], gain[same]).statistic
                    yield Case(f"{method}: rank correlation {r:.2f} on {task_title(*task)}", bool(r > 0.5))


def prediction(results):
    for metric in ("SR_c", "EO"):
        yield from _compared(results, _main(results), CONFIGURATIONS, "Data", metric, lambda ours, data: ours > data)
    yield from _compared(
        results, _main(results), CONFIGURATIONS, "Data", "Acc", lambda ours, data: data - ours <= SLIGHT
    )


def classifier_follows_data(results):
    for task in _all_discrete(results):
        for method in CONFIGURATIONS:
            first, second = (results.by_step(task, method, name).mean(axis=1) for name in ("SR", "SR_c"))
            if len(first) > 2 and len(second) > 2:
                moved = first.iloc[-1] - first.iloc[0], second.iloc[-1] - second.iloc[0]
                what = f"{method}: SR moved {moved[0]:+.3f}, SR_c {moved[1]:+.3f} on {task_title(*task)}"
                yield Case(what, bool(moved[0] * moved[1] >= 0))


def clustering_distance(results):
    for task in _main(results):
        rival = results.method_for("FairKMeans", task[0])
        fair = results.mean(task, rival, "dist") if rival else None
        others = [results.mean(task, m, "dist") for m in CONFIGURATIONS]
        others = [value for value in others if value is not None]
        if fair is not None and others:
            yield Case(
                f"dist of FairKMeans {fair:.3f}, least of FBDE {min(others):.3f} on {task_title(*task)}",
                fair < min(others),
            )


def clustering_rate(results):
    for task in _main(results):
        rival = results.method_for("FairKMeans", task[0])
        fair = results.mean(task, rival, "cSR") if rival else None
        ours = [value for m in CONFIGURATIONS if (value := results.mean(task, m, "cSR")) is not None]
        if fair is not None and ours:
            yield Case(
                f"least cSR of FBDE {min(ours):.3f}, FairKMeans {fair:.3f} on {task_title(*task)}", min(ours) < fair
            )


def in_processing(results):
    """Printed orders of SR_c and Acc between FBDE and an in-processing method that are wider than both stds."""
    table = results.comparison[results.comparison["table"] == "inprocessing"]
    ran = table[table["verdict"] != "not run"].set_index(["dataset", "sensitive", "metric", "method"])
    for dataset, sensitive, metric in dict.fromkeys(key[:3] for key in ran.index):
        for rival in ("FairConstraints", "Reductions", "FairGLM"):
            for method in CONFIGURATIONS:
                keys = (dataset, sensitive, metric, method), (dataset, sensitive, metric, rival)
                if metric == "EO" or not all(key in ran.index for key in keys):
                    continue
                ours, theirs = (ran.loc[key] for key in keys)
                printed = ours["published_mean"] - theirs["published_mean"]
                if abs(printed) > max(ours["published_std"], theirs["published_std"]):
                    found = ours["mean"] - theirs["mean"]
                    what = f"{metric} of {method} minus {rival} on {task_title(dataset, sensitive)}"
                    yield Case(f"{what}: printed {printed:+.3f}, ours {found:+.3f}", bool(found * printed > 0))


def interpretability(results):
    found = results.trees.get("compas", {})
    if "tree" in found:
        asked = set(questions(prune(found["tree"]), 3))
        yield Case(
            f"the first question is on {found['tree']['feature']}", found["tree"]["feature"] == found["sensitive"]
        )
        yield Case(
            f"the label is not asked in the first three levels ({', '.join(sorted(asked))})", "two_year_recid" in asked
        )
        yield Case(f"sex is not asked in the first three levels ({', '.join(sorted(asked))})", "sex" in asked)


def continuous(results):
    task = results.of_paper.get(("minneapolis", "race"))
    if task is None:
        return
    for method in ("M-E-1.0", "M-E-0.9"):
        for fold, value in results.folds(task, method, "SR").items():
            yield Case(f"{method} SR {value:.3f} in fold {fold}", value > TAU)
    yield from _compared(results, [task], CONFIGURATIONS, "Data", "RR", lambda ours, data: ours > data)


def continuous_bound(results):
    """The explanation the paper gives: a better sampler would bring RR to √τ."""
    task = results.of_paper.get(("minneapolis", "race"))
    for fold, value in results.folds(task, "M-E-1.0", "RR").items() if task else ():
        yield Case(f"M-E-1.0 RR {value:.3f} in fold {fold}, printed bound {TAU**0.5:.3f}", value > TAU**0.5)


def mixing_helps(results):
    for task in results.discrete_tasks(("dutch", "german")):
        for method in CONFIGURATIONS:
            mixed = results.mean(task, method, "KL")
            unmixed = runs_for(results.config["methods"], "no_mixing_experiments_table", method, task[0])
            plain = results.mean(task, unmixed, "KL") if unmixed != method else None
            if mixed is not None and plain is not None:
                yield Case(f"{method}: KL {mixed:.3f} with, {plain:.3f} without on {task_title(*task)}", plain > mixed)
