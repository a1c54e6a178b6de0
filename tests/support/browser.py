"""A real browser for pages, where one is installed: Chromium, and ChromeDriver for what a person does on a page."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 60  # that a page may take, on a busy machine
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls the id of an element


def browser_program() -> str:
    """Return the path of a browser; skip without one."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


def page_after_scripts(address: str, folder: Path, milliseconds: int = 2_000) -> str:
    """Return the HTML of a page after its scripts have run; skip without a browser."""
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [
            browser_program(),
            *OPTIONS,
            profile,
            f"--virtual-time-budget={milliseconds}",
            "--dump-dom",
            address,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


class Browser:
    """A window of Chromium, steered through ChromeDriver by the protocol of WebDriver."""

    def __init__(self, port: int, options: list[str]) -> None:
        self._port = port
        chrome = {"binary": browser_program(), "args": options}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": chrome}}}
        self._session = ""
        self._session = "/session/" + self._ask("POST", "/session", wanted)["sessionId"]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request(method, self._session + path, json.dumps(body) if body is not None else None)
            answer = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{answer['error']}: {answer['message']}")
        return answer

    def open(self, address: str) -> None:
        """Go to a page and wait until it is loaded."""
        self._ask("POST", "/url", {"url": address})

    def run(self, script: str, *values: Any) -> Any:
        """Return what a script on the page returns; ``arguments`` are the values."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(values)})

    def wait(self, condition: str) -> Any:
        """Wait until an expression on the page is true, and return its value."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := self.run(f"return {condition};"):
                return found
            time.sleep(0.05)
        raise AssertionError(
            f"never true: {condition}; the page says: {self.run('return document.body.innerText')}"
        )

    def type(self, selector: str, keys: str) -> None:
        """Type into an element, special keys as WebDriver spells them."""
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._ask("POST", f"/element/{element}/value", {"text": keys})

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._ask("POST", f"/element/{element}/click", {})

    def resize(self, width: int, height: int) -> None:
        """Make the window as large as that."""
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def errors(self) -> list[str]:
        """Return what the page has written to the console as an error since the last call."""
        found = self._ask("POST", "/se/log", {"type": "browser"})
        return [each["message"] for each in found if each["level"] == "SEVERE"]

    def picture(self, file: Path) -> None:
        """Write what is seen into a PNG file."""
        file.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def close(self) -> None:
        """End the browser."""
        self._ask("DELETE", "")


@contextmanager
def a_browser(folder: Path, *options: str) -> Iterator[Browser]:
    """Start a browser with an empty profile and end it after use; skip without one."""
    browser_program()
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("no ChromeDriver is installed")
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            assert started.stdout is not None
            said = ""
            for said in started.stdout:
                if "started successfully on port" in said:
                    break
            port = int(said.rstrip(".\n").rpartition(" ")[2])
            browser = Browser(port, [*OPTIONS, f"--user-data-dir={folder / 'profile'}", *options])
            try:
                yield browser
            finally:
                browser.close()
        finally:
            started.terminate()
