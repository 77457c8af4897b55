"""Control headless Chromium by its DevTools protocol over two pipes."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120.0  # seconds to wait for an answer, on a slow machine
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
)

# Done in Python, because some shells support only one-digit descriptors.
RENUMBER = """
import os, sys
os.dup2(int(sys.argv[1]), 3), os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """Return the path of Chromium, if it is installed."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. ``problems`` are errors and messages that reached the console."""

    def __init__(self, commands: int, answers: int):
        self._commands, self._answers = commands, answers
        self._buffer, self._count, self._session = b"", 0, None
        self._loaded = 0
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._count += 1
        message: dict[str, Any] = {
            "id": self._count,
            "method": method,
            "params": parameters,
        }
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, path: Path) -> None:
        """Load a file and wait until it is loaded."""
        before = self._loaded
        self.call("Page.navigate", url=path.as_uri())
        while self._loaded == before:
            self._receive()

    def run(self, script: str) -> Any:
        """Return the value of an expression; a promise is awaited."""
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Set the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def prefer(self, scheme: str) -> None:
        """Emulate the colour scheme ``"light"`` or ``"dark"``, and reduced motion.

        While a page scrolls smoothly, positions in it keep changing.
        """
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def press(self, key: str) -> None:
        """Press a key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
                **more,
            )

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a point."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._answers], [], [], max(left, 0))
            assert ready, "Chromium did not answer"
            chunk = os.read(self._answers, 1 << 20)
            assert chunk, "Chromium ended"
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, about = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])


@contextlib.contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """Run a browser during a ``with`` block, with its profile in a directory."""
    program = find()
    assert program is not None
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    # Chromium reads from 3 and writes to 4: the pipes must not already have these numbers.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (their_in, their_out)]
    first = [sys.executable, "-ISc", RENUMBER, *map(str, high)]
    options = (*OPTIONS, f"--user-data-dir={profile}", "about:blank")
    process = subprocess.Popen(
        [*first, program, *options],
        pass_fds=high,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for fd in (their_in, their_out, *high):
        os.close(fd)
    try:
        browser = Browser(our_out, our_in)
        yield browser
        browser.call("Browser.close")
    finally:
        os.close(our_out)
        os.close(our_in)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
