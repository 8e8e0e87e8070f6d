"""One end of a WebRTC call: a browser, the other end's description over TCP, and samples of `getStats`.

The end that answers listens; the end that offers connects to it. Each sends one line of JSON, its session
description with all addresses in it. There is no other server.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import signal
import socket
import tempfile
import time
import wave
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from voxpath.webrtc import ROWS, devices
from voxpath.webrtc.chromium import Browser, BrowserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_EVERY_S = 0.25
"""From one sample to the next."""

_CONNECTING_S = 30.0
_USUAL_HZ = 48_000
"""Of what browsers play; it stands in the file where nothing was heard."""
_LONGEST = 1 << 20

_Stream = io.BufferedRWPair


@dataclass(frozen=True)
class Video:
    """A camera and the limit of its encoder.

    Attributes:
        width: In pixels.
        height: Likewise.
        fps: Frames a second.
        max_bps: The encoder's rate at most (`maxBitrate`).
        file: Uncompressed pictures (YUV4MPEG2 or MJPEG); a moving scene of ours without it.
    """

    width: int = 640
    height: int = 480
    fps: int = 30
    max_bps: int = 2_500_000
    file: Path | None = None


@dataclass(frozen=True)
class End:
    """What an end of a call sends.

    Attributes:
        video: Its camera; it sends no video without.
        audio: Whether it sends audio.
        codec: Of video; what the end that offers says holds for both.
        microphone: A WAV file; noise like that of many voices without it.
        heard: A WAV file for what is heard; nothing is kept without it.
    """

    video: Video | None
    audio: bool
    codec: str = "VP8"
    microphone: Path | None = None
    heard: Path | None = None


def offer(end: End, host: str, port: int, name: str, seconds: float | None) -> None:
    """Calls the end that listens at a place, for so long or until this process is asked to end.

    Args:
        end: What this one sends.
        host: Where the other one is.
        port: Where it listens.
        name: What the call is called in results, at both ends.
        seconds: How long; without it until this process is asked to end.

    Raises:
        BrowserError: There is no call.
    """
    with _ended_by_signals(), _page(end) as browser:
        with _connected(host, port) as stream:
            _put(stream, {"call": name, "offer": browser.ask("offer")})
            browser.ask("answered", _take(stream))
        _sample(browser, {"call": name, "end": "client"}, seconds, end.heard)


def answer(end: End, port: int, seconds: float | None) -> None:
    """Waits for a call at a port and answers it.

    Raises:
        BrowserError: There is no call.
    """
    with _ended_by_signals(), _page(end) as browser:
        # Who sees that it listens may call at once: the browser is ready.
        with socket.create_server(("", port)) as server:
            connection, _ = server.accept()
        with connection, connection.makefile("rwb") as stream:
            told = _take(stream)
            _put(stream, browser.ask("answer", told["offer"]))
        _sample(browser, {"call": told["call"], "end": "server"}, seconds, end.heard)


@contextlib.contextmanager
def _page(end: End) -> Iterator[Browser]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voxpath-devices-")))
        sound = end.microphone
        if sound is None:
            sound = folder / "sound.wav"
            devices.write_sound(sound)
        flags = [f"--use-file-for-fake-audio-capture={sound}"]
        sends: dict[str, Any] = {"audio": end.audio, "codec": end.codec, "records": end.heard is not None}
        if end.video is not None:
            scene = end.video.file
            if scene is None:
                scene = folder / "scene.y4m"
                devices.write_scene(scene, end.video.width, end.video.height, end.video.fps)
            flags.append(f"--use-file-for-fake-video-capture={scene}")
            sends["video"] = {
                "width": end.video.width,
                "height": end.video.height,
                "fps": end.video.fps,
                "maxBitrate": end.video.max_bps,
            }
        page = stack.enter_context(as_file(files(__package__)))
        browser = stack.enter_context(Browser(*flags))
        browser.open(page / "page.html")
        browser.ask("prepare", sends)
        yield browser


@contextlib.contextmanager
def _connected(host: str, port: int) -> Iterator[_Stream]:
    deadline = time.monotonic() + _CONNECTING_S
    while True:
        try:
            connection = socket.create_connection((host, port), _CONNECTING_S)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise BrowserError(f"nobody answers at {host}, port {port}: {error}") from None
            time.sleep(_EVERY_S)
    with connection, connection.makefile("rwb") as stream:
        yield stream


def _put(stream: _Stream, told: object) -> None:
    stream.write(json.dumps(told).encode() + b"\n")
    stream.flush()


def _take(stream: _Stream) -> Any:
    line = stream.readline(_LONGEST)
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise BrowserError("the other end has sent no session description")
    return told


def _sample(browser: Browser, which: Mapping[str, str], seconds: float | None, heard: Path | None) -> None:
    """Writes which end this is, and then samples: a line of JSON each. Keeps what is heard."""
    with _rows() as rows, _recorder(browser, heard) as record:
        rows.write(json.dumps(which).encode() + b"\n")
        began = due = time.monotonic()
        while seconds is None or time.monotonic() - began < seconds:
            told = browser.ask("sample")
            rows.write(json.dumps(told).encode() + b"\n")
            record()
            if told["state"] in ("failed", "closed"):
                raise BrowserError(f"the connection has {told['state']}")
            now = time.monotonic()
            due = max(due + _EVERY_S, now)
            time.sleep(due - now)


@contextlib.contextmanager
def _recorder(browser: Browser, path: Path | None) -> Iterator[Callable[[], None]]:
    """A function that writes what was heard since it was called last; the file is whole in the end."""
    if path is None:
        yield lambda: None
        return
    with path.open("wb") as file, wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_USUAL_HZ)

        def record() -> None:
            told = browser.ask("heard")
            if told["rate"] is not None:
                if sound.getnframes() == 0:
                    sound.setframerate(told["rate"])
                sound.writeframes(base64.b64decode(told["samples"]))

        yield record


def _rows() -> contextlib.AbstractContextManager[IO[bytes]]:
    """Where samples go: to the run, else to standard output."""
    number = os.environ.get(ROWS)
    return os.fdopen(1 if number is None else int(number), "wb", buffering=0, closefd=False)


class _Ended(BaseException):
    """This process was asked to end."""


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Being asked to end is how a call ends that has no length of its own."""

    def end(*_: object) -> None:
        raise _Ended

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with contextlib.suppress(_Ended):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
