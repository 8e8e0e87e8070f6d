"""What `voxpath webrtc` does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, texts
from voxpath.cli.parts import FAILED
from voxpath.webrtc import call
from voxpath.webrtc.chromium import BrowserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def offer(host: str, port: int, name: str, codec: str, sends: Mapping[str, Any]) -> int:
    """Calls an end that answers; 1 if there is no call."""
    end, seconds = _end(sends, codec), _seconds(sends)
    return _told(lambda: call.offer(end, host, port, name, seconds))


def answer(port: int, sends: Mapping[str, Any]) -> int:
    """Answers a call; 1 if there is none."""
    end, seconds = _end(sends, ""), _seconds(sends)
    return _told(lambda: call.answer(end, port, seconds))


def _end(sends: Mapping[str, Any], codec: str) -> call.End:
    size = re.fullmatch(r"(\d{2,4})x(\d{2,4})", sends["size"])
    if size is None or any(int(pixels) % 2 for pixels in size.groups()):
        raise click.UsageError(f"--size {sends['size']}: give even numbers of pixels, such as 640x480")
    most = _quantity("--max-rate", _engine.parse_rate, sends["max_rate"])
    video = call.Video(int(size[1]), int(size[2]), sends["fps"], most, sends["camera"])
    return call.End(
        video if sends["video"] else None, sends["audio"], codec, sends["microphone"], sends["heard"]
    )


def _seconds(sends: Mapping[str, Any]) -> float | None:
    text = sends["duration"]
    return None if text is None else _quantity("--duration", _engine.parse_span, text) / 1e9


def _quantity(option: str, parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"{option}: {error}") from None


def _told(make: Callable[[], None]) -> int:
    try:
        make()
    except (BrowserError, OSError) as error:
        click.echo(texts.safe(f"voxpath: {error}"), err=True)
        return FAILED
    return 0
