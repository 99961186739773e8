"""Seconds and peak memory of a piece of work, and an end to it when it takes too long."""

import resource
import signal
import sys
import time
from contextlib import contextmanager


class TimedOut(BaseException):
    """The time limit of a run was reached. Not an Exception, so that no library takes it for its own."""


class Meter:
    """Seconds and peak resident memory (MB) since the last reset."""

    def __init__(self):
        self.reset()

    def reset(self):
        try:
            # Linux: sets the recorded peak back to what is in use now.
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass  # Elsewhere the peak is that of the process so far.
        self.start = time.perf_counter()

    @property
    def seconds(self):
        return time.perf_counter() - self.start

    @property
    def peak_mb(self):
        try:
            with open("/proc/self/status") as file:
                peak = next(line for line in file if line.startswith("VmHWM"))
            return int(peak.split()[1]) / 1024
        except (OSError, StopIteration):
            unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@contextmanager
def time_limit(seconds):
    """Raise :class:`TimedOut` inside of the block after ``seconds`` (None: no limit)."""
    if seconds is None:
        yield
        return

    def stop(signum, frame):
        raise TimedOut(f"over the limit of {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
