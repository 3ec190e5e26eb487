"""A headless Chromium, driven through chromedriver's HTTP interface (W3C WebDriver)."""

import base64
import contextlib
import os
import re
import shutil
import subprocess
import time

import requests

# Without its own network traffic, which a machine without a network would wait for.
_ARGUMENTS = [
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    "--window-size=1200,900",
]
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the standard gives elements
ENTER, TAB, CONTROL, DOWN = "\ue007", "\ue004", "\ue009", "\ue015"


def missing():
    """What a machine lacks to run a browser, or None."""
    programs = ("chromium", "chromedriver")
    lacks = [name for name in programs if not shutil.which(name)]
    return f"No {' and no '.join(lacks)}: the page is not tried in a browser." if lacks else None


@contextlib.contextmanager
def running(directory):
    """Yields a `Browser` with its profile in a directory."""
    arguments = [*_ARGUMENTS, f"--user-data-dir={directory}"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # which root cannot have
    options = {"binary": shutil.which("chromium"), "args": arguments}
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    process = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        port = next(
            filter(
                None, (re.search(r"successfully on port (\d+)", line) for line in process.stdout)
            )
        )
        url = f"http://127.0.0.1:{port[1]}/session"
        made = _value(requests.post(url, json={"capabilities": {"alwaysMatch": wanted}}))
        browser = Browser(f"{url}/{made['sessionId']}")
        try:
            yield browser
        finally:
            requests.delete(browser.url)
    finally:
        process.terminate()
        process.communicate()


def _value(response):
    value = response.json()["value"]
    if response.status_code != 200:
        raise RuntimeError(f"{value['error']}: {value['message']}")
    return value


class Browser:
    """A window of a browser."""

    def __init__(self, url):
        self.url = url

    def send(self, command, **values):
        return _value(requests.post(f"{self.url}/{command}", json=values))

    def open(self, address):
        self.send("url", url=address)

    def run(self, script, *arguments):
        """What a script returns: the body of a function of `arguments`."""
        return self.send("execute/sync", script=script, args=list(arguments))

    def wait(self, condition, *arguments):
        """Waits until an expression is true, and gives its value."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if value := self.run(f"return {condition}", *arguments):
                return value
            time.sleep(0.02)
        page = self.run("return document.body.innerText")
        raise AssertionError(f"{condition} {arguments} never came true. The page:\n{page}")

    def find(self, selector):
        return self.send("element", using="css selector", value=selector)[_ELEMENT]

    def click(self, selector):
        self.send(f"element/{self.find(selector)}/click")

    def press(self, *keys):
        """Presses keys one after the other, wherever the focus is; CONTROL stays down."""
        actions = [{"type": "keyDown", "value": key} for key in keys]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.send("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)"
        return self.run(script, selector)

    def devtools(self, command, **parameters):
        return self.send("goog/cdp/execute", cmd=command, params=parameters)

    def console(self):
        """Errors and warnings since the last call."""
        entries = self.send("se/log", type="browser")
        return [each["message"] for each in entries if each["level"] in ("SEVERE", "WARNING")]

    def screenshot(self):
        image = _value(requests.get(f"{self.url}/screenshot"))
        return base64.b64decode(image)
