"""The page while models come and go, answers are slow, and servers fail; in a headless Chromium."""

import pytest

from tests.reference import canned_models
from tests.reference.canned_models import signature

SIGNATURES = {
    "serving_default": signature({"text": (str, 1)}, {"score": (float, 1), "logits": (float, 2)})
}


def model(score, **others):
    answer = {"predictions": [{"score": score, "logits": [score]}]}
    return {"signatures": SIGNATURES, "answer": answer} | others


@pytest.fixture
def server(browser):
    with canned_models.running({}) as running:
        yield running
        browser.open("about:blank")  # its connections keep the server from ending
        browser.console()


def opened(browser, server):
    browser.open("about:blank")
    browser.open(server.url)


def has(selector, text):
    return f"document.querySelector('{selector}').innerText.includes('{text}')"


def choose(browser, selector, value):
    browser.run(
        "const list = document.querySelector(arguments[0]); list.value = arguments[1];"
        "list.dispatchEvent(new Event('change'))",
        selector,
        value,
    )


def test_a_server_without_models_says_so_and_finds_one_later(browser, server):
    opened(browser, server)
    browser.wait(has("#about", "No model is loaded yet"))
    browser.click("#ask")  # nothing to ask
    server.models["late"] = model(1.0)
    browser.click("#refresh")
    browser.wait(has("#about", "Regression"))
    browser.click("#ask")
    browser.wait(has("#shown", "1.000"))


def test_a_model_that_is_loaded_says_so_in_the_server_s_words(browser, server):
    server.models |= {"old": model(1.0), "young": {"versions": [("1", "LOADING", "")]}}
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    choose(browser, "#model", "young")
    browser.wait(has("#model-error", "404: Servable not found for request: Latest(young)"))
    assert browser.texts("#version option") == ["newest (none)", "1 (LOADING)"]
    browser.click("#ask")
    assert not browser.run("return document.querySelector('#rows textarea')")
    server.models["young"] = model(1.0)
    browser.click("#refresh")
    browser.wait(has("#about", "Regression"))
    assert browser.text("#model-error") == ""
    assert server.asked == []


def test_another_version_is_asked_and_one_that_is_not_loaded_says_why(browser, server):
    states = [("12", "AVAILABLE", ""), ("9", "AVAILABLE", ""), ("7", "END", "no file")]
    server.models["m"] = model(1.0, versions=states)
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    assert browser.texts("#version option") == ["newest (12)", "12", "9", "7 (END: no file)"]
    assert browser.run("return document.querySelector('#version').options[3].disabled")
    browser.click("#ask")
    browser.wait(has("#shown", "1.000"))
    choose(browser, "#version", "9")
    browser.wait(has("#status", "Nothing was asked"))  # of this version
    assert browser.text("#shown") == ""
    browser.click("#ask")
    browser.wait(has("#status", " in "))
    assert [path for path, _ in server.asked] == [
        "/v1/models/m:predict",
        "/v1/models/m/versions/9:predict",
    ]


def test_the_answer_to_what_was_asked_last_stays(browser, server):
    server.models |= {"slow": model(1.0, seconds=[0.5]), "sudden": model(2.0)}
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    browser.click("#ask")
    browser.wait("!document.querySelector('#stop').hidden")
    choose(browser, "#model", "sudden")
    browser.wait("location.hash.includes('sudden')")
    browser.click("#ask")
    browser.wait(has("#status", " in "))
    browser.send("execute/async", script="setTimeout(arguments[0], 700)", args=[])
    assert browser.text(".best") == "2.000"


def test_a_slow_answer_can_be_given_up(browser, server):
    server.models["slow"] = model(1.0, seconds=[5])
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    browser.click("#ask")
    browser.wait("!document.querySelector('#stop').hidden")
    browser.click("#stop")
    browser.wait(has("#status", "Stopped."))
    assert browser.run("return document.querySelector('#stop').hidden")


def test_texts_stay_when_the_model_changes(browser, server):
    server.models |= {"a": model(1.0), "b": model(2.0)}
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    browser.run(
        "const area = document.querySelector('#text-1'); area.value = 'mine';"
        "area.dispatchEvent(new Event('input'))"
    )
    choose(browser, "#model", "b")
    browser.wait("location.hash.includes('model=b')")
    assert browser.run("return document.querySelector('#text-1').value") == "mine"


def test_a_server_that_is_gone_is_said(browser, server):
    server.models["m"] = model(1.0)
    opened(browser, server)
    browser.wait("document.querySelector('#rows textarea')")
    gone = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.devtools("Network.enable")
    browser.devtools("Network.emulateNetworkConditions", **gone)
    try:
        browser.click("#ask")
        browser.wait(has("#error", "does not answer"))
    finally:
        browser.devtools("Network.emulateNetworkConditions", **(gone | {"offline": False}))
