"""Errors a user can act on: shown as one sentence, without a traceback."""

import sys
from contextlib import contextmanager


class FBDEError(ValueError):
    """Something the user can mend; the message names the thing and what is allowed."""


class DataError(FBDEError):
    """A data file or table is not what it should be."""


class DataMissing(DataError):
    """No source could supply a raw file."""


class ConfigError(FBDEError):
    """The configuration names something that does not exist."""


class FitFailed(FBDEError):
    """A method could not be fitted on one fold (a solver gave up, say): an outcome with its reason."""


@contextmanager
def one_sentence():
    """Turn an :class:`FBDEError` into its sentence on stderr and exit status 1."""
    try:
        yield
    except FBDEError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(1)


def unknown(kind, name, allowed):
    """The sentence for a name that is not one of the allowed ones, with the nearest of them."""
    from difflib import get_close_matches

    allowed = [str(item) for item in allowed]
    near = get_close_matches(str(name), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"unknown {kind} {name!r}{hint} Allowed: {', '.join(allowed) or 'none'}."
