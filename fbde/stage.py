"""What every workflow script shares: a log file, and errors as one sentence."""

import logging
import sys
import traceback
from contextlib import contextmanager

from fbde.errors import FBDEError


@contextmanager
def stage(log):
    """Give a function that writes to the stage's log. An :class:`FBDEError` ends the job with its sentence;
    any other error leaves its traceback in the log as well."""
    logger = logging.getLogger("fbde.stage")
    logger.setLevel(logging.INFO)
    handler = logging.FileHandler(str(log), mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield logger.info
    except FBDEError as error:
        logger.error("error: %s", error)
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    except Exception:
        logger.error(traceback.format_exc())
        raise
    finally:
        handler.close()
        logger.removeHandler(handler)
