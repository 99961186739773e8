"""What a method is, how it is checked and kept."""

import ast
import inspect
import re
import shutil
from typing import Literal

import numpy as np
import pytest

from fbde import methods
from fbde.errors import ConfigError
from fbde.methods import (
    Centres,
    Distribution,
    Outcome,
    Predictions,
    check_parameters,
    load_outcomes,
    save_outcomes,
    source_digest,
)

FILES = methods.names()


# ------------------------------------------------------------------ every file in baselines/


def test_the_methods_are_the_files_of_the_folder():
    assert {"data", "shuffled", "fbde"} <= set(FILES)
    assert len(FILES) == len(list((methods.ROOT / "baselines").glob("*.py")))


@pytest.mark.parametrize("name", FILES)
def test_a_method_says_its_kind_and_whose_it_is(name):
    method = methods.load(name)
    assert method.kind in methods.KINDS
    heading = ast.get_docstring(ast.parse((methods.ROOT / "baselines" / f"{name}.py").read_text(encoding="utf-8")))
    citation = re.search(r"[A-Z]\w+.*\b(19|20)\d\d\b", method.__doc__ or "", flags=re.DOTALL)
    assert heading.startswith("Control:") or citation, "the class docstring cites author and year"


@pytest.mark.parametrize("name", FILES)
def test_a_methods_parameters_are_keyword_only_typed_and_have_defaults(name):
    method = methods.load(name)
    for parameter in methods.parameters(method).values():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, parameter
        assert parameter.annotation is not inspect.Parameter.empty, parameter
        assert methods._fits(parameter.default, parameter.annotation), parameter
    check_parameters(method, method.smoke, name)
    method(**method.smoke)


@pytest.mark.parametrize("name", FILES)
def test_a_method_fits_a_fold_or_folds(name):
    method = methods.load(name)
    assert "fit_fold" in vars(method) or "fit_folds" in vars(method)


# ------------------------------------------------------------------ files that are not methods


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "defines no class Method"),
        ("class Method: kind = 'sampler'", "defines no class Method"),
        ("from fbde.methods import Method", "defines no class Method"),
        ("from fbde.methods import Method as Base\nclass Method(Base): pass", "kind must be one of sampler"),
        ("from fbde.methods import Method as Base\nclass Method(Base): kind = 'oracle'", "kind must be one of sampler"),
    ],
)
def test_a_file_without_a_proper_method_is_refused_with_its_path(source, message, tmp_path):
    (tmp_path / "mine.py").write_text(source)
    with pytest.raises(ConfigError, match=message) as error:
        methods.load("mine", tmp_path)
    assert str(tmp_path / "mine.py") in str(error.value)


def test_an_unknown_file_is_named_with_the_nearest(tmp_path):
    (tmp_path / "reweighing.py").write_text("")
    with pytest.raises(ConfigError, match=r"unknown method file 'reweighting'; did you mean 'reweighing'\?"):
        methods.load("reweighting", tmp_path)


def test_a_method_without_a_fit_says_what_it_must_define(fold):
    with pytest.raises(TypeError, match="must define fit_fold or fit_folds"):
        list(methods.Method().fit_folds([fold]))


# ------------------------------------------------------------------ parameters


class Sample(methods.Method):
    kind = "sampler"

    def __init__(
        self,
        *,
        rate: float,
        steps: int = 3,
        fast: bool = False,
        way: Literal["up", "down", 1] = "up",
        limit: float | None = None,
        columns: list[str] | None = None,
        side: Literal["left"] | None = None,
    ):
        pass


def refusal(**given):
    with pytest.raises(ConfigError) as error:
        check_parameters(Sample, {"rate": 0.5} | given, "method mine")
    return str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"rate": 1},
        {"steps": 5, "fast": True},
        {"way": "down"},
        {"way": 1},
        {"limit": None},
        {"limit": 2},
        {"columns": ["a", "b"]},
        {"columns": None},
        {"side": "left"},
        {"side": None},
    ],
)
def test_parameters_that_fit_pass(given):
    check_parameters(Sample, {"rate": 0.5} | given, "method mine")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "fast"}, "'rate' must be a number, not 'fast'"),
        ({"rate": True}, "'rate' must be a number, not True"),
        ({"steps": 2.5}, "'steps' must be a whole number, not 2.5"),
        ({"fast": 1}, "'fast' must be true or false, not 1"),
        ({"fast": "false"}, "'fast' must be true or false, not 'false'"),
        ({"way": "sideways"}, "'way' must be 'up' or 'down' or 1, not 'sideways'"),
        ({"way": True}, "'way' must be 'up' or 'down' or 1, not True"),
        ({"limit": "none"}, "'limit' must be a number or null, not 'none'"),
        ({"columns": "a"}, "'columns' must be list[str] or null, not 'a'"),
        ({"side": "right"}, "'side' must be 'left' or null, not 'right'"),
    ],
)
def test_a_parameter_of_another_type_is_named_with_what_it_must_be(given, message):
    assert refusal(**given) == f"method mine: parameter {message}"


def test_a_misspelt_parameter_is_named_with_the_nearest_and_all_allowed():
    sentence = refusal(setps=4)
    assert "method mine: unknown parameter 'setps'; did you mean 'steps'? Allowed: rate, steps, fast" in sentence


def test_a_missing_parameter_is_named():
    with pytest.raises(ConfigError, match="method mine: parameter 'rate' has no default and is not given"):
        check_parameters(Sample, {}, "method mine")


def test_a_method_without_constructor_has_no_parameters_and_says_so():
    with pytest.raises(ConfigError, match=r"unknown parameter 'x'\. Allowed: none\."):
        check_parameters(methods.load("data"), {"x": 1}, "method data")


def test_parameters_of_an_inherited_constructor_are_known():
    class Child(Sample):
        pass

    assert list(methods.parameters(Child)) == list(methods.parameters(Sample))


def test_annotations_written_as_text_are_understood(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\n"
        "from fbde.methods import Method as Base\n"
        "class Method(Base):\n"
        "    kind = 'sampler'\n"
        "    def __init__(self, *, rate: float | None = None): pass\n"
    )
    method = methods.load("mine", tmp_path)
    check_parameters(method, {"rate": 2}, "mine")
    with pytest.raises(ConfigError, match="'rate' must be a number or null, not 'x'"):
        check_parameters(method, {"rate": "x"}, "mine")


# ------------------------------------------------------------------ results without pickle


def assert_equal(first, second):
    """Equality of results, arrays included, type by type."""
    assert type(first) is type(second)
    if hasattr(first, "__dataclass_fields__"):
        for name in first.__dataclass_fields__:
            assert_equal(getattr(first, name), getattr(second, name))
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert_equal(first[name], second[name])
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    else:
        assert first == second or (np.isnan(first) and np.isnan(second))


def test_all_kinds_of_outcome_come_back_as_they_were(tmp_path, fold):
    full = Distribution(
        samples=fold.train,
        density=fold.train_distribution,
        marginal=fold.train_distribution.sum(axis=0),
        kl_from_samples=True,
        steps=np.stack([fold.train_distribution] * 2),
        trace={"theta": np.array([0.5, 0.25]), "a/b": np.array([1])},
        log_likelihood=-2.5,
    )
    outcomes = [
        Outcome(0, seconds=1.25, peak_mb=100.5, result=full),
        Outcome(1, seconds=0.5, peak_mb=1.0, result=Distribution(samples=fold.test)),
        Outcome(10, seconds=0.5, peak_mb=1.0, result=Predictions(fold.test.y, fold.test.weight / 2)),
        Outcome(2, seconds=0.5, peak_mb=1.0, result=Predictions(fold.test.y == 1)),
        Outcome(3, seconds=0.5, peak_mb=1.0, result=Centres(np.eye(4), np.ones(4))),
        Outcome(4, "timed out", "over the limit of 3 s"),
        Outcome(5, "not applicable", "Schnee – ❄"),
    ]
    save_outcomes(tmp_path / "fit.npz", outcomes)
    for before, after in zip(outcomes, load_outcomes(tmp_path / "fit.npz"), strict=True):
        assert_equal(before, after)


def test_python_objects_are_refused_when_saving_and_nothing_is_left(tmp_path):
    result = Predictions(np.array(["yes", None], dtype=object))
    with pytest.raises(TypeError, match="decision holds Python objects"):
        save_outcomes(tmp_path / "fit.npz", [Outcome(0, result=result)])
    assert list(tmp_path.iterdir()) == []


def test_a_pickle_inside_of_a_results_file_is_never_opened(tmp_path):
    np.savez(tmp_path / "fit.npz", header=np.array([{"fold": 0}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_outcomes(tmp_path / "fit.npz")


# ------------------------------------------------------------------ digests of source


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project: a method that imports a module, which imports another; and one that nothing imports."""
    files = {
        "baselines/mine.py": "import numpy\nfrom fbde.near import thing\nfrom fbde import part\n",
        "baselines/other.py": "from fbde.unused import x\n",
        "fbde/near.py": "def f():\n    import fbde.far\n",
        "fbde/far.py": "from fbde.near import f\n",
        "fbde/part/__init__.py": "",
        "fbde/estimator.py": "",
        "fbde/unused.py": "",
    }
    for name, source in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.setattr(methods, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", ["baselines/mine.py", "fbde/near.py", "fbde/far.py", "fbde/part/__init__.py"])
def test_a_digest_changes_with_the_file_and_whatever_it_imports(file, project):
    before = source_digest(project / "baselines/mine.py")
    with open(project / file, "a") as source:
        source.write("# edited\n")
    assert source_digest(project / "baselines/mine.py") != before


@pytest.mark.parametrize("file", ["baselines/other.py", "fbde/unused.py", "fbde/estimator.py"])
def test_a_digest_does_not_change_with_anything_else(file, project):
    before = source_digest(project / "baselines/mine.py")
    (project / file).write_text("# edited\n")
    assert source_digest(project / "baselines/mine.py") == before


def test_a_digest_follows_the_names_that_the_package_imports_late(project):
    (project / "baselines/mine.py").write_text("from fbde import FBDE\n")
    before = source_digest(project / "baselines/mine.py")
    (project / "fbde/estimator.py").write_text("# edited\n")
    assert source_digest(project / "baselines/mine.py") != before


def test_a_digest_is_the_same_wherever_the_project_lies(project, tmp_path_factory, monkeypatch):
    before = source_digest(project / "baselines/mine.py")
    other = tmp_path_factory.mktemp("clone") / "project"
    shutil.copytree(project, other)
    monkeypatch.setattr(methods, "ROOT", other)
    assert source_digest(other / "baselines/mine.py") == before
