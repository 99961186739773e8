"""What the documents show is what runs."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fbde import methods
from fbde.domain import Domain
from fbde.runs import run
from fbde.tasks import Fold, Rows, Task

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_readmes_example_and_numbers_are_those_that_come_out():
    done = subprocess.run([sys.executable, "docs/render.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_the_method_of_the_guide_is_a_method(tmp_path):
    guide = (ROOT / "docs" / "adding-a-method.md").read_text()
    (tmp_path / "mine.py").write_text(re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1])
    method = methods.load("mine", tmp_path)
    methods.check_parameters(method, {"rounds": 5}, "guide")
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 2, (40, 2)).astype(float), rng.integers(0, 2, 40), rng.integers(0, 2, 40), np.ones(40))
    task = Task("german", "sex", "y", ("a", "b"), {})
    fold = Fold(task, 0, rows, rows, Domain.of(rows.X, rows.y, rows.s), 0)
    (outcome,) = run(method(rounds=5), [fold], report=lambda line: None)
    assert outcome.status == "done"
    assert len(outcome.result.samples.y) == 5


def test_every_command_of_the_findings_names_things_that_exist():
    text = (ROOT / "docs" / "findings.md").read_text()
    commands = re.findall(r"^    (\.venv/bin/\S+.*)$", text, re.MULTILINE)
    assert len(commands) >= 9
    for command in commands:
        for file in re.findall(r"tests/\w+\.py", command):
            assert (ROOT / file).exists(), command
