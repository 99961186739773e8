"""Folds and seeds, and a method run on them: outcomes, time, memory, the log of a stage."""

import time
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_folds, toy_table

from fbde import methods
from fbde.errors import FBDEError, FitFailed
from fbde.measure import Meter, TimedOut, time_limit
from fbde.methods import Predictions
from fbde.metrics import representation_rate, statistical_rate
from fbde.runs import run
from fbde.stage import stage
from fbde.tasks import seed_of, split


def silent(line):
    pass


# ------------------------------------------------------------------ folds and seeds


def test_seeds_are_fixed_and_different_for_every_name():
    assert seed_of(0, "compas", "race", "data", 0) == 1203840978
    runs = [(b, d, s, m, f) for b in (0, 1) for d in "xy" for s in "xy" for m in ("xy", "x") for f in (0, 1)]
    assert len({seed_of(*names) for names in runs}) == len(runs)
    assert seed_of(0, "a", "bc") != seed_of(0, "ab", "c")


def test_seeds_and_rows_do_not_depend_on_which_folds_are_made_in_which_order():
    every = toy_folds(folds=5)
    for fold in toy_folds(folds=5, numbers=[3, 1]):
        assert fold.seed == every[fold.number].seed
        np.testing.assert_array_equal(fold.train.X, every[fold.number].train.X)
        assert fold.rng.random() == every[fold.number].rng.random()


def test_another_method_gets_the_same_rows_and_another_seed():
    [mine], [other] = (toy_folds(method=method, numbers=[0]) for method in ("mine", "other"))
    assert mine.seed != other.seed
    np.testing.assert_array_equal(mine.test.X, other.test.X)


def test_the_split_is_scikit_learns_shuffled_KFold():
    from sklearn.model_selection import KFold

    fold = split(103, 5, 1)
    for number, (train, test) in enumerate(KFold(5, shuffle=True, random_state=1).split(np.zeros(103))):
        assert np.flatnonzero(fold == number).tolist() == test.tolist()
        assert np.flatnonzero(fold != number).tolist() == train.tolist()


def test_every_row_is_tested_once_and_trained_on_otherwise(folds, table):
    assert sum(fold.test.total for fold in folds) == len(table)
    assert all(fold.train.total + fold.test.total == len(table) for fold in folds)


# ------------------------------------------------------------------ controls


def test_data_gives_the_training_rows_and_their_distribution(fold):
    result = methods.load("data")().fit_fold(fold)
    assert result.samples is fold.train
    np.testing.assert_allclose(result.density, fold.train_distribution, atol=1e-8)


def test_shuffled_permutes_the_group_and_nothing_else():
    [fold] = toy_folds(toy_table(4000), numbers=[0])
    samples = methods.load("shuffled")().fit_fold(fold).samples
    np.testing.assert_array_equal(samples.X, fold.train.X)
    np.testing.assert_array_equal(samples.y, fold.train.y)
    assert representation_rate(samples.s) == representation_rate(fold.train.s)
    assert statistical_rate(fold.train.y, fold.train.s) < 0.7
    assert statistical_rate(samples.y, samples.s) > 0.9
    again = methods.load("shuffled")().fit_fold(fold).samples
    np.testing.assert_array_equal(samples.s, again.s)


# ------------------------------------------------------------------ running


class Sleeper(methods.Method):
    """Fits fold 0 at once and sleeps over the others."""

    kind = "classifier"

    def fit_fold(self, fold):
        if fold.number:
            time.sleep(5)
        return Predictions(fold.test.y)


class Together(Sleeper):
    def fit_folds(self, folds):
        for fold in folds:
            time.sleep(0.2 if fold.number == 0 else 0)
            yield Predictions(fold.test.y)


class Eager(Sleeper):
    def fit_folds(self, folds):
        return [self.fit_fold(fold) for fold in folds]


class Stubborn(Sleeper):
    def fit_fold(self, fold):
        try:
            return super().fit_fold(fold)
        except Exception:
            return None


def test_a_run_gives_one_measured_outcome_per_fold(folds):
    outcomes = run(methods.load("data")(), folds, report=silent)
    assert [outcome.fold for outcome in outcomes] == [0, 1, 2]
    assert all(outcome.status == "done" and outcome.seconds >= 0 and outcome.peak_mb > 1 for outcome in outcomes)


def test_a_method_that_is_not_applicable_is_not_fitted(folds):
    class Picky(Sleeper):
        def not_applicable(self, task):
            return f"not on {task.name}"

    outcomes = run(Picky(), folds, report=silent)
    assert [(o.fold, o.status, o.reason) for o in outcomes] == [
        (number, "not applicable", "not on compas/s") for number in range(3)
    ]


def test_folds_done_before_the_time_limit_are_kept_and_the_others_timed_out(folds):
    start = time.monotonic()
    outcomes = run(Sleeper(), folds, limit=0.5, report=silent)
    assert time.monotonic() - start < 4
    assert [outcome.status for outcome in outcomes] == ["done", "timed out", "timed out"]
    assert outcomes[0].result is not None and outcomes[1].result is None
    assert outcomes[1].reason == "over the limit of 0.5 s"


def test_the_time_limit_holds_for_a_method_that_fits_all_folds_before_it_gives_any(folds):
    outcomes = run(Eager(), folds, limit=0.5, report=silent)
    assert [outcome.status for outcome in outcomes] == ["timed out"] * 3


def test_a_method_that_catches_every_exception_is_still_timed_out(folds):
    assert [outcome.status for outcome in run(Stubborn(), folds, limit=0.5, report=silent)][1:] == ["timed out"] * 2


def test_an_error_in_a_method_is_an_error_of_the_run(folds):
    class Broken(Sleeper):
        def fit_fold(self, fold):
            raise ZeroDivisionError("inside of the method")

    with pytest.raises(ZeroDivisionError, match="inside of the method"):
        run(Broken(), folds, limit=10, report=silent)


def test_a_method_that_forgets_a_fold_is_an_error(folds):
    class Forgetful(Sleeper):
        def fit_folds(self, folds):
            yield Predictions(folds[0].test.y)

    with pytest.raises(ValueError, match="shorter"):
        run(Forgetful(), folds, report=silent)


def test_folds_trained_together_share_the_time(folds):
    seconds = {outcome.seconds for outcome in run(Together(), folds, report=silent)}
    assert len(seconds) == 1
    assert 0.05 < seconds.pop() < 0.2


def test_folds_trained_one_by_one_are_charged_their_own_time(folds):
    class Slow(Sleeper):
        def fit_fold(self, fold):
            time.sleep(0.2 if fold.number == 1 else 0)

    seconds = [outcome.seconds for outcome in run(Slow(), folds, report=silent)]
    assert seconds[1] > 0.2 > max(seconds[0], seconds[2])


# ------------------------------------------------------------------ measuring


def test_a_meter_counts_seconds_since_its_reset():
    meter = Meter()
    time.sleep(0.2)
    assert meter.seconds > 0.2
    meter.reset()
    assert meter.seconds < 0.2


def peak_can_be_reset():
    try:
        return Path("/proc/self/clear_refs").write_text("5") > 0
    except OSError:
        return False


@pytest.mark.skipif(not peak_can_be_reset(), reason="this system keeps only the peak of the whole process")
def test_a_meter_gives_the_peak_of_memory_since_its_reset():
    meter = Meter()
    before = meter.peak_mb
    block = np.ones(50 << 17)  # 50 MB
    assert meter.peak_mb > before + 40
    del block
    meter.reset()
    assert meter.peak_mb < before + 40


def test_a_block_within_its_limit_is_left_alone_and_the_alarm_is_off_afterwards():
    with time_limit(0.1):
        pass
    time.sleep(0.15)
    with pytest.raises(TimedOut, match=r"over the limit of 0\.05 s"), time_limit(0.05):
        time.sleep(5)


def test_no_limit_is_no_limit():
    with time_limit(None):
        time.sleep(0.01)


# ------------------------------------------------------------------ stages of the workflow


def test_a_stage_ends_with_one_sentence_on_an_error_of_the_user(tmp_path, capsys):
    with pytest.raises(SystemExit) as end, stage(tmp_path / "log") as log:
        log("so far so good")
        raise FBDEError("the cat is missing")
    assert end.value.code == 1
    assert capsys.readouterr().err == "error: the cat is missing\n"
    lines = (tmp_path / "log").read_text()
    assert "so far so good" in lines and "error: the cat is missing" in lines and "Traceback" not in lines


def test_a_stage_keeps_the_traceback_of_any_other_error_in_its_log(tmp_path):
    with pytest.raises(ZeroDivisionError), stage(tmp_path / "log"):
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_a_fold_that_cannot_be_fitted_is_an_outcome_with_its_reason(folds):
    class Half(methods.Method):
        kind = "sampler"

        def fit_fold(self, fold):
            if fold.number == 1:
                raise FitFailed("the solver gave up")
            return methods.Distribution(samples=fold.train)

    outcomes = run(Half(), folds, report=lambda line: None)
    assert [outcome.status for outcome in outcomes[:3]] == ["done", "failed", "done"]
    assert outcomes[1].reason == "the solver gave up"
    assert outcomes[1].result is None
