"""The library stays light: nothing heavy is imported before it is used, and Snakemake never."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ["torch", "cvxpy", "aif360", "fairlearn", "imblearn", "snakemake", "tabfairgan"]


def heavy_after(statement):
    """Which of the heavy packages a fresh interpreter has imported after a statement."""
    code = f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "statement",
    [
        "import fbde",
        "import fbde.methods, fbde.datasets, fbde.config, fbde.evaluate, fbde.published, fbde.reporting.tables",
        "from fbde import FBDE, Certificate",
        "from fbde import methods; [methods.load(name) for name in methods.names()]",
    ],
)
def test_importing_does_not_import_what_is_heavy(statement):
    assert heavy_after(statement) == []


def test_the_search_for_heavy_packages_finds_one():
    assert "fairlearn" in heavy_after("import fairlearn")


def test_importing_the_package_alone_does_not_even_import_numpy():
    assert heavy_after("import fbde; assert 'numpy' not in sys.modules") == []


def test_a_name_the_package_does_not_have_is_an_attribute_error():
    import fbde

    with pytest.raises(AttributeError, match="module 'fbde' has no attribute 'FDBE'"):
        fbde.FDBE  # noqa: B018


@pytest.mark.parametrize("path", sorted((ROOT / "fbde").rglob("*.py")), ids=lambda path: path.stem)
def test_no_file_of_the_library_imports_snakemake(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.split(".")[0] == "snakemake" for name in names)
