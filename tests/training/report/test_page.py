"""The page holds everything, needs nothing else, and shows names from files as text."""

import json
import pathlib
import re

import pytest

from bert_tf.errors import InputError
from bert_tf.training.report import page as report
from bert_tf.training.report.page import ReportOptions
from tests.reference.html_page import Page

TEMPLATES = pathlib.Path(report.__file__).parent / "templates"
STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8")

NASTY = "<script>alert('1')</script> & \"co\""


def line(step, **values):
    return {"step": step, "time": 1000.0 + step} | values


def start(number, step, last_step, before):
    environment = {"Python": "3.99", "Strategy": f"Strategy{number}", "Replicas": "4"}
    return line(
        step,
        event="start",
        number=number,
        seconds_before=before,
        last_step=last_step,
        environment=environment,
        sizes={"parameters": 28500000},
    )


LINES = [
    start(1, 0, 0, 0.0),
    line(0, event="phase", sizes={"max_seq_length": 128, "train_batch_size": 32}),
    line(0, event="peak", flops_per_second=2.17e11),
    line(10, masked_lm_loss=9.5, masked_lm_accuracy=0.01, learning_rate=1e-4, gradient_norm=3.0),
    line(20, masked_lm_loss=8.5, tokens_per_second=900.0, real_share=0.9, mfu=0.5, odd=1.0),
    start(2, 20, 27, 30.0),
    line(30, masked_lm_loss=7.5, parameter_norm=44.0, tokens_per_second=1100.0),
    line(30, event="phase", sizes={"max_seq_length": 512, "train_batch_size": 8}),
    line(30, event="evaluation", metrics={"masked_lm_loss": 7.75, "masked_lm_accuracy": 0.125}),
    line(40, masked_lm_loss=None, masked_lm_accuracy=0.2),
    line(40, event="end"),
]


@pytest.fixture
def directory(tmp_path):
    """A model directory with every file that the report reads."""
    text = "".join(json.dumps(each) + "\n" for each in LINES) + '{"step": 4'
    (tmp_path / "metrics.jsonl").write_text(text)
    (tmp_path / "bert_config.json").write_text('{"hidden_size": 384, "num_hidden_layers": 3}')
    (tmp_path / "model.json").write_text(json.dumps({"kind": "pretrain", "task": NASTY}))
    (tmp_path / "flags.txt").write_text(f"--input_file={tmp_path}/gone*\n--note={NASTY}\n")
    (tmp_path / "eval_results.txt").write_text("masked_lm_loss = 7.75\n")
    return tmp_path


@pytest.fixture
def page(directory):
    path = report.write(directory)
    assert path == str(directory / "report.html")
    return Page((directory / "report.html").read_text(encoding="utf-8"))


def test_it_refers_to_nothing_outside(page, directory):
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "image", "use"}
        assert not {"src", "href", "xlink:href", "srcset", "action"} & attributes.keys()
    text = (directory / "report.html").read_text(encoding="utf-8")
    assert re.search(r"https?:|//\w+\.|url\(|@import|fetch\(|import\(", text) is None


def test_it_is_a_page_that_says_its_language_and_letters(page):
    names = [tag for tag, _ in page.tags]
    assert names[:4] == ["html", "head", "meta", "meta"]
    assert page.tags[0][1] == {"lang": "en"}
    assert page.tags[2][1] == {"charset": "utf-8"}


def test_every_value_has_its_figure_and_losses_come_first(page):
    figures = [attributes["aria-label"] for attributes in page.with_class("svg", "curve")]
    assert figures == [
        "Masked LM loss by update",
        "Masked LM accuracy by update",
        "Learning rate by update",
        "Gradient norm by update",
        "Parameter norm by update",
        "Tokens per second by update",
        "Share of tokens that are not padding by update",
        "Model FLOP utilisation by update",
        "Odd by update",
    ]
    wanted = ["Curves", "Evaluation", "Starts", "Phases", "Settings", "Data"]
    assert page.texts_in("h2") == wanted


def test_restarts_and_phases_are_marked_in_every_figure(page):
    # One of each kind, the first start and the first phase being none; a sign in the legend.
    figures = len(page.with_class("svg", "curve"))
    assert len(page.with_class("g", "restart")) == len(page.with_class("g", "phase")) == figures
    hints = page.texts_in("title")
    assert hints.count("start 2: goes on after update 20, 7 updates run again") == figures
    assert hints.count("after update 30: max_seq_length 512, train_batch_size 8") == figures
    assert page.texts_in("text").count("length 512") == figures


def test_held_out_values_are_in_the_figure_of_the_same_name(page):
    circles = [each for each in page.with_class("circle", "held-out") if each["r"] == "4"]
    assert len(circles) == 2 + 1  # and one in the legend
    assert "held-out after 30: 12.5 %" in page.texts_in("title")


def test_a_metric_of_evaluations_alone_has_a_figure_of_points(directory):
    lines = [
        line(4, event="evaluation", metrics={"f1": 0.5, "NoAns_f1": 0.25, "NoAns_total": 3}),
        line(8, event="evaluation", metrics={"f1": 0.75, "NoAns_f1": 0.5, "NoAns_total": 3}),
    ]
    text = "".join(json.dumps(each) + "\n" for each in [line(2, loss=3.0), *lines])
    (directory / "metrics.jsonl").write_text(text)
    report.write(directory)
    page = Page((directory / "report.html").read_text(encoding="utf-8"))
    figures = [attributes["aria-label"] for attributes in page.with_class("svg", "curve")]
    assert figures == [
        "Loss by update",
        "F1 by update",
        "Questions without an answer: F1 by update",
    ]
    assert "held-out after 8: 0.75" in page.texts_in("title")
    assert "last 0.75" in page.texts_in("span")
    assert "F1, held-out" in page.texts_in("span")


def test_a_run_that_ended_early_says_why(directory, page):
    assert not any("Early stopping" in text for _, text in page.texts)
    end = line(8, event="end", early_stopping="f1 never rose above 0.5", num_steps=1200)
    lines = [line(2, loss=3.0), end]
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (directory / "metrics.jsonl").write_text(text)
    report.write(directory)
    page = Page((directory / "report.html").read_text(encoding="utf-8"))
    wanted = "Early stopping after update 8 of 1,200: f1 never rose above 0.5."
    assert wanted in page.texts_in("p")


def test_names_from_files_are_text(page):
    assert page.texts_in("h1") == [f"Pre-training: {NASTY}"]
    assert NASTY in page.texts_in("td")
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert page.texts_in("script") == ["\n" + (TEMPLATES / "cursor.js").read_text(encoding="utf-8")]


def test_tables_hold_results_settings_and_machine(page):
    cells = page.texts_in("td") + page.texts_in("th")
    wanted = {"7.75", "384", "3.99", "Strategy1", "Strategy2", "512", "hidden_size"}
    wanted |= {"Python", "Not described", "1970-01-01 00:16 UTC"}
    assert wanted <= set(cells)
    assert "1 damaged line(s) of metrics.jsonl are left out." in page.texts_in("p")


def test_the_head_and_its_tiles(page):
    assert page.texts_in("span")[0] == "complete"
    # 30 seconds of the first process, and 20 of the second.
    assert page.texts_in("b")[:6] == ["40", "50 s", "28.5 M", "1,000", "90 %", "50 %"]


def test_the_cursor_finds_its_readings(page):
    readings = [json.loads(each["data-readings"]) for each in page.with_class("svg", "curve")]
    assert [point[2] for point in readings[0]] == [10, 20, 30]
    assert len(page.with_class("span", "reading")) == len(readings)
    assert "last 7.5" in page.texts_in("span")


def test_the_utilisation_says_what_it_is_relative_to(page):
    assert "Model FLOP utilisation, median, of 217 GFLOP/s" in page.texts_in("span")
    assert any("fastest matrix products" in text for text in page.texts_in("p"))


def test_light_and_dark():
    assert "color-scheme: light dark" in STYLE
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    names = set(re.findall(r"(--[\w-]+):", light))
    assert names == set(re.findall(r"(--[\w-]+):", dark))
    assert set(re.findall(r"var\((--[\w-]+)\)", STYLE)) == names


def test_every_class_that_is_styled_is_used_and_the_other_way_round(directory):
    report.write(directory)
    text = (directory / "report.html").read_text(encoding="utf-8")
    used = {name for each in re.findall(r'class="([^"]*)"', text) for name in each.split()}
    styled = set(re.findall(r"\.([a-z][\w-]*)", STYLE))
    assert used - styled <= {"unfinished"}
    templates = [*TEMPLATES.glob("*.html"), *TEMPLATES.glob("*.svg")]
    elsewhere = " ".join(path.read_text() for path in templates)
    elsewhere += (
        " run right wrong missed interrupted cursor line-1 line-2 line-3 line-4"  # from data
    )
    assert styled - used <= set(re.findall(r"[\w-]+", elsewhere))


def test_a_run_of_which_only_the_flags_are_there(tmp_path):
    (tmp_path / "flags.txt").write_text("--a=1\n")
    report.write(tmp_path)
    page = Page((tmp_path / "report.html").read_text())
    assert page.texts_in("h2") == ["Settings"]
    assert "unfinished" in page.texts_in("span")


def test_the_same_files_give_the_same_page(directory):
    report.write(directory)
    first = (directory / "report.html").read_bytes()
    report.write(directory)
    assert (directory / "report.html").read_bytes() == first


def test_the_command(directory, capsys):
    report.main(ReportOptions(directory=str(directory)))
    assert capsys.readouterr().out == f"Wrote {directory}/report.html.\n"
    with pytest.raises(InputError, match="is not a directory"):
        report.main(ReportOptions(directory=str(directory / "missing")))
