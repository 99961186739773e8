"""Fair boosted density estimation (FBDE), and the suite that reproduces its paper."""

from importlib import import_module

__version__ = "0.1.0"

PUBLIC = {"FBDE": "fbde.estimator", "ContinuousFBDE": "fbde.continuous", "Certificate": "fbde.certificate"}
__all__ = [*PUBLIC, "__version__"]


def __getattr__(name):
    """Import the public classes on first use, so that ``import fbde`` costs nothing."""
    if name in PUBLIC:
        return getattr(import_module(PUBLIC[name]), name)
    raise AttributeError(f"module 'fbde' has no attribute {name!r}")
