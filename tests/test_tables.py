"""The tables: layout, marks, corrected rows, further columns, and the four formats."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import madeup
import pandas as pd
import pytest

from fbde.metrics import METRICS
from fbde.reporting import htmltables, latex, leveragetable, tablefiles
from fbde.reporting.tables import COMPANION, Cell, Row, Table, build_all, mark_best, number


@pytest.fixture(scope="module")
def results():
    return madeup.made_results()


@pytest.fixture(scope="module")
def tables(results):
    found = build_all(results.scores, results.comparison, results.config, results.missing)
    return {table.name: table for table in found}


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    tablefiles.write_all(results.scores, results.comparison, results.config, folder, results.missing)
    return folder


def rows(table, metric, dataset="compas", sensitive="race"):
    return [r for r in table.rows if (r.metric, r.dataset, r.sensitive) == (metric, dataset, sensitive)]


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, ".500"), (-0.02, "-.020"), (1.715, "1.715"), (10.0, "10.000"), (float("nan"), "–")]
)
def test_numbers_are_printed_as_in_the_paper(value, text):
    assert number(value) == text


def test_every_table_of_the_paper_is_there(tables, results):
    assert set(results.comparison["table"]) <= set(tables)
    cells = sum(c.printed for t in tables.values() for r in t.rows for c in r.cells.values())
    assert cells == len(results.comparison) == 977


def test_best_follows_the_direction_of_the_metric():
    cells = {"Data": Cell(0.99), "a": Cell(0.5), "b": Cell(0.7), "c": Cell(0.7001), "d": Cell()}
    assert {c for c, cell in mark_best(cells, "SR").items() if cell.best} == {"b", "c"}
    assert {c for c, cell in mark_best(cells, "KL").items() if cell.best} == {"a"}
    assert not any(cell.best for cell in mark_best({"a": Cell(0.5)}, "SR").values())


def test_a_method_that_is_not_in_the_paper_is_in_the_table_of_other_methods(tables):
    others = tables["other_methods"]
    assert (others.columns, others.extra) == ([], ["data", "ours"])
    assert rows(others, "SR")[0].cells["ours"].ran
    assert [row.variant for row in rows(others, "dist")] == ["corrected"]
    assert [row.variant for row in rows(others, "KL")] == ["published"]
    assert "published number" not in others.legend
    assert tables["summary_experiments_table"].extra == []
    assert "M-E-1.0-unmixed" not in tables["summary_experiments_table"].columns


def test_the_configuration_puts_a_method_beside_the_papers_columns(results):
    methods = results.config["methods"]
    config = results.config | {"methods": methods | {"ours": methods["ours"] | {"tables": ["runtime"]}}}
    found = {table.name: table for table in build_all(results.scores, results.comparison, config)}
    assert found["runtime"].extra == ["ours"]
    assert rows(found["runtime"], "time")[0].cells["ours"].ran
    assert found["summary_experiments_table"].extra == []


def test_corrected_rows_stand_below_where_they_differ(tables):
    variants = [row.variant for row in rows(tables["summary_experiments_table"], "dist")]
    assert variants == ["published", "corrected"]
    assert [row.variant for row in rows(tables["summary_experiments_table"], "KL")] == ["published"]
    assert all(variant in METRICS[metric].variants for metric, variant in COMPANION.items())


def test_rows_are_grouped_as_in_the_paper(tables):
    row = rows(tables["summary_experiments_table"], "SR_c")[0]
    assert (row.block, row.part) == ("COMPAS (S = race)", "pred")
    row = rows(tables["inprocessing"], "SR_c")[0]
    assert (row.block, row.part) == ("COMPAS", "race")


def test_a_table_of_which_nothing_ran_says_so(tables):
    text = tablefiles.markdown(tables["summary_continuous_table"])
    assert "Nothing of this table was run" in text
    assert "Nothing" not in tablefiles.markdown(tables["summary_experiments_table"])


@pytest.mark.parametrize("ending", ["md", "tex", "html"])
def test_missing_datasets_are_named_in_every_format(folder, ending):
    text = (folder / f"full_experiments_table_extra.{ending}").read_text()
    assert "MISSING DATASET dutch" in text
    assert "MISSING" not in (folder / f"summary_experiments_table.{ending}").read_text()


def test_a_smoke_run_is_marked_in_every_format(results, tmp_path):
    tablefiles.write_all(results.scores, results.comparison, results.config, tmp_path, smoke=True)
    for path in tmp_path.glob("*"):
        if path.suffix in (".md", ".tex", ".html") and path.name != "all.tex":
            assert "SMOKE RUN" in path.read_text(), path.name


def test_the_csv_holds_every_cell(folder, results):
    table = pd.read_csv(folder / "summary_experiments_table.csv")
    printed = table[table["published_mean"].notna()]
    wanted = results.comparison[results.comparison["table"] == "summary_experiments_table"]
    assert len(printed) == len(wanted)
    assert printed["verdict"].value_counts().to_dict() == wanted["verdict"].value_counts().to_dict()


class Cells(HTMLParser):
    """Counts the columns of each row, spans included, and refuses what is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.widths, self.spans = [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.spans = [left - 1 for left in self.spans if left > 1]
            self.widths.append(len(self.spans))
        if tag in ("td", "th"):
            self.widths[-1] += int(attributes.get("colspan", 1))
            if int(attributes.get("rowspan", 1)) > 1:
                self.spans.append(int(attributes["rowspan"]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_rows_have_equal_widths_and_texts_are_escaped(folder):
    for path in folder.glob("*.html"):
        reader = Cells()
        reader.feed(path.read_text())
        assert not reader.open and len(set(reader.widths)) == 1, path.name
    assert "&lt;was&gt;" in (folder / "full_experiments_table_extra.html").read_text()


def test_html_colours_verdicts_and_puts_print_below(tables):
    text = htmltables.fragment(tables["summary_experiments_table"])
    assert 'class="v-match"' in text and 'class="print"' in text and "<b>" in text


def test_latex_has_whole_rows_and_closed_environments(folder):
    for path in folder.glob("*.tex"):
        text = path.read_text()
        for name in set(re.findall(r"\\begin\{(\w+\*?)\}", text)):
            assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}"), (path.name, name)
        assert text.count("{") == text.count("}"), path.name
        for head, body in re.findall(r"\\begin\{tabular\}\{([lrc]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
            lines = [line for line in body.splitlines() if line.endswith(r"\\")]
            assert {len(re.split(r"(?<!\\)&", line)) for line in lines} == {len(head)}, path.name


def test_latex_puts_no_more_methods_and_tasks_on_a_page_than_print():
    methods = [f"m{i}" for i in range(latex.WIDTH + 1)]
    tasks = [f"task {i}" for i in range(latex.BLOCKS + 1)]
    made = [Row("d", "s", "SR", "published", task, "data", {m: Cell(0.5, 0.1) for m in methods}) for task in tasks]
    text = latex.table(Table("t", "title", "caption", [], methods, made))
    assert text.count(r"\begin{tabular}") == 4
    assert [text.count(task) for task in tasks] == [2] * len(tasks)
    assert len(set(re.findall(r"\\label\{(.*?)\}", text))) == 4


def test_latex_escapes_what_tex_reads_otherwise():
    assert latex.escape("a_b & 5 % #1 {x} ~") == r"a\_b \& 5 \% \#1 \{x\} \textasciitilde{}"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed (package texlive-latex-extra)")
def test_latex_compiles(folder, tmp_path):
    for path in folder.glob("*.tex"):
        shutil.copy(path, tmp_path)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    if "not found" in done.stdout and ".sty" in done.stdout:
        pytest.skip("this TeX installation lacks a package: " + re.search(r"File `(.*?)' not found", done.stdout)[1])
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_leverage_table_has_the_printed_row_and_those_that_hold(results):
    rows = leveragetable.rows(results.scores, results.config)
    SR = {row[0]: row[4] for row in rows}
    assert SR["Exact, as printed"] == SR["Sound (half the steps)"] == "0.800"
    assert SR["Exact, corrected"] == "0.640"
    measured = {row[0]: row[6] for row in rows}
    assert measured["Sound (half the steps)"] == "not run" and float(measured["Relative"]) > 0.9


def test_tables_of_an_empty_run_are_print_alone(tmp_path):
    nothing = madeup.empty_results()
    tablefiles.write_all(nothing.scores, nothing.comparison, nothing.config, tmp_path, nothing.missing)
    assert "Nothing of this table was run" in (tmp_path / "runtime.md").read_text()
