"""What a method is: one file in ``baselines/`` with a class ``Method``.

The class docstring is the citation. Constructor arguments are the parameters: keyword-only and
typed. ``smoke`` holds parameters that make a run short. A method implements ``fit_fold``, or
``fit_folds`` if training all folds together is faster, and gives for each fold one of

* :class:`Distribution`, from a sampler: data, prediction and clustering metrics;
* :class:`Predictions`, from a classifier: prediction metrics;
* :class:`Centres`, from a clusterer: clustering metrics.
"""

import ast
import hashlib
import importlib.util
import inspect
import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import ClassVar, Literal, Union, get_args, get_origin

import numpy as np

from fbde import PUBLIC
from fbde.errors import ConfigError, FitFailed, unknown
from fbde.files import atomic
from fbde.tasks import Fold, Rows, Task

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("sampler", "classifier", "clusterer")


@dataclass(frozen=True)
class Distribution:
    """A debiased distribution: rows drawn from it, its density on the cells, or both.

    ``samples`` may be weighted rows. ``density`` has the shape of the fold's domain; it may sum to
    less than one if the method puts mass outside of the domain, and then ``marginal``, Q(y, s),
    must be given. ``kl_from_samples`` says that the paper took this method's KL from samples although
    it has a density. ``steps`` holds the density after each boosting step, ``trace`` one row of numbers
    per step. ``log_likelihood`` is the mean log density of the test rows.
    """

    samples: Rows | None = None
    density: np.ndarray | None = None
    marginal: np.ndarray | None = None
    kl_from_samples: bool = False
    steps: np.ndarray | None = None
    trace: dict[str, np.ndarray] = field(default_factory=dict)
    log_likelihood: float | None = None


@dataclass(frozen=True)
class Predictions:
    """Decisions on the test rows and, if the classifier has them, probabilities of the positive label."""

    decision: np.ndarray
    probability: np.ndarray | None = None


@dataclass(frozen=True)
class Centres:
    """Cluster centres in columns (x, y), each divided by ``scale``."""

    centres: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """How the fit of one fold ended: ``done``, ``not applicable``, ``failed`` or ``timed out``, with the reason."""

    fold: int
    status: str = "done"
    reason: str = ""
    seconds: float = float("nan")
    peak_mb: float = float("nan")
    result: Distribution | Predictions | Centres | None = None


class Method:
    """Base class of all methods."""

    kind: ClassVar[str]
    smoke: ClassVar[dict] = {}

    def not_applicable(self, task: Task) -> str | None:
        """Why this method cannot run on ``task``, or None if it can."""
        return None

    def fit_fold(self, fold: Fold):
        raise TypeError(f"{type(self).__module__} must define fit_fold or fit_folds")

    def fit_folds(self, folds: list[Fold]):
        """Fit every fold, yielding in order a result or the :class:`FitFailed`; override it to train folds together."""
        for fold in folds:
            try:
                result = self.fit_fold(fold)
            except FitFailed as error:
                result = error
            yield result


# ------------------------------------------------------------------ finding and checking methods


def names(folder=ROOT / "baselines"):
    """The file names (without ending) of all methods."""
    return sorted(path.stem for path in Path(folder).glob("*.py") if not path.stem.startswith("_"))


def load(name, folder=ROOT / "baselines"):
    """The class ``Method`` of ``baselines/<name>.py``."""
    path = Path(folder) / f"{name}.py"
    if not path.is_file():
        raise ConfigError(unknown("method file", name, names(folder)))
    spec = importlib.util.spec_from_file_location(f"baselines.{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    method = getattr(module, "Method", None)
    if not (inspect.isclass(method) and issubclass(method, Method)) or method is Method:
        raise ConfigError(f"{path} defines no class Method(fbde.methods.Method)")
    if getattr(method, "kind", None) not in KINDS:
        raise ConfigError(f"{path}: Method.kind must be one of {', '.join(KINDS)}")
    return method


def parameters(method):
    """The constructor's parameters: name → :class:`inspect.Parameter`."""
    if method.__init__ is object.__init__:
        return {}
    found = dict(inspect.signature(method.__init__, eval_str=True).parameters)
    found.pop("self", None)
    return found


def check_parameters(method, given, where):
    """Refuse parameters the constructor does not know, lacks, or types otherwise."""
    known = parameters(method)
    for name, value in given.items():
        if name not in known:
            raise ConfigError(f"{where}: {unknown('parameter', name, known)}")
        if not _fits(value, known[name].annotation):
            wanted = _spell(known[name].annotation)
            raise ConfigError(f"{where}: parameter {name!r} must be {wanted}, not {value!r}")
    missing = [n for n, p in known.items() if p.default is inspect.Parameter.empty and n not in given]
    if missing:
        raise ConfigError(f"{where}: parameter {missing[0]!r} has no default and is not given")


def _fits(value, wanted):
    origin, arguments = get_origin(wanted), get_args(wanted)
    if wanted is inspect.Parameter.empty:
        return True
    if origin is Literal:
        return any(type(value) is type(item) and value == item for item in arguments)
    if origin in (Union, UnionType):
        return any(_fits(value, item) for item in arguments)
    if origin or wanted in (list, tuple, dict):
        return isinstance(value, dict if (origin or wanted) is dict else (list, tuple))
    if isinstance(value, bool):
        return wanted is bool
    if wanted is float:
        return isinstance(value, int | float)
    return isinstance(value, wanted)


_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false", NoneType: "null"}


def _spell(wanted):
    if get_origin(wanted) is Literal:
        return " or ".join(map(repr, get_args(wanted)))
    if get_origin(wanted) in (Union, UnionType):
        return " or ".join(map(_spell, get_args(wanted)))
    return _WORDS.get(wanted) or str(wanted)


def source_digest(*paths):
    """A digest of source files and of everything of this project that they import, also indirectly."""
    found, todo = {}, [Path(path).resolve() for path in paths]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found[path] = path.read_bytes()
        todo += _imports(path, found[path])
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(os.path.relpath(path, ROOT).encode() + b"\0" + found[path] + b"\0")
    return digest.hexdigest()[:16]


def _imports(path, source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            modules = [PUBLIC.get(module.removeprefix("fbde."), module) for module in modules]
        else:
            continue
        for module in modules:
            if module.split(".")[0] in ("fbde", "baselines"):
                stem = ROOT.joinpath(*module.split("."))
                for file in (stem.with_suffix(".py"), stem / "__init__.py"):
                    if file.is_file():
                        yield file


# ------------------------------------------------------------------ keeping results without pickle

_RESULTS = {kind.__name__: kind for kind in (Distribution, Predictions, Centres)}


def save_outcomes(path, outcomes):
    """Write the outcomes of a job to one npz file: arrays, and a JSON header."""
    arrays, header = {}, []
    for outcome in outcomes:
        entry = {name: getattr(outcome, name) for name in ("fold", "status", "reason", "seconds", "peak_mb")}
        if outcome.result is not None:
            entry["kind"] = type(outcome.result).__name__
            arrays |= {f"{outcome.fold}/{key}": _plain(value, key) for key, value in _flatten(outcome.result)}
        header.append(entry)
    with atomic(path) as temporary:
        np.savez_compressed(temporary, header=np.array(json.dumps(header)), **arrays)


def _plain(value, name):
    if value.dtype.hasobject:
        raise TypeError(f"{name} holds Python objects, which only pickle can save; give it a numeric or text dtype")
    return value


def _flatten(result, prefix=""):
    for item in fields(result):
        value = getattr(result, item.name)
        if isinstance(value, Rows):
            yield from _flatten(value, f"{prefix}{item.name}/")
        elif isinstance(value, dict):
            yield from ((f"{prefix}{item.name}/{key}", np.asarray(array)) for key, array in value.items())
        elif value is not None:
            yield f"{prefix}{item.name}", np.asarray(value)


def load_outcomes(path):
    """Read what :func:`save_outcomes` wrote."""
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        arrays = {key: file[key] for key in file.files if key != "header"}
    outcomes = []
    for entry in header:
        kind = entry.pop("kind", None)
        prefix = f"{entry['fold']}/"
        own = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
        outcomes.append(Outcome(**entry, result=_restore(_RESULTS[kind], own) if kind else None))
    return outcomes


def _restore(kind, arrays):
    values = {}
    for item in fields(kind):
        inner = {k.split("/", 1)[1]: v for k, v in arrays.items() if k.startswith(f"{item.name}/")}
        if inner:
            values[item.name] = Rows(**inner) if item.name == "samples" else inner
        elif item.name in arrays:
            value = arrays[item.name]
            values[item.name] = value.item() if value.ndim == 0 else value
    return kind(**values)
