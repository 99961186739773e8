"""The workflow from end to end, on German Credit: the smallest dataset, two methods, seconds."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fbde import datasets

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [pytest.mark.data, pytest.mark.xdist_group("workflow")]
CONFIG = {"tasks": {"german": ["sex"]}, "methods": {"data": {"paper": "Data"}, "shuffled": {}}}
SHOWN = ["dataset", "sensitive", "method", "fold", "step", "metric", "variant", "value", "status", "reason"]


@pytest.fixture(scope="session")
def german_folder(tmp_path_factory):
    """A folder with the verified raw file and nothing else."""
    folder = tmp_path_factory.mktemp("raw")
    for path in datasets.fetch_all("german").values():
        shutil.copyfile(path, folder / path.name)
    return folder


@pytest.fixture
def project(tmp_path, german_folder):
    """A copy of the project with a small configuration, and a function that runs snakemake in it."""
    for name in ("workflow", "fbde", "baselines", "published"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "environment.yml", tmp_path)

    def write(**changes):
        (tmp_path / "config.yaml").write_text(yaml.safe_dump({**CONFIG, **changes}))

    def run(*arguments, cores=2, data=german_folder, **environment):
        variables = os.environ | {"PYTHONPATH": str(tmp_path), "FBDE_DATA": str(data)} | environment
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    write()
    run.folder, run.write = tmp_path, write
    return run


def scores(folder):
    table = pd.read_parquet(folder / "results" / "scores.parquet")
    return table[table["metric"] != "time"][SHOWN].reset_index(drop=True)


def jobs(done, rule):
    return sum(line.strip() in (f"rule {rule}:", f"localrule {rule}:") for line in done.stdout.splitlines())


def test_one_command_gives_scores_comparison_and_tables(project):
    done = project(cores=2)
    assert done.returncode == 0, done.stdout
    first = scores(project.folder)
    assert set(first["method"]) == {"data", "shuffled"}
    assert set(first["fold"]) == set(range(5))
    comparison = pd.read_csv(project.folder / "results" / "comparison.csv")
    assert len(comparison) == 977
    cell = comparison.query(
        "table == 'full_experiments_table_extra' and dataset == 'german' and sensitive == 'sex' "
        "and method == 'Data' and metric == 'RR'"
    ).iloc[0]
    assert (cell["run"], cell["verdict"], round(cell["mean"], 3)) == ("data", "match", 0.449)
    assert "Published cells, by verdict" in done.stdout
    table = (project.folder / "results" / "tables" / "full_experiments_table_extra.md").read_text()
    assert re.search(r"\.449 ± \.014.*?\.449 ± \.014", table)

    again = project()
    assert "Nothing to be done" in again.stdout

    method = project.folder / "baselines" / "shuffled.py"
    method.write_text(method.read_text() + "\n# edited\n")
    edited = project(cores=1)
    assert edited.returncode == 0, edited.stdout
    assert jobs(edited, "fit") == 1
    assert "method=shuffled" in edited.stdout
    assert "method=data" not in edited.stdout
    assert jobs(edited, "prepare") == jobs(edited, "split") == 0

    shutil.rmtree(project.folder / "results")
    shutil.rmtree(project.folder / ".snakemake")
    assert project(cores=1).returncode == 0
    pd.testing.assert_frame_equal(scores(project.folder), first)


def test_a_dataset_that_nobody_has_is_named_everywhere_and_the_run_goes_on(project):
    unreachable = {"FBDE_CACHE": str(project.folder / "cache"), "PIP_NO_INDEX": "1"}
    dutch = project.folder / "fbde" / "datasets" / "dutch.py"
    dutch.write_text(dutch.read_text().replace("https://raw.githubusercontent.com", "http://127.0.0.1:9"))
    project.write(tasks={"german": ["sex"], "dutch": ["sex"]}, methods={"data": {"paper": "Data"}})
    done = project("--config", "smoke=true", **unreachable)
    assert done.returncode == 0, done.stdout
    results = project.folder / "results" / "smoke"
    tail = "\n".join(done.stdout.splitlines()[-12:])
    assert "MISSING DATASET dutch: dutch_census_2001.arff could not be had" in tail
    assert "--config smoke=true --forcerun results/smoke/data/dutch.json" in tail
    table = pd.read_parquet(results / "scores.parquet")
    assert set(table.loc[table["dataset"] == "dutch", "status"]) == {"missing"}
    comparison = pd.read_csv(results / "comparison.csv")
    notes = comparison.loc[comparison["dataset"] == "dutch", "note"]
    assert (notes == "dataset dutch is missing").all()
    assert "MISSING DATASET dutch" in (results / "tables" / "full_experiments_table_extra.md").read_text()
    assert "MISSING" not in (results / "tables" / "full_experiments_table.md").read_text()

    strict = project("--config", "smoke=true", "require_all=true", "--forcerun", "fetch", **unreachable)
    assert strict.returncode != 0
    assert "error: dutch_census_2001.arff could not be had" in strict.stdout


BROKEN = {
    "unknown key": ({"sed": 1}, "unknown key 'sed'; did you mean 'seed'?"),
    "unknown dataset": ({"tasks": {"germany": ["sex"]}}, "unknown dataset 'germany'; did you mean 'german'?"),
    "unknown attribute": ({"tasks": {"german": ["sexe"]}}, "unknown sensitive attribute of German Credit 'sexe'"),
    "unknown method": ({"methods": {"dato": {}}}, "unknown method file 'dato'; did you mean 'data'?"),
    "misspelt parameter": (
        {"methods": {"m": {"file": "fbde", "params": {"leverag": "exact"}}}},
        "method m: unknown parameter 'leverag'; did you mean 'leverage'?",
    ),
    "wrong type": (
        {"methods": {"m": {"file": "fbde", "params": {"n_steps": "many"}}}},
        "method m: parameter 'n_steps' must be a whole number, not 'many'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_configuration_is_one_sentence_and_writes_nothing(project, case):
    changes, sentence = BROKEN[case]
    project.write(**changes)
    done = project("--dry-run")
    assert done.returncode != 0
    assert sentence in done.stdout
    assert "Traceback" not in done.stdout
    assert not (project.folder / "results").exists()


def test_a_changed_raw_file_is_one_sentence_and_leaves_no_half_result(project, german_folder):
    own = shutil.copytree(german_folder, project.folder / "raw")
    assert project("--until", "fetch", data=own).returncode == 0
    raw = own / "german.data"
    content = bytearray(raw.read_bytes())
    content[100] ^= 1
    raw.write_bytes(content)
    done = project(data=own)
    assert done.returncode != 0
    assert f"error: {raw} has changed: expected sha256 b21f3d81" in done.stdout
    assert not list((project.folder / "results").rglob("*.parquet"))


def test_an_error_in_a_method_fails_its_job_and_not_the_others(project):
    broken = project.folder / "baselines" / "broken.py"
    broken.write_text(
        "from fbde.methods import Method as Base\n\n\nclass Method(Base):\n"
        '    kind = "sampler"\n\n    def fit_fold(self, fold):\n        raise ZeroDivisionError\n'
    )
    project.write(methods={"data": {"paper": "Data"}, "broken": {}})
    done = project("--config", "smoke=true")
    assert done.returncode != 0
    results = project.folder / "results" / "smoke"
    assert (results / "scores" / "german" / "sex" / "data.parquet").exists()
    assert not (results / "fits" / "german" / "sex" / "broken.npz").exists()
    assert "ZeroDivisionError" in (results / "logs" / "fit" / "german" / "sex" / "broken.log").read_text()
