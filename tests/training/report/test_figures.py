"""Curves are where the numbers say, and stay readable with spikes and with very many points."""

import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from bert_tf.training.report import figures
from bert_tf.training.report.figures import Curve, Mark

# The frame of the picture: update 0 is at the left, the last one at the right.
LEFT, RIGHT, TOP, BOTTOM = 58, 548, 26, 220


def drawn(steps, values, marks=(), last_step=None, held_out=((), ()), **options):
    curve = Curve(
        title="a < b",
        steps=list(steps),
        values=list(values),
        held_out_steps=list(held_out[0]),
        held_out_values=list(held_out[1]),
        **options,
    )
    return ElementTree.fromstring(figures.svg(curve, list(marks), last_step or max(steps)))


def points(element, kind):
    """[x, y] of the corners of the paths of a class."""
    paths = [path for path in element.iter("path") if path.get("class") == kind]
    numbers = [re.findall(r"[-\d.]+", path.get("d")) for path in paths]
    return np.array(numbers, dtype=float).reshape(-1, 2)


def test_a_line_from_corner_to_corner():
    # 0 is the bottom; the top is 6 % above the largest value, of what lies between.
    found = points(drawn([0, 5, 10], [0.0, 1.0, 2.0], is_smoothed=False), "smooth")
    height = BOTTOM - TOP
    assert found == pytest.approx(
        np.array(
            [
                [LEFT, BOTTOM],
                [(LEFT + RIGHT) / 2, BOTTOM - height / 2.12],
                [RIGHT, BOTTOM - 2 * height / 2.12],
            ]
        ),
        abs=0.06,
    )


def test_what_is_smoothed_is_drawn_over_the_values_as_logged():
    steps = list(range(101))
    values = [2.0 + (step % 2) for step in steps]
    element = drawn(steps, values)
    raw, smooth = points(element, "logged"), points(element, "smooth")
    assert len(raw) == len(smooth) == 101
    assert np.ptp(raw[50:, 1]) > 2 * np.ptp(smooth[50:, 1])


def test_smoothing_by_hand():
    # The width: an eighth of the way at 8, a hundredth of the run at 700; at least the mean gap.
    found = figures.smoothed(np.array([0.0, 8.0, 700.0]), np.array([5.0, 3.0, 1.0]))
    near, far = math.exp(-8 / 350), math.exp(-692 / 350)
    assert found == pytest.approx(
        [
            (5 + 3 * near + 1 * near * far) / (1 + near + near * far),
            (5 * near + 3 + 1 * far) / (near + 1 + far),
            (5 * near * far + 3 * far + 1) / (near * far + far + 1),
        ]
    )


def test_the_width_grows_to_a_hundredth_of_the_run():
    steps = np.arange(0.0, 10001.0)
    for place, width in ((80, 10), (5000, 100)):
        values = np.where(steps == place, 1.0, 0.0)
        found = figures.smoothed(steps, values)
        assert found[place + width] / found[place] == pytest.approx(math.exp(-1), rel=0.5)
    # Far from the beginning: the same to either side, and all of it adds up.
    assert found[4900] == pytest.approx(found[5100], rel=1e-6)
    assert found.sum() == pytest.approx(1.0, rel=1e-3)


def test_nothing_is_smoothed_over_the_beginning_of_a_phase():
    steps = np.arange(1.0, 101.0)
    values = np.where(steps <= 60, 5.0, 2.0)
    assert figures.smoothed(steps, values, bounds=[60]) == pytest.approx(values)
    assert figures.smoothed(steps, values)[59] < 4.9


def test_smoothing_a_constant_changes_nothing():
    values = np.full(57, 3.25)
    assert figures.smoothed(np.arange(57) ** 1.5, values) == pytest.approx(values)


def test_thinning_keeps_spikes():
    steps = np.arange(100003.0)
    values = np.sin(steps / 9000)
    values[[41, 77777]] = 9.0, -9.0
    kept_steps, kept = figures.thinned(steps, values)
    assert len(kept) <= 1000
    assert (kept.max(), kept.min()) == (9.0, -9.0)
    assert (np.diff(kept_steps) > 0).all()
    assert (values[kept_steps.astype(int)] == kept).all()


def test_a_single_spike_does_not_press_the_curve_flat():
    values = np.concatenate([np.linspace(1.0, 2.0, 500), [1e6]])
    low, high = figures.value_range(values, np.array([1.0, 2.0]), np.array([]))
    assert 0.0 <= low < 1.0 and 2.0 < high < 3.5


@pytest.mark.parametrize("values", [[0.99, 1.0], [1.0, 1.0], [0.1, 1.0]])
def test_no_tick_is_above_a_share_of_100_percent(values):
    texts = [text.text for text in drawn([1, 2], values, is_share=True).iter("text")]
    shares = [float(text.removesuffix("%")) for text in texts if text and text.endswith("%")]
    assert max(shares) == 100.0


def test_what_is_outside_of_the_frame_is_told():
    values = [2.0, 1.0] * 300 + [99.0] + [2.0, 1.0] * 300
    element = drawn(range(len(values)), values)
    assert "1 outside of the frame" in [text.text for text in element.iter("text")]
    # Drawn to just above the frame, where a reader sees that it goes on.
    assert points(element, "logged")[:, 1].min() == TOP - 3


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([], (0.0, 1.0)),
        ([5.0, 5.0], (4.5, 5.5)),
        ([0.0, 0.0], (-0.5, 0.5)),
        ([3.0, 10.0], (0.0, 10.42)),  # zero is near
        ([8.0, 10.0], (7.88, 10.12)),
        ([-1.0, 1.0], (-1.12, 1.12)),
    ],
)
def test_value_range(values, wanted):
    values = np.array(values)
    assert figures.value_range(values, values, np.array([])) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 1000000, [0, 200000, 400000, 600000, 800000, 1000000]),
        (0.13, 0.52, [0.2, 0.3, 0.4, 0.5]),
        (-1.12, 1.12, [-1.0, -0.5, 0.0, 0.5, 1.0]),
        (0, 1e-4, [0, 2e-5, 4e-5, 6e-5, 8e-5, 1e-4]),
    ],
)
def test_ticks(low, high, wanted):
    assert figures.ticks(low, high) == pytest.approx(wanted)


def test_shares_are_per_cent():
    assert "40 %" in [text.text for text in drawn([0, 9], [0, 0.5], is_share=True).iter("text")]


def test_marks_are_lines_at_their_step_with_a_hint():
    marks = [Mark(5, "restart", "", "twice & more"), Mark(8, "phase", "length 512", "longer")]
    element = drawn([0, 10], [1.0, 2.0], marks)
    groups = {
        g.get("class"): g for g in element.iter("g") if g.get("class") in ("restart", "phase")
    }
    assert groups["restart"].find("title").text == "twice & more"
    assert groups["restart"].find("text") is None
    assert groups["phase"].find("text").text == "length 512"
    for kind, step in (("restart", 5), ("phase", 8)):
        x = LEFT + (RIGHT - LEFT) * step / 10
        for path in groups[kind].findall("path"):
            assert path.get("d").startswith(f"M{x:.1f} ")


def test_held_out_values_are_points():
    element = drawn([0, 10], [1.0, 2.0], held_out=([5, 10], [1.5, 1.75]))
    circles = list(element.iter("circle"))
    assert [float(circle.get("cx")) for circle in circles] == [(LEFT + RIGHT) / 2, RIGHT]
    assert circles[1].find("title").text == "held-out after 10: 1.75"
    assert len([p for p in element.iter("path") if p.get("class") == "held-out"]) == 1


def test_values_that_are_not_finite_are_left_out_and_told():
    element = drawn([0, 1, 2, 3], [1.0, math.nan, math.inf, 2.0])
    assert len(points(element, "logged")) == 2
    assert "2 not finite" in [text.text for text in element.iter("text")]


def test_the_readings_of_the_cursor_are_points_of_the_curve():
    element = drawn(range(1001), [step / 2 for step in range(1001)], is_smoothed=False)
    readings = json.loads(element.get("data-readings"))
    assert len(readings) == 240
    assert readings[0] == [LEFT, BOTTOM, 0, "0"]
    assert readings[-1][0] == RIGHT and readings[-1][2:] == [1000, "500"]


@pytest.mark.parametrize("values", [[], [2.5], [math.nan]])
def test_few_values_or_none(values):
    element = drawn(range(len(values)), values, last_step=7)
    assert len(json.loads(element.get("data-readings"))) == (values == [2.5])


def test_the_label_is_escaped():
    assert drawn([0, 1], [1.0, 2.0]).get("aria-label") == "a < b by update"


@pytest.mark.parametrize(
    ("values", "is_share"),
    [([44.20012, 44.20031], False), ([1234567.0, 1234569.0], False), ([0.90001, 0.90003], True)],
)
def test_ticks_of_a_nearly_constant_curve_have_different_labels(values, is_share):
    element = drawn([0, 10], values, is_share=is_share, is_smoothed=False)
    labels = [text.text for text in element.iter("text") if text.get("text-anchor") == "end"]
    assert len(labels) >= 4 and len(set(labels)) == len(labels)


def test_noise_of_float32_is_drawn_as_nearly_constant():
    low, high = figures.value_range(np.array([44.2, 44.2 + 4e-6]), np.array([]), np.array([]))
    assert high - low == pytest.approx(4e-6 + 44.2e-5, rel=1e-3)


def test_small_values_have_exponents_throughout():
    element = drawn([0, 10], [0.0, 0.001], is_smoothed=False)
    labels = [text.text for text in element.iter("text") if text.get("text-anchor") == "end"]
    assert labels[:6] == ["0", "2e-4", "4e-4", "6e-4", "8e-4", "1e-3"]
