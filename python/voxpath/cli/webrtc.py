"""`voxpath webrtc ...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from voxpath.cli.parts import Command, Group

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_PORT = 8000
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(
    cls=Group,
    epilog="""
Examples:
  voxpath run scenarios/webrtc-call.toml --backend real
""",
)
def webrtc() -> None:
    """One end of a WebRTC call in Chromium, without a window: for hosts of scenarios.

    Camera and microphone are files. The ends send each other their descriptions over TCP, without a server.
    In a run, what getStats tells becomes tables (docs/calls.md); elsewhere it is printed, as lines of JSON.
    """


def _ends(command: _Command) -> _Command:
    """What both ends have."""
    options = (
        click.option("--video/--no-video", default=True, help="Whether it sends video.  [sends]"),
        click.option("--audio/--no-audio", default=True, help="Whether it sends audio.  [sends]"),
        click.option("--camera", type=_FILE, help="Pictures, as Y4M or MJPEG; else a moving scene."),
        click.option("--microphone", type=_FILE, help="Sound, as WAV; else noise as of many voices."),
        click.option(
            "--heard",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE.wav",
            help="What is heard; not kept without it.",
        ),
        click.option("--size", default="640x480", show_default=True, help="Of the picture, in pixels."),
        click.option("--fps", type=click.IntRange(1, 120), default=30, show_default=True),
        click.option(
            "--max-rate",
            default="2500 kbit/s",
            show_default=True,
            help="Of the video encoder, at most (maxBitrate).",
        ),
        click.option("--duration", help="Of the call, such as '60 s'; until it is asked to end without."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@webrtc.command(cls=Command)
@click.argument("host")
@click.option("--port", type=click.IntRange(1, 65535), default=_PORT, show_default=True)
@click.option("--name", default="webrtc", show_default=True, help="What the call is called in tables.")
@click.option("--codec", default="VP8", show_default=True, help="Of video, for both ends.")
@_ends
def offer(host: str, port: int, name: str, codec: str, **sends: Any) -> int:
    """Calls the end that answers at HOST."""
    from voxpath.cli.actions import webrtc as action

    return action.offer(host, port, name, codec, sends)


@webrtc.command(cls=Command)
@click.option("--port", type=click.IntRange(1, 65535), default=_PORT, show_default=True)
@_ends
def answer(port: int, **sends: Any) -> int:
    """Waits for one call and answers it."""
    from voxpath.cli.actions import webrtc as action

    return action.answer(port, sends)
