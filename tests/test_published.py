"""Every published cell beside what came out: verdicts, misprints, missing datasets, tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fbde import datasets, published, scores
from fbde.published import CELL, VERDICTS
from fbde.reporting import tablefiles, tables

ROOT = Path(__file__).resolve().parent.parent
METHOD = {"paper": None, "tables": None, "only": None}
CONFIG = {
    "tasks": {"compas": ["sex"], "dutch": ["sex"], "minneapolis-published": ["search"]},
    "methods": {"data": METHOD | {"paper": "Data"}, "mine": METHOD},
    "smoke": False,
}
MISSING = [
    {
        "dataset": "dutch",
        "status": "missing",
        "files": ["dutch_census_2001.arff"],
        "reason": "dutch_census_2001.arff could not be had (wheel: none)",
        "remedy": "FBDE_DATA=FOLDER snakemake --cores all",
    }
]


def score_rows(values, dataset="compas", sensitive="sex", method="data", metric="SR", **other):
    """One final, published score per fold."""
    base = {"dataset": dataset, "sensitive": sensitive, "method": method, "metric": metric, "variant": "published"}
    return [base | {"fold": fold, "value": value, "status": "done"} | other for fold, value in enumerate(values)]


@pytest.fixture
def paper(tmp_path):
    """A function that writes a small paper: cells as (dataset, sensitive, method, metric, mean, std), and misprints."""

    def write(*cells, misprints=()):
        rows = [("t", *cell) for cell in cells]
        pd.DataFrame(rows, columns=[*CELL, "mean", "std"]).to_csv(tmp_path / "paper.csv", index=False)
        notes = pd.DataFrame([("t", *note) for note in misprints], columns=[*CELL, "field", "folds", "reason"])
        notes.to_csv(tmp_path / "misprints.csv", index=False)
        return tmp_path

    return write


def compare(folder, rows, config=CONFIG):
    return published.compare(scores.table(rows), config, folder)


# ------------------------------------------------------------------ what is printed


def test_the_paper_has_977_different_cells():
    paper = published.paper(ROOT / "published")
    assert len(paper) == 977
    assert not paper.duplicated(CELL).any()
    assert paper[[*CELL, "published_mean", "published_std"]].notna().all().all()


def test_every_printed_cell_is_of_a_known_task():
    every = {name: list(datasets.get(name).sensitive) for name in datasets.names()}
    tasks = published.paper_tasks(every)
    assert tasks["minneapolis", "race"] == ("minneapolis-published", "search")
    paper = published.paper(ROOT / "published")
    assert set(zip(paper["dataset"], paper["sensitive"], strict=True)) == set(tasks)


def test_every_misprint_is_a_cell_of_the_paper_noted_once_with_a_reason():
    noted = published.misprints(ROOT / "published")
    paper = published.paper(ROOT / "published")
    assert not noted.duplicated(CELL).any()
    assert len(noted.merge(paper, on=CELL)) == len(noted)
    assert set(noted["field"]) == {"mean", "std", "folds"}
    assert noted["reason"].str.len().min() > 10
    assert noted.loc[noted["field"] == "folds", "folds"].str.fullmatch(r"\d( \d)*").all()


def test_the_misprint_of_COMPAS_sex_is_noted():
    noted = published.misprints(ROOT / "published").set_index(CELL)
    assert noted.loc[("full_experiments_table", "compas", "sex", "Data", "RR"), "field"] == "mean"


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("mean", "std", "verdict"),
    [
        (0.700, 0.001, "match"),
        (0.705, 0.001, "match"),
        (0.695, 0.001, "match"),
        (0.70502, 0.001, "near"),
        (0.710, 0.001, "near"),
        (0.690, 0.001, "near"),
        (0.71002, 0.001, "differs"),
        (0.730, 0.030, "match"),
        (0.73002, 0.030, "near"),
        (0.760, 0.030, "near"),
        (0.76002, 0.030, "differs"),
        (0.705, 0.0, "match"),
    ],
)
def test_a_verdict_depends_on_the_difference_and_the_printed_std(mean, std, verdict, paper):
    folder = paper(("compas", "sex", "Data", "SR", 0.7, std))
    [row] = compare(folder, score_rows([mean - 0.1, mean + 0.1])).to_dict("records")
    assert row["verdict"] == verdict
    assert row["run"] == "data"
    assert row["mean"] == pytest.approx(mean) and row["std"] == pytest.approx(0.1)
    assert row["delta"] == pytest.approx(mean - 0.7)
    assert (row["published_mean"], row["published_std"]) == (0.7, std)


def test_only_final_done_published_values_of_the_cells_own_run_count(paper):
    folder = paper(("compas", "sex", "Data", "SR", 0.7, 0.0))
    others = [
        *score_rows([9.0], variant="exact"),
        *score_rows([9.0], step=3),
        *score_rows([9.0], status="undefined"),
        *score_rows([9.0], metric="RR"),
        *score_rows([9.0], method="mine"),
        *score_rows([9.0], sensitive="race"),
        *score_rows([9.0], dataset="dutch"),
    ]
    [row] = compare(folder, others + score_rows([0.7, 0.702])).to_dict("records")
    assert row["mean"] == pytest.approx(0.701)
    [row] = compare(folder, others).to_dict("records")
    assert row["verdict"] == "not run" and row["run"] is None and np.isnan(row["mean"])


def test_seconds_of_another_machine_are_shown_and_not_judged(paper):
    folder = paper(("compas", "sex", "Data", "time", 100.0, 1.0))
    [row] = compare(folder, score_rows([3.0], metric="time")).to_dict("records")
    assert row["verdict"] == "not comparable" and row["mean"] == 3.0
    [row] = compare(folder, []).to_dict("records")
    assert row["verdict"] == "not run"


def test_a_misprinted_mean_is_a_known_misprint_whatever_came_out_but_only_if_it_was_run(paper):
    cell = ("compas", "sex", "Data", "SR")
    folder = paper((*cell, 0.443, 0.004), misprints=[(*cell, "mean", "", "printed .443; the data have .243")])
    [row] = compare(folder, score_rows([0.243])).to_dict("records")
    assert (row["verdict"], row["note"]) == ("known misprint", "printed .443; the data have .243")
    assert compare(folder, [])["verdict"].tolist() == ["not run"]


def test_a_misprinted_std_is_noted_and_the_mean_judged(paper):
    cell = ("compas", "sex", "Data", "SR")
    folder = paper((*cell, 0.7, 0.0), misprints=[(*cell, "std", "", "std printed twice")])
    [row] = compare(folder, score_rows([0.8])).to_dict("records")
    assert (row["verdict"], row["note"]) == ("differs", "std printed twice")


def test_a_number_printed_over_some_folds_is_compared_with_those(paper):
    cell = ("compas", "sex", "Data", "SR")
    folder = paper((*cell, 0.7, 0.0), misprints=[(*cell, "folds", "0 1", "folds 0 and 1 only")])
    [row] = compare(folder, score_rows([0.6, 0.8, 9.0, 9.0, 9.0])).to_dict("records")
    assert (row["verdict"], row["note"]) == ("match", "folds 0 and 1 only")
    assert row["mean"] == pytest.approx(0.7) and row["std"] == pytest.approx(0.1)


def test_a_run_that_did_not_finish_says_why_in_its_cells(paper):
    folder = paper(("compas", "sex", "Data", "SR", 0.7, 0.0), ("compas", "sex", "Data", "cPR", 0.7, 0.0))
    ended = {"dataset": "compas", "sensitive": "sex", "method": "data", "fold": 4}
    rows = [*score_rows([0.7]), ended | {"status": "timed out", "reason": "over the limit of 9 s"}]
    rows += score_rows([None], metric="cPR", status="undefined", reason="a cluster or group is empty")
    SR, cPR = compare(folder, rows).to_dict("records")
    assert (SR["verdict"], SR["note"]) == ("match", "timed out (over the limit of 9 s)")
    assert cPR["verdict"] == "not run"
    assert cPR["note"] == "timed out (over the limit of 9 s); undefined (a cluster or group is empty)"


def test_the_printed_minneapolis_is_compared_with_the_run_that_has_its_roles(paper):
    folder = paper(("minneapolis", "race", "Data", "SR", 0.7, 0.0))
    rows = score_rows([9.0], "minneapolis", "race") + score_rows([0.7], "minneapolis-published", "search")
    assert compare(folder, rows)["verdict"].tolist() == ["match"]


def test_a_method_bound_to_a_table_supplies_it_before_others():
    entries = {
        "a": METHOD | {"paper": "M"},
        "b": METHOD | {"paper": "M", "tables": ["special"]},
        "c": METHOD | {"paper": "M", "only": ["german"], "tables": ["other"]},
    }
    assert published.runs_for(entries, "special", "M", "compas") == "b"
    assert published.runs_for(entries, "usual", "M", "compas") == "a"
    assert published.runs_for(entries, "other", "M", "german") == "c"
    assert published.runs_for(entries, "other", "M", "compas") == "a"
    assert published.runs_for(entries, "usual", "Other", "compas") is None


def test_the_real_paper_gives_one_row_per_cell_in_its_order():
    comparison = compare(ROOT / "published", score_rows([0.728] * 5))
    pd.testing.assert_frame_equal(comparison[CELL], published.paper(ROOT / "published")[CELL])
    ran = comparison[comparison["verdict"] != "not run"]
    assert ran[CELL].to_numpy().tolist() == [["full_experiments_table", "compas", "sex", "Data", "SR"]]
    assert ran["verdict"].tolist() == ["match"]


# ------------------------------------------------------------------ summary and missing datasets


RAN = score_rows([0.7]) + score_rows([0.2], metric="RR")


@pytest.fixture
def comparison(paper):
    """One cell that matches, one that differs, two of a missing dataset."""
    folder = paper(
        ("compas", "sex", "Data", "SR", 0.7, 0.0),
        ("compas", "sex", "Data", "RR", 0.7, 0.012),
        ("dutch", "sex", "Data", "SR", 0.5, 0.0),
        ("dutch", "sex", "M-E-1.0", "SR", 1.0, 0.0),
    )
    return published.mark_missing(compare(folder, RAN), MISSING, CONFIG)


def test_cells_are_counted_by_table_and_verdict(comparison):
    counts = published.count_verdicts(comparison)
    assert counts.columns.tolist() == ["cells", *VERDICTS]
    assert counts.loc["t"].tolist() == counts.loc["all"].tolist() == [4, 1, 0, 1, 2, 0, 0]


def test_the_summary_fits_a_screen_and_names_the_missing_dataset_with_the_remedy(comparison):
    text = published.summary(comparison, MISSING)
    assert "SMOKE" not in text
    lines = text.splitlines()
    assert len(lines) < 24 and max(map(len, lines)) <= 120
    assert "MISSING DATASET dutch: dutch_census_2001.arff could not be had (wheel: none)." in lines
    last = "To add it, put dutch_census_2001.arff into a folder and run: FBDE_DATA=FOLDER snakemake --cores all"
    assert lines[-1] == last


def test_the_summary_of_the_whole_paper_fits_a_screen():
    lines = published.summary(compare(ROOT / "published", [])).splitlines()
    assert len(lines) < 24 and max(map(len, lines)) <= 120
    assert lines[-1].split() == ["all", "977", "0", "0", "0", "977", "0", "0"]


def test_a_smoke_run_says_that_it_is_one(comparison):
    assert "SMOKE RUN" in published.summary(comparison, smoke=True)


def test_the_comparison_names_the_missing_dataset_in_each_of_its_cells(comparison):
    ours, absent = comparison[comparison["dataset"] == "compas"], comparison[comparison["dataset"] == "dutch"]
    assert (absent["note"] == "dataset dutch is missing").all() and (absent["missing_dataset"] == "dutch").all()
    assert (ours["note"] == "").all() and ours["missing_dataset"].isna().all()


def test_nothing_missing_marks_nothing(paper):
    comparison = compare(paper(("dutch", "sex", "Data", "SR", 0.5, 0.0)), [])
    marked = published.mark_missing(comparison, [], CONFIG)
    assert marked["note"].tolist() == [""] and marked["missing_dataset"].isna().all()


def test_missing_minneapolis_is_named_by_the_id_of_the_run(paper):
    comparison = compare(paper(("minneapolis", "race", "Data", "SR", 0.5, 0.0)), [])
    missing = [MISSING[0] | {"dataset": name} for name in ("minneapolis", "minneapolis-published")]
    config = CONFIG | {"tasks": CONFIG["tasks"] | {"minneapolis": ["race"]}}
    marked = published.mark_missing(comparison, missing, config)
    assert marked["missing_dataset"].tolist() == ["minneapolis-published"]


# ------------------------------------------------------------------ tables


def as_markdown(comparison, **options):
    """The one table of the small paper."""
    [table] = tables.build_all(scores.table(RAN), comparison, CONFIG, MISSING, **options)
    return tablefiles.markdown(table)


def test_a_table_puts_ours_beside_print_and_says_what_it_lacks(comparison):
    lines = as_markdown(comparison).splitlines()
    SR, RR, absent = [line for line in lines if re.search(r"\| (SR|RR) \|", line)]
    assert ".700 ± .000 ✓" in SR
    assert ".200 ± .000 ✗" in RR and ".700 ± .012" in RR
    assert absent.count("·") == 2 and ".500 ± .000" in absent and "1.000 ± .000" in absent
    assert f"> MISSING DATASET dutch: {MISSING[0]['reason']}." in lines
    assert "SMOKE" not in "".join(lines)


def test_a_table_that_has_all_its_datasets_names_none(comparison):
    text = as_markdown(comparison[comparison["dataset"] == "compas"], smoke=True)
    assert "MISSING" not in text
    assert "SMOKE RUN" in text


def test_a_table_survives_the_way_through_the_comparison_file(comparison, tmp_path):
    comparison.to_csv(tmp_path / "comparison.csv", index=False)
    assert as_markdown(pd.read_csv(tmp_path / "comparison.csv")) == as_markdown(comparison)


def test_every_verdict_has_a_sign():
    assert set(tables.SIGNS) == set(VERDICTS)


def test_markdown_has_a_head_a_rule_and_one_line_per_row():
    lines = tablefiles.markdown_lines(["a", "b"], [[1, "x"], [2, "y"]])
    assert lines == "| a | b |\n|---|---|\n| 1 | x |\n| 2 | y |\n"
