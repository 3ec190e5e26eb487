"""The page in a headless Chromium, before a server whose answers are known."""

import re

import pytest

from tests.reference import canned_models, chromium
from tests.reference.canned_models import signature

TEXT = {"text": (str, 1)}
LABELS = {"label": (str, 1), "labels": (str, 2), "probabilities": (float, 2), "logits": (float, 2)}
ENTITIES = {
    **{name: (str, 2) for name in ("words", "tags", "entities", "entity_types")},
    **{name: (int, 2) for name in ("starts", "ends", "entity_starts", "entity_ends")},
    **{name: (float, 2) for name in ("scores", "entity_scores")},
}
ANSWERS = {
    **{"answer": (str, 1), "has_answer": (bool, 1), "n_best_answers": (str, 2)},
    **{name: (int, 1) for name in ("start", "end")},
    **{name: (float, 1) for name in ("score", "null_odds")},
    **{name: (int, 2) for name in ("n_best_starts", "n_best_ends")},
    "n_best_scores": (float, 2),
}
EVIL = "<img src=x onerror=\"document.title='broken'\">"


def one(inputs, outputs, *predictions, **others):
    """A model with one signature."""
    made = {"signatures": {"serving_default": signature(inputs, outputs)}}
    return made | {"answer": {"predictions": list(predictions)}} | others


def topic(label, labels, probabilities):
    return {"label": label, "labels": labels, "probabilities": probabilities, "logits": [0.0]}


TAGGED = {
    **{"words": [], "tags": [], "starts": [], "ends": [], "scores": []},
    "entities": ["Zürich", "Ada", ""],
    "entity_types": ["LOC", "PER", ""],
    "entity_starts": [5, 13, -1],
    "entity_ends": [11, 16, -1],
    "entity_scores": [0.9, 0.8, 0.0],
}
SPANNED = {
    **{"answer": "b c", "start": 4, "end": 7, "has_answer": True, "score": 0.75, "null_odds": -3.0},
    "n_best_answers": ["b c", "a", ""],
    "n_best_starts": [4, 2, -1],
    "n_best_ends": [7, 3, -1],
    "n_best_scores": [0.75, 0.25, 0.0],
}
MODELS = {
    "topics": one(
        TEXT,
        LABELS,
        topic("b", [EVIL, "b"], [0.25, 0.75]),
    ),
    "many": one(
        TEXT,
        {"labels": (str, 2), "probabilities": (float, 2)},
        {"labels": ["x", "y", "z"], "probabilities": [0.1, 0.9, 0.6]},
    ),
    "score": one(
        {"text_a": (str, 1), "text_b": (str, 1)},
        {"score": (float, 1), "logits": (float, 2)},
        {"score": 3.14159, "logits": [3.14159]},
    ),
    "ner": one(TEXT, ENTITIES, TAGGED),
    "squad": one({"question": (str, 1), "context": (str, 1)}, ANSWERS, SPANNED),
    "choices": one(
        {"context": (str, 1), "choices": (str, 2)},
        {"choice": (int, 1), "probabilities": (float, 2), "logits": (float, 2)},
        {"choice": 1, "probabilities": [0.2, 0.8], "logits": [0.0, 1.0]},
        {"choice": 0, "probabilities": [1.0, 0.0], "logits": [0.0, 1.0]},
    ),
    "masks": one(
        TEXT,
        {"tokens": (str, 3), "probabilities": (float, 3)},
        {
            "tokens": [["tea", "milk"], ["door", "box"], ["", ""]],
            "probabilities": [[0.6, 0.3], [0.5, 0.1], [0.0, 0.0]],
        },
    ),
    "vectors": one(TEXT, {"embedding": (float, 2)}, [3.0, 4.0], [4.0, 3.0], [-3.0, -4.0], [0.0, 0]),
    "examples": {
        "signatures": {
            "serving_default": signature(TEXT, LABELS),
            "classify": signature(
                {"inputs": (str, 1)}, {"classes": (str, 2), "scores": (float, 2)}
            ),
        },
        "answer": {"results": [[["no", 0.25], ["yes", 0.75]]]},
    },
    "other": one(
        {"x": (float, 2), "n": (int, 1)}, {"y": (float, 1)}, error='Missing named input: "x" <b>'
    ),
    "infinite": one(TEXT, {"y": (float, 1)}),
    "foreign": one(TEXT, {"embedding": (str, 2)}, ["not", "numbers"]),
}
MODELS["infinite"]["answer"] = '{"predictions": [NaN, -Infinity]}'


@pytest.fixture(scope="module")
def server():
    with canned_models.running(MODELS) as running:
        yield running


@pytest.fixture
def opened(server, browser):
    """Opens the page on a model; what it wrote to the console is looked at afterwards."""

    def open_page(model, more=""):
        browser.open("about:blank")
        browser.open(f"{server.url}/#model={model}{more}")
        browser.wait("document.querySelector('#rows textarea')")
        server.asked.clear()
        return browser

    yield open_page
    # Errors that the server answers are in the console of every browser.
    assert [line for line in browser.console() if "400 (Bad Request)" not in line] == []


def write(browser, selector, text):
    browser.run(
        "const area = document.querySelector(arguments[0]); area.value = arguments[1];"
        "area.dispatchEvent(new Event('input'))",
        selector,
        text,
    )


def ask(browser, server):
    """Presses the button; the path and the body of the request."""
    browser.click("#ask")
    browser.wait("/ in |^$/.test(document.querySelector('#status').innerText)")
    return server.asked[-1]


def test_classification_has_bars_and_labels_stay_text(opened, server):
    browser = opened("topics")
    write(browser, "#text-1", "it's")
    assert ask(browser, server) == ("/v1/models/topics:predict", {"instances": [{"text": "it's"}]})
    assert browser.text(".best") == "b"
    assert browser.texts(".answer tbody th") == ["b", EVIL]
    assert browser.texts(".answer td.number") == ["0.750", "0.250"]
    widths = browser.run(
        "return [...document.querySelectorAll('td.bar span')].map((e) => e.style.width)"
    )
    assert widths == ["75%", "25%"]
    assert browser.run("return document.images.length + document.title") == "0Try a model"
    status = browser.text("#status")
    assert re.fullmatch(r"1 answer in [\d.]+ ms: the server about .* browser about .* ms\.", status)


def test_the_request_is_shown_as_curl_for_a_shell(opened, server):
    browser = opened("topics")
    write(browser, "#text-1", "it's")
    shown = browser.run("return document.querySelector('#curl').textContent")
    body = """{"instances":[{"text":"it'\\''s"}]}"""
    assert shown == f"curl '{server.url}/v1/models/topics:predict' \\\n  -d '{body}'"


def test_several_labels(opened, server):
    browser = opened("many")
    ask(browser, server)
    assert browser.text(".best") == "y, z"
    assert browser.texts("tr.is-best th") == ["y", "z"]


def test_a_pair_and_its_score(opened, server):
    browser = opened("score")
    write(browser, "#text_a-1", "a")
    write(browser, "#text_b-1", "b")
    assert ask(browser, server)[1] == {"instances": [{"text_a": "a", "text_b": "b"}]}
    assert browser.text(".best") == "3.142"


def test_entities_are_marked_by_code_points(opened, server):
    browser = opened("ner")
    write(browser, "#text-1", "🚀 in Zürich: Ada.")
    ask(browser, server)
    assert browser.texts(".answer mark") == ["ZürichLOC", "AdaPER"]
    assert browser.text("p.text") == "🚀 in ZürichLOC: AdaPER."
    assert browser.texts("tbody th") == ["Zürich", "Ada"]


def test_an_answer_is_marked_in_its_context_and_others_can_be(opened, server):
    browser = opened("squad")
    write(browser, "#question-1", "?")
    write(browser, "#context-1", "🚀 a b c d")
    ask(browser, server)
    assert (browser.text(".best"), browser.texts(".answer mark")) == ("b c", ["b c"])
    assert "Null odds" in browser.text(".answer") and "-3.00" in browser.text(".answer")
    assert browser.texts("tbody th") == ["b c", "a"]
    browser.click("tbody tr:nth-child(2) button")
    assert browser.texts(".answer mark") == ["a"]
    pressed = "return [...document.querySelectorAll('tbody button')].map((e) => e.ariaPressed)"
    assert browser.run(pressed) == ["false", "true"]


def test_choices_are_filled_up(opened, server):
    browser = opened("choices")
    write(browser, "#context-1", "c")
    write(browser, "#choices-1", "one\n\ntwo\n")
    browser.click("#add")
    write(browser, "#context-2", "d")
    write(browser, "#choices-2", "three")
    rows = [{"context": "c", "choices": ["one", "two"]}, {"context": "d", "choices": ["three", ""]}]
    assert ask(browser, server)[1] == {"instances": rows}
    assert browser.texts(".best") == ["two", "three"]
    assert browser.texts("tbody th") == ["two", "one", "three"]


def test_every_mask_has_its_tokens(opened, server):
    browser = opened("masks")
    write(browser, "#text-1", "hot  by the [MASK]")
    browser.run("document.querySelector('#text-1').setSelectionRange(4, 4)")
    browser.click("#rows fieldset button")
    assert ask(browser, server)[1] == {"instances": [{"text": "hot [MASK] by the [MASK]"}]}
    assert browser.text("p.text") == "hot tea by the door"
    assert browser.texts("caption") == ["Tokens for [MASK] 1", "Tokens for [MASK] 2"]


def test_vectors_are_compared(opened, server):
    browser = opened("vectors")
    ask(browser, server)
    want = ["1.00", "0.96", "-1.00", "0.00"]
    assert browser.texts(".matrix tbody tr:first-child td") == want
    assert browser.texts(".matrix tbody th") == ["Text 1", "Text 2", "Text 3", "Text 4"]


def test_a_signature_of_examples_is_asked_by_its_method(opened, server):
    browser = opened("examples", "&signature=classify")
    write(browser, "#text-1", "t")
    body = {"signature_name": "classify", "examples": [{"text": "t"}]}
    assert ask(browser, server) == ("/v1/models/examples:classify", body)
    assert (browser.text(".best"), browser.texts("tbody th")) == ("yes", ["yes", "no"])


def test_any_other_signature_is_asked_in_json_and_the_server_s_words_are_shown(opened, server):
    browser = opened("other")
    assert ask(browser, server)[1] == {"instances": [{"x": [0.5], "n": 0}]}
    assert browser.text("#error") == '400: Missing named input: "x" <b>'
    write(browser, "#json-1", "{")
    browser.click("#ask")
    browser.wait("document.querySelector('#error').innerText.includes('JSON')")
    assert len(server.asked) == 1


def test_numbers_that_are_none_are_in_the_raw_answer(opened, server):
    browser = opened("infinite")
    ask(browser, server)
    assert browser.text("#raw") == MODELS["infinite"]["answer"]


def test_outputs_that_only_have_known_names_are_in_the_raw_answer(opened, server):
    browser = opened("foreign")
    ask(browser, server)
    assert "no picture" in browser.text("#shown") and "numbers" in browser.text("#raw")


def test_all_is_done_with_the_keyboard(opened, server):
    browser = opened("topics")
    browser.press(chromium.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    browser.run("document.querySelector('#add').focus()")
    browser.press(chromium.ENTER)
    assert browser.run("return document.activeElement.id") == "text-2"
    browser.press("q")
    browser.press(chromium.CONTROL, chromium.ENTER)
    browser.wait("document.querySelector('#status').innerText.includes(' in ')")
    assert server.asked[-1][1]["instances"][1] == {"text": "q"}
    reached = set()
    browser.run("document.activeElement.blur()")
    for _ in range(40):
        browser.press(chromium.TAB)
        reached.add(browser.run("return document.activeElement.id"))
    controls = "select, textarea, button, summary + pre"
    wanted = browser.run(
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter((e) => e.id && e.checkVisibility()).map((e) => e.id)",
        controls,
    )
    assert set(wanted) <= reached and {"ask", "version", "text-1"} <= set(wanted)


@pytest.mark.parametrize("model", ["topics", "squad", "vectors", "other"])
def test_screen_readers_have_a_name_for_every_control(opened, server, model):
    browser = opened(model)
    ask(browser, server)
    nodes = browser.devtools("Accessibility.getFullAXTree")["nodes"]
    nodes = [node for node in nodes if not node["ignored"]]
    roles = {"button", "textbox", "combobox", "table", "region", "DisclosureTriangle", "group"}
    named = [(node["role"]["value"], node["name"]["value"]) for node in nodes if "name" in node]
    controls = [(role, name) for role, name in named if role in roles - {"table", "group"}]
    assert len(controls) > 8
    assert [role for role, name in controls if not name.strip()] == []
    live = browser.run("return [...document.querySelectorAll('[role=status],[role=alert]')].length")
    assert live == 5


@pytest.mark.parametrize("model", ["topics", "ner", "squad", "vectors", "other"])
def test_a_phone_shows_it_without_scrolling_sideways(opened, server, model):
    browser = opened(model)
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.devtools("Emulation.setDeviceMetricsOverride", **size)
    try:
        ask(browser, server)
        assert browser.run("return document.documentElement.scrollWidth") <= 360
    finally:
        browser.devtools("Emulation.clearDeviceMetricsOverride")


# Of each visible text: its colour, and the nearest ground that is not transparent.
COLOURS = """
const grounds = (node) => {
  const colour = getComputedStyle(node).backgroundColor;
  return colour === 'rgba(0, 0, 0, 0)' ? grounds(node.parentElement) : colour;
};
return [...document.querySelectorAll('h1, label, button, select, textarea, th, td, mark, p, span')]
  .filter((node) => node.checkVisibility() && node.innerText?.trim())
  .map((node) => [getComputedStyle(node).color, grounds(node)]);
"""


def luminance(colour):
    """As WCAG 2 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_can_be_chosen_and_their_contrast_is_enough(opened, server):
    browser = opened("ner")
    write(browser, "#text-1", "🚀 in Zürich: Ada.")
    ask(browser, server)
    grounds = set()
    for _ in range(3):
        browser.click("#theme")
        pairs = browser.run(COLOURS)
        grounds |= {ground for _, ground in pairs}
        for pair in {tuple(pair) for pair in pairs}:
            low, high = sorted(map(luminance, pair))
            assert (high + 0.05) / (low + 0.05) >= 4.5, pair
    assert len(pairs) > 20 and len(grounds) >= 8
