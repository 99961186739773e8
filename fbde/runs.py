"""Running one method on one task: all folds inside, each with its outcome."""

from dataclasses import replace

from threadpoolctl import threadpool_limits

from fbde import methods
from fbde.errors import FitFailed
from fbde.measure import Meter, TimedOut, time_limit
from fbde.methods import Outcome


def run(method, folds, *, limit=None, report=print):
    """Fit every fold and measure it. A reason not to run is an outcome; an error is an error.

    A method that trains its folds together is charged its time in equal parts.
    """
    reason = method.not_applicable(folds[0].task)
    if reason:
        return [Outcome(fold.number, "not applicable", reason) for fold in folds]
    outcomes, meter = [], Meter()
    try:
        # Problems are small and jobs run side by side: more threads than one only slow each other down.
        with time_limit(limit), threadpool_limits(1):
            for fold, result in zip(folds, method.fit_folds(folds), strict=True):
                failed = isinstance(result, FitFailed)
                ended = {"status": "failed", "reason": str(result)} if failed else {"result": result}
                outcomes.append(Outcome(fold.number, seconds=meter.seconds, peak_mb=meter.peak_mb, **ended))
                report(f"fold {fold.number} ({len(outcomes)} of {len(folds)}): {meter.seconds:.2f} s")
                meter.reset()
    except TimedOut as error:
        done = {outcome.fold for outcome in outcomes}
        outcomes += [Outcome(f.number, "timed out", str(error)) for f in folds if f.number not in done]
    return _share_time(outcomes) if trains_together(method) else outcomes


def trains_together(method):
    return type(method).fit_folds is not methods.Method.fit_folds


def _share_time(outcomes):
    done = [outcome for outcome in outcomes if outcome.status == "done"]
    seconds = sum(outcome.seconds for outcome in done) / max(len(done), 1)
    return [replace(o, seconds=seconds) if o.status == "done" else o for o in outcomes]
