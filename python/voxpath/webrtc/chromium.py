"""Chromium without a window, driven by its DevTools protocol over two pipes: no port, no package."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

NAMES = ("chromium", "chromium-browser", "google-chrome")

_READS, _WRITES = 3, 4
"""Descriptors at which Chromium reads and writes with --remote-debugging-pipe."""

_FREE = 10
"""From here on, ours are in nobody's way while the browser gets its own."""

_PATIENCE_S = 60.0
"""How long an answer may take."""

_FLAGS = (
    "--headless=new",
    # The page is ours alone, and real hosts without root have no namespaces left for a sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    # Nothing but the call is to be on the network, and nothing is to be slowed down because nobody looks.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-extensions",
    "--disable-default-apps",
    "--metrics-recording-only",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    # Addresses instead of names that multicast DNS would have to resolve.
    "--disable-features=WebRtcHideLocalIpsWithMdns",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """The browser is missing, has ended, or does not do what it was asked for."""


class Browser:
    """A browser with one page, as a context."""

    def __init__(self, *flags: str) -> None:
        """Starts nothing yet.

        Args:
            flags: Command-line flags beside those that every browser here has.
        """
        self._flags = flags
        self._numbers = itertools.count(1)
        self._session: dict[str, str] = {}
        self._unread = b""

    def __enter__(self) -> Self:
        """Starts it.

        Raises:
            BrowserError: It is not installed.
        """
        program = _program()
        with contextlib.ExitStack() as stack:
            profile = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="voxpath-browser-", ignore_cleanup_errors=True)
            )
            theirs_in, self._to = _pipe(stack)
            self._from, theirs_out = _pipe(stack)
            command = [program, *_FLAGS, *self._flags, f"--user-data-dir={profile}", "about:blank"]
            null = stack.enter_context(Path(os.devnull).open("r+b")).fileno()
            self._process = os.posix_spawn(
                program,
                command,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs_in, _READS),
                    (os.POSIX_SPAWN_DUP2, theirs_out, _WRITES),
                    *((os.POSIX_SPAWN_DUP2, null, number) for number in (0, 1, 2)),
                ],
                # Its processes are many; they end together.
                setpgroup=0,
            )
            stack.callback(self._end)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends it and all its processes, and removes what it has written."""
        self._stack.__exit__(kind, error, traceback)

    def open(self, page: Path) -> None:
        """Opens a page and waits until its scripts have run.

        Raises:
            BrowserError: As of `value`.
        """
        target = self._call("Target.createTarget", url=page.as_uri())
        attached = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        # Until then it is an empty one.
        loaded = f"document.URL === {json.dumps(page.as_uri())} && document.readyState === 'complete'"
        while not self.value(loaded):
            time.sleep(0.01)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page; of a promise, what it comes to.

        Raises:
            BrowserError: It throws, or the browser has ended.
        """
        told = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            said = details.get("exception", {}).get("description") or details["text"]
            raise BrowserError(f"the page says: {said}")
        return told["result"].get("value")

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function of the page returns.

        Raises:
            BrowserError: As of `value`.
        """
        # JSON is JavaScript.
        return self.value(f"{function}({', '.join(map(json.dumps, arguments))})")

    def _call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": params, **self._session}
        self._write(json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + _PATIENCE_S
        while (told := self._read(deadline)).get("id") != number:
            pass
        if "error" in told:
            raise BrowserError(f"the browser refuses {method}: {told['error']['message']}")
        return told["result"]

    def _write(self, message: bytes) -> None:
        try:
            while message:
                message = message[os.write(self._to, message) :]
        except BrokenPipeError:
            raise BrowserError("the browser has ended") from None

    def _read(self, deadline: float) -> Any:
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrowserError(f"the browser has not answered for {_PATIENCE_S:g} s")
            some = os.read(self._from, 1 << 16)
            if not some:
                raise BrowserError("the browser has ended")
            self._unread += some
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _end(self) -> None:
        # It has nothing to keep; and who asked this process to end soon kills it, with its files still there.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def version() -> str:
    """What the browser calls itself.

    Raises:
        BrowserError: It is not installed.
    """
    asked = [_program(), "--version"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: S603 - found by us
    return told.strip()


def _program() -> str:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise BrowserError("Chromium is not installed: apt-get install chromium")
    return program


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """Where to read and where to write."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _FREE))
        os.close(low)
        stack.callback(os.close, ends[-1])
    return ends[0], ends[1]
