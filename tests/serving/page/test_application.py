"""What is answered outside of /v1/, and with which headers."""

import asyncio
import json

import pytest

from serving.page.application import PageApplication


@pytest.fixture(scope="module")
def names():
    return ["topics", "ner"]


@pytest.fixture(scope="module")
def application(names):
    return PageApplication(lambda: names)


def ask(application, path, method="GET"):
    """(Status, headers, body) of a request without a body."""
    sent = []

    async def receive():
        raise AssertionError("No request for the page has a body to read.")

    async def send(message):
        sent.append(message)

    asyncio.run(application({"type": "http", "method": method, "path": path}, receive, send))
    start, end = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, end["body"]


def test_the_page_is_at_the_root(application):
    status, headers, body = ask(application, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert body.startswith(b"<!doctype html>")
    assert headers["content-length"] == str(len(body))


def test_everything_is_sent_with_a_policy_that_admits_only_the_page_s_own_files(application):
    for path in ("/", "/assets/page.js", "/models.json", "/nowhere"):
        headers = ask(application, path)[1]
        rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert rules["default-src"] == "'none'" and rules["frame-ancestors"] == "'none'"
        assert set(rules.values()) == {"'none'", "'self'"}
        assert headers["x-content-type-options"] == "nosniff"


def test_the_names_of_the_models_are_those_of_the_moment(application, names):
    assert json.loads(ask(application, "/models.json")[2]) == {"models": ["ner", "topics"]}
    names.append("a/b")
    assert json.loads(ask(application, "/models.json")[2])["models"] == ["a/b", "ner", "topics"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/healthz"),
        ("GET", "/index.html"),
        ("GET", "/assets/"),
        ("GET", "/assets/../application.py"),
        ("GET", "/assets/application.py"),
        ("POST", "/"),
        ("DELETE", "/models.json"),
    ],
)
def test_all_else_is_not_found_and_not_json(application, method, path):
    status, headers, body = ask(application, path, method)
    assert (status, headers["content-type"]) == (404, "text/html")
    assert b"404 Not Found" in body


def test_head_has_the_headers_of_get_and_no_body(application):
    status, headers, body = ask(application, "/", "HEAD")
    assert (status, body) == (200, b"")
    assert headers == ask(application, "/")[1]
