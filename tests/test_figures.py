"""The figures: all are drawn, in the same bytes each time, and one without data says what is missing."""

import re
from pathlib import Path

import madeup
import matplotlib
import numpy as np
import pytest

from fbde.reporting import figures
from fbde.reporting.figures import comparisons, iterations, style, trees
from fbde.reporting.figures.data import Results
from fbde.reporting.firsttree import prune

import matplotlib.pyplot as plt  # isort: skip  (after the style has chosen the backend)


@pytest.fixture(scope="module")
def results():
    return madeup.made_results()


@pytest.fixture(scope="module")
def reference():
    """The last full run: real names, real lengths."""
    return Results.of_folder(Path(__file__).resolve().parents[1] / "reference")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(figure):
    return " ".join(t.get_text() for t in figure.findobj(plt.Text))


def test_every_figure_of_a_run_is_drawn(results):
    for name in figures.FIGURES:
        figure = figures.draw(name, results)
        assert figure.axes, name
        plt.close(figure)


def test_every_figure_of_an_empty_run_says_what_is_missing():
    nothing = madeup.empty_results()
    for name in figures.FIGURES:
        figure = figures.draw(name, nothing)
        if name != "exp_bounds":  # theory needs no run
            assert "Not drawn:" in texts(figure), name
        plt.close(figure)


def test_a_missing_dataset_and_a_reason_are_named(results):
    assert "needs a finite domain" in texts(figures.draw("minneapolis_all", results))
    nothing = madeup.empty_results()
    nothing.config = nothing.config | {"tasks": {"dutch": ["sex"]}}
    assert "MISSING DATASET dutch" in texts(figures.draw("rr_kl_extra", nothing))


def test_same_results_same_bytes(results, tmp_path):
    names = ["boosting_main", "weak_tree_top"]
    for run in ("first", "second"):
        figures.write_all(results, tmp_path / run, names)
    for path in sorted((tmp_path / "first").iterdir()):
        content = path.read_bytes()
        assert content == (tmp_path / "second" / path.name).read_bytes(), path.name
        assert not re.search(rb"20\d\d-\d\d-\d\d|/CreationDate", content), path.name
    assert len(list((tmp_path / "first").iterdir())) == len(names) * len(style.FORMATS)


def test_smoke_is_written_across_the_figure(tmp_path):
    results = madeup.made_results(smoke=True)
    figure = figures.draw("exp_bounds", results)
    style.save(figure, tmp_path, "x", smoke=True)
    assert "SMOKE RUN" in texts(figure)


def test_step_eight_is_marked_at_its_mean(results):
    figure = figures.draw("boosting_main", results)
    mean = results.by_step(("adult", "sex"), "M-R-0.9", "KL").mean(axis=1)[iterations.STEP]
    dotted = [line for axes in figure.axes for line in axes.lines if line.get_linestyle() == ":"]
    assert dotted[0].get_ydata()[0] == pytest.approx(mean)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_nothing_is_cut_off_and_legends_keep_off_the_data(name, reference):
    figure = figures.draw(name, reference)
    with matplotlib.rc_context(style.SETTINGS):
        style.lay_out(figure)
        for dpi in (figure.dpi, 72):  # PNG; SVG and PDF
            figure.set_dpi(dpi)
            figure.draw_without_rendering()
            _check_boxes(figure)


def _check_boxes(figure):
    whole = figure.bbox
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= whole.x0 and box.x1 <= whole.x1, (figure.dpi, axes.get_title(), box)
        assert box.y0 >= whole.y0 and box.y1 <= whole.y1, (figure.dpi, axes.get_title(), box)
        for legend in [*figure.legends, *([axes.get_legend()] if axes.get_legend() else [])]:
            assert not legend.get_window_extent().overlaps(axes.get_window_extent()), axes.get_title()


def test_pareto_front_by_hand():
    points = [(1, 1), (2, 2), (3, 1), (1, 3), (2, 2)]
    assert comparisons.pareto_front(points, (1, 1)).tolist() == [False, True, True, True, True]
    assert comparisons.pareto_front(points, (-1, 1)).tolist() == [False, False, False, True, False]


def test_cutting_a_tree_marks_what_goes_on():
    root = madeup.TREE["tree"]
    top = trees.cut(root, 1)
    assert top["yes"] == root["yes"] and top["no"]["more"] and "feature" not in top["no"]
    assert trees.cut(root, None) is root


def test_pruning_keeps_what_tells_something():
    leaf = {"real": 0.3, "c": -0.1, "weight": 0.1}
    empty = leaf | {"feature": "sex", "threshold": 0.5, "yes": leaf, "no": leaf}
    above = empty | {"yes": empty}
    assert prune(above) == leaf
    root = madeup.TREE["tree"]
    assert prune(root) == root
    assert (
        prune(root | {"yes": root["yes"] | {"feature": "age", "threshold": 1, "yes": above, "no": leaf}})["no"]
        == root["no"]
    )


def test_answers_speak_the_datas_words():
    root = madeup.TREE["tree"]
    assert trees.answers(root, madeup.TREE["meanings"]) == ("African-American", "Caucasian")
    assert trees.answers(root["no"], {}) == ("no", "yes")
    assert trees.answers(root["no"]["no"], {}) == ("≤ 33.5", "> 33.5")


def test_every_method_has_its_own_look():
    names = {f"m{i}": {} for i in range(40)} | {name: {} for name in style.KNOWN if name != "Data"}
    looks = style.looks(names)
    assert len({(k.colour, k.marker, k.filled) for k in looks.values()}) == len(names)
    assert len(style.looks({f"m{i}": {} for i in range(500)})) == 500
    pair = style.looks({"gan": {"paper": "TabFairGAN"}, "gan-2": {"paper": "TabFairGAN", "tables": ["inprocessing"]}})
    assert pair["gan"] == style.KNOWN["TabFairGAN"] != pair["gan-2"]


def test_grey_prints_tell_the_methods_of_the_configuration_apart(reference):
    """Colour apart, each has a marker of its own; our form of a method has its marker, hollow."""
    methods = reference.config["methods"]
    looks = style.looks(methods)
    shown = reference.general(methods)
    assert len({(looks[name].marker, looks[name].filled) for name in shown}) == len(shown)
    assert looks["fairglm"].marker == looks["fairglm-published"].marker and not looks["fairglm"].filled


def test_the_printed_quadratic_is_below_and_the_corrected_one_above(results):
    _, below = figures.draw("exp_bounds", results).axes
    curves = {line.get_label(): line.get_ydata() for line in below.lines if len(line.get_ydata()) > 2}
    assert np.all(curves["printed quadratic (Lemma E.2)"][1:-1] < 0)
    assert np.all(curves["corrected quadratic"] > -1e-12) and np.all(curves["chord"] > -1e-12)
