"""The versions agree: environment.yml with requirements.txt, and both with the ranges of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONDA_NAMES = {"pytorch-cpu": "torch", "snakemake-minimal": "snakemake"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {"": PROJECT["dependencies"]} | PROJECT["optional-dependencies"]
RANGES = [(extra, Requirement(text)) for extra, texts in EXTRAS.items() for text in texts]


def pins():
    """Package → pinned version; every line but comments and the project itself must be a pin."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line and not line.startswith("#") and line != "-e .":
            name, version = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+]+)", line).groups()
            assert canonicalize_name(name) not in found, name
            found[canonicalize_name(name)] = version
    return found


def environment():
    """Package → version of environment.yml, conda's and pip's, under pip's names."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    texts = [entry for entry in entries if isinstance(entry, str) and "=" in entry]
    found = dict(re.split("==?", text) for text in [*texts, *(text for text in pip if "=" in text)])
    return {canonicalize_name(CONDA_NAMES.get(name, name)): version for name, version in found.items()}


def test_the_environment_has_the_pinned_versions():
    found = environment()
    assert found.pop("python") == "3.11"
    assert len(found) > 20
    assert found == {name: pins().get(name) for name in found}


def test_the_environment_has_all_that_the_project_and_its_extras_ask_for():
    # What checks the code's form is not needed to run it.
    wanted = {canonicalize_name(range_.name) for _, range_ in RANGES} - {"ruff", "snakefmt"}
    assert wanted - set(environment()) == set()


@pytest.mark.parametrize(("extra", "range_"), RANGES, ids=lambda value: str(value))
def test_a_range_admits_its_pin(extra, range_):
    version = pins().get(canonicalize_name(range_.name))
    assert version is not None, f"{range_.name} is not pinned"
    assert range_.specifier.contains(version)


def test_pandas_stays_below_3_and_torch_below_2_14():
    ranges = {range_.name: range_.specifier for _, range_ in RANGES}
    assert not ranges["pandas"].contains("3.0")
    assert not ranges["torch"].contains("2.14.0")


def test_the_project_installs_itself_from_the_pins():
    assert "-e ." in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()


def test_the_version_is_written_the_same_twice():
    import fbde

    assert fbde.__version__ == PROJECT["version"]
