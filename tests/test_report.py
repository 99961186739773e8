"""The report: what it says, that it is self-contained, and that it works in a browser."""

import base64
import json
import re
import shutil
import subprocess

import madeup
import numpy as np
import pandas as pd
import pytest

from fbde.reporting import claimrules, claims, findings, provenance, report, resultspage
from fbde.reporting.differences import differences, one_more_draw
from fbde.reporting.figures import FIGURES, write_all
from fbde.reporting.statistics import paired_tests

DRAWN = ["agreement", "exp_bounds"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def results():
    return madeup.made_results()


@pytest.fixture(scope="module")
def drawn(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    write_all(results, folder, DRAWN)
    return folder


@pytest.fixture(scope="module")
def page(results, drawn, tmp_path_factory):
    file = tmp_path_factory.mktemp("downloads") / "comparison.csv"
    results.comparison.to_csv(file, index=False)
    return render(results, drawn, [file])


def render(results, drawn, downloads=()):
    origin = provenance.collect(results.config)
    return report.render(results, figures=drawn, provenance=origin, downloads=downloads, published=madeup.PUBLISHED)


def cell_data(page):
    return json.loads(re.search(r'id="cell-data">(.*?)</script>', page, re.DOTALL)[1])


# ------------------------------------------------------------------ what it says


def test_every_published_cell_and_every_other_value_is_in_it(page, results):
    cells = cell_data(page)
    assert sum(cell["published"] is not None for cell in cells) == 977
    own = [cell for cell in cells if cell["method"] == "ours"]
    assert own and {cell["verdict"] for cell in own} == {report.NO_PRINT}
    one = next(c for c in cells if (c["task"], c["method"], c["metric"]) == ("COMPAS (S = race)", "M-E-0.9", "SR"))
    folds = results.folds(("compas", "race"), "M-E-0.9", "SR")
    assert [value for _, value, *_ in one["folds"]] == pytest.approx(folds.tolist(), abs=1e-6)
    assert all(isinstance(seed, int) and seconds is not None for _, _, seed, seconds in one["folds"])
    assert one["test"]["reference"] == "M-E-1.0"


def test_it_names_commit_versions_machine_missing_data_and_differences(page, results):
    assert provenance.commit()["id"] in page
    assert provenance.digest(results.config) in page
    assert f"numpy {provenance.versions()['numpy']}" in page
    assert "MISSING DATASET dutch" in page and "&lt;was&gt;" in page
    assert "not applicable: needs a finite domain" in page
    for text, explanation in differences(results.comparison):
        assert explanation
        assert text.split(":")[0] in page


def test_links_lead_somewhere(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    everything = {f"figure-{name}" for name in FIGURES} | set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= everything


def test_smoke_is_marked_and_a_full_run_is_not(page, drawn):
    assert "SMOKE RUN" not in page.replace('content: "SMOKE RUN"', "")
    smoke = render(madeup.made_results(smoke=True), drawn)
    assert 'class="smoke-run"' in smoke and "SMOKE RUN: one fold" in smoke


def test_an_empty_run_gives_a_report_that_says_so(drawn):
    page = render(madeup.empty_results(), drawn)
    assert page.count('class="badge">not run<') == len(claims.CLAIMS)


def test_nothing_is_loaded_from_outside(page):
    assert "default-src 'none'" in page
    addresses = re.findall(r"""(?:src|href|action|data-src)\s*=\s*["']([^"']{0,30})""", page)
    assert addresses and all(a.startswith(("#", "data:")) for a in addresses)
    assert not re.search(r"@import|url\(|<link|<iframe|fetch\(|XMLHttpRequest|https?://", page)


def test_downloads_are_the_files(page, results):
    href = re.search(r'download="comparison.csv" href="data:text/csv;base64,([^"]+)"', page)[1]
    assert base64.b64decode(href).decode() == results.comparison.to_csv(index=False)


def test_a_large_download_is_a_link(tmp_path, monkeypatch):
    (tmp_path / "scores.csv").write_text("a" * 100)
    monkeypatch.setattr(report, "INLINE_LIMIT", 10)
    assert report._download(tmp_path / "scores.csv")["href"] == "scores.csv"


def test_json_cannot_end_the_script_element():
    text = report.script_json({"a": "</script><b>"})
    assert "<" not in text and json.loads(text) == {"a": "</script><b>"}


# ------------------------------------------------------------------ claims and findings


def test_verdicts_follow_the_rules(results):
    found = {v.claim.title: v for v in claims.judge_all(results)}
    assert found["KL below MaxEnt's"].verdict == "reproduced"
    assert found["T = 8 suffices"].verdict == "reproduced"
    assert found["Continuous domain: SR above the budget, RR improved"].verdict == "not run"
    assert found["Weak learners can be read"].verdict == "partly"
    case = claims.Claim("t", "s", "r", lambda results: [claimrules.Case("x", False)], 1, ())
    assert claims.judge(case, results).verdict == "not reproduced"
    assert claims.judge(case, results).exceptions == "Not so: x."


def test_a_complete_run_has_the_stated_number_of_cases(results):
    found = claims.judge_all(madeup.complete_results())
    assert {v.claim.title: v.total for v in found} == {v.claim.title: v.claim.complete for v in found}
    assert all(v.badge == v.verdict for v in found)
    budget = next(v for v in claims.judge_all(results) if "budget τ" in v.claim.title)
    assert budget.badge == "reproduced (incomplete run)" and "A complete run has 80." in budget.sentence


def test_evidence_exists():
    titles = report.evidence_titles()
    assert all(anchor in titles for claim in claims.CLAIMS for anchor in claim.evidence)


def test_the_counterexample_goes_below_the_printed_bounds():
    statistical, representation = findings.counterexample([1, 2, 32])
    assert statistical == pytest.approx([0.802, 0.718, 0.643], abs=5e-4)
    assert representation == pytest.approx([0.894, 0.846, 0.800], abs=5e-4)


def test_broken_bounds_are_counted(results):
    text = next(f.evidence for f in findings.all_findings(results, madeup.PUBLISHED) if "Lemma E.2" in f.title)
    steps = len(madeup.RAN) * len(madeup.FBDE) * 3 * 12
    assert f"In {steps} boosting steps" in text
    assert f"below the printed bound {steps} times and below the corrected one 0 times" in text


def test_a_difference_says_whether_the_seed_explains_it():
    cell = {"table": "runtime", "dataset": "compas", "sensitive": "sex", "method": "M-E-1.0", "metric": "SR"}
    numbers = {"mean": 0.9, "published_mean": 0.95, "published_std": 0.01, "verdict": "differs", "note": ""}
    comparison = pd.DataFrame([cell | numbers, cell | numbers | {"metric": "RR", "verdict": "match"}])
    assert differences(comparison) == [
        ("Runtime: COMPAS (S = sex), M-E-1.0, SR: 0.900, printed 0.950 ± 0.010", "unexplained")
    ]

    def explained(z, note="", draws=20):
        seeds = pd.DataFrame([cell | {"seeds": 20, "draws": draws, "mean": 0.93, "std": 0.02, "z": z}])
        return differences(comparison.assign(note=note), seeds)[0][1]

    assert explained(-1.5) == "may be the seed: 20 other seeds give 0.930 ± 0.020"
    assert explained(12) == "unexplained, and not the seed: 20 other seeds give 0.930 ± 0.020"
    said = explained(12, "a single fold", draws=100)
    assert said == "a single fold; not the seed: 20 other seeds (100 folds) give 0.930 ± 0.020"


def test_a_cell_picked_out_of_many_may_be_far_off_by_chance():
    """By simulation: of 1,000 prints from the seeds' own distribution, the test calls none or one a surprise."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 21))
    z = (values[:, 0] - values[:, 1:].mean(axis=1)) / values[:, 1:].std(axis=1, ddof=1)
    assert np.abs(z).max() > 3
    assert sum(not one_more_draw(one, 20, 1000) for one in z) <= 1
    assert not one_more_draw(3, 20, 1) and one_more_draw(3, 20, 1000)


def test_results_page_counts_all_cells(results):
    text = resultspage.render(
        results, provenance.collect(results.config), folder="../reference", published=madeup.PUBLISHED
    )
    assert "| all | 977 |" in text and "../reference/figures/agreement.svg" in text
    lines = text.splitlines()
    assert all(not lines[i - 1] for i, line in enumerate(lines) if line.startswith("## "))
    (claim,) = [line for line in lines if line.startswith("| Weak learners can be read")]
    assert len(re.findall(r"(?<!\\)\|", claim)) == 5 and r"x \| y, s" in claim
    assert all(claim.title in text for claim in claims.CLAIMS)


# ------------------------------------------------------------------ in a browser

SELF_TEST = """
<script>
addEventListener("load", () => {
  const rows = () => Array.from(document.querySelectorAll("#cell-table tbody tr"));
  const column = (k) => rows().map((row) => row.children[k].textContent);
  const choose = (key, value) => {
    const select = document.querySelector(`select[data-key=${key}]`);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  };
  const sort = (key) => document.querySelector(`[data-sort=${key}]`).click();
  const found = { start: document.getElementById("shown").textContent, rows: rows().length };
  choose("dataset", "compas"); choose("metric", "SR"); choose("verdict", "match");
  found.filtered = [column(0), column(2), column(6)].map((texts) => Array.from(new Set(texts)));
  choose("verdict", "");
  sort("ours"); found.up = column(3);
  found.sorted = document.querySelector("[data-sort=ours]").parentElement.getAttribute("aria-sort");
  sort("ours"); found.down = column(3);
  const button = document.querySelector("#cell-table .open");
  button.click();
  found.detail = document.querySelector("tr.detail").textContent;
  found.folds = document.querySelectorAll("tr.detail table.folds tbody tr").length;
  button.click();
  found.closed = document.querySelector("tr.detail") === null;
  document.getElementById("theme").click(); found.theme = document.documentElement.dataset.theme;
  const back = getComputedStyle(document.body).backgroundColor;
  document.getElementById("theme").click(); found.changed = back !== getComputedStyle(document.body).backgroundColor;
  location.hash = "#table-runtime";
  const image = document.querySelector("img.picture");
  found.image = image.complete && image.naturalWidth > 0;
  found.loaded = performance.getEntriesByType("resource").map((e) => e.name.slice(0, 40));
  found.wide = document.documentElement.scrollWidth <= innerWidth;
  setTimeout(() => {
    found.unfolded = document.getElementById("box-runtime").open;
    const result = document.createElement("pre");
    result.id = "self-test"; result.textContent = JSON.stringify(found);
    document.body.append(result);
  }, 50);
});
</script>
</body>"""


@pytest.fixture(scope="module")
def browsed(page, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian and Ubuntu: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(page.replace("</body>", SELF_TEST))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}", "--window-size=390,800", "--virtual-time-budget=10000",
        "--disable-background-networking", "--dump-dom", (folder / "report.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    result = re.search(r'<pre id="self-test">(.*?)</pre>', done.stdout, re.DOTALL)
    assert result, f"the page's script did not run to its end: {done.stderr[-1500:]}"
    return json.loads(result[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def test_browser_shows_and_filters(browsed, page):
    assert browsed["start"].startswith(f"{len(cell_data(page))} of {len(cell_data(page))} cells")
    assert browsed["rows"] == 150
    tasks, metrics, verdicts = browsed["filtered"]
    assert all(task.startswith("COMPAS") for task in tasks)
    assert (metrics, verdicts) == (["SR"], ["match"])


def test_browser_sorts_both_ways_with_what_is_absent_last(browsed):
    assert browsed["sorted"] == "ascending"
    up, down = ([float(t.split(" ")[0]) for t in browsed[key] if t != "–"] for key in ("up", "down"))
    assert len(up) > 5 and up == sorted(up) and down == sorted(down, reverse=True)
    assert all("–" not in texts or texts.index("–") >= len(up) for texts in (browsed["up"], browsed["down"]))


def test_browser_opens_and_closes_a_cell(browsed):
    assert browsed["folds"] == 3 and browsed["closed"]
    assert "seed" in browsed["detail"] and "seconds" in browsed["detail"]


def test_browser_changes_the_theme_unfolds_links_and_fits_a_phone(browsed):
    assert browsed["theme"] in ("light", "dark") and browsed["changed"]
    assert browsed["unfolded"] and browsed["wide"]


def test_browser_draws_figures_and_loads_nothing(browsed):
    assert browsed["image"]
    assert all(name.startswith("data:") for name in browsed["loaded"])


def test_tests_of_the_cells_are_those_of_the_statistics(results, page):
    expected = paired_tests(results.scores)
    shown = [cell for cell in cell_data(page) if cell.get("test")]
    assert pd.Series([cell["test"]["p_holm"] for cell in shown]).max() <= 1
    assert len(shown) >= len(expected)
