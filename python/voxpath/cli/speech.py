"""`voxpath speech ...`."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from voxpath.cli.parts import JSON, Integer, Number
from voxpath.voice.speech.hearing import RANGES
from voxpath.voice.speech.recognisers import DEFAULT, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_Command = TypeVar("_Command", bound="Callable[..., object]")
_PORT = 8888
_PACKAGES = ("aiohttp", "av", "pocketsphinx")
"""Of the extra `speech`."""


class _File(click.Path):
    """A regular file that can be read; libraries open some of ours by their names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses anything else, such as a FIFO, whose opening would wait for a writer."""
        from voxpath import files

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            files.regular(path).close()
        except (OSError, ValueError) as error:
            self.fail(f"{path}: {getattr(error, 'strerror', None) or error}", param, ctx)
        return path


_PATH = _File(path_type=Path)


@click.group()
def speech() -> None:
    """Speech recognition over a network: a service, and a client that measures it."""


def _token(name: str, whose: str) -> Callable[[_Command], _Command]:
    """A token from a file or the environment: everybody on a machine sees the arguments of its commands."""
    variable = f"VOXPATH_{name.upper()}"

    def read(context: click.Context, param: click.Parameter, path: Path | None) -> str | None:
        del context
        given = os.environ.get(variable) if path is None else path.read_text(errors="replace").strip()
        if given == "" and path is None:
            return None
        if given is not None and re.fullmatch(r"[!-~]+", given) is None:
            raise click.BadParameter(
                f"{path or variable} has no token: visible ASCII characters in one line", param=param
            )
        return given

    option = f"--{name.replace('_', '-')}-file"
    meaning = f"What {whose} have to know stands in this file; without it in {variable}."
    return click.option(option, name, type=_PATH, callback=read, help=meaning)


def _hearing(command: _Command) -> _Command:
    for name, one in reversed(RANGES.items()):
        kind = Number(one.least, one.most)
        usual = f"{one.meaning}  [usually {one.otherwise:g}]"
        command = click.option(f"--{name}", type=kind, help=usual)(command)
    return command


_RECOGNISER = click.option(
    "--recogniser",
    type=click.Choice(NAMES),
    default=DEFAULT,
    show_default=True,
    help="Whose model listens.",
)
_MODEL = click.option(
    "--model", type=click.Path(path_type=Path, exists=True), help="Another model than the recogniser brings."
)
_SAVED = click.option(
    "--save", "-o", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where to."
)
_CA = click.option("--ca", type=_PATH, help="Certificates that are trusted, for wss://.")


@speech.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 is every one."
)
@click.option("--port", type=Integer(0, 65535), default=_PORT, show_default=True, help="0 is a free one.")
@click.option(
    "--workers",
    type=Integer(0, 256),
    help="Processes beside it.  [default: one for each processor]",
)
@_RECOGNISER
@_MODEL
@click.option(
    "--wait",
    type=Number(0),
    default=1.0,
    show_default=True,
    help="Seconds that a client waits for a worker.",
)
@click.option("--sessions", type=Integer(1), default=256, show_default=True, help="At the same time.")
@click.option(
    "--session", type=Number(1), default=600.0, show_default=True, help="Seconds that one may last."
)
@click.option(
    "--longest",
    type=Number(1),
    default=14_400.0,
    show_default=True,
    help="Seconds that one may last whose client asks for more.",
)
@click.option(
    "--idle",
    type=Number(0.1),
    default=30.0,
    show_default=True,
    help="Seconds in which nothing comes from a client.",
)
@click.option(
    "--head",
    type=Number(0.1),
    default=20.0,
    show_default=True,
    help="Seconds for a request's head.",
)
@click.option("--message", type=Integer(1024), default=1 << 20, show_default=True, help="Bytes of a message.")
@_hearing
@_token("token", "clients")
@_token("worker_token", "workers")
@click.option("--certificate", type=_PATH, help="For TLS, with its chain.")
@click.option("--key", type=_PATH, help="Of the certificate.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="Let pages of this origin in, such as https://example.org, besides our own.",
)
@click.option("--insecure", is_flag=True, help="Listen beyond loopback without tokens.")
def serve(**options: object) -> int:
    """Serves clients, with workers of this machine and of others.

    Beyond loopback it needs two tokens, one for clients and one for workers:

    \b
      openssl rand -hex 16 > clients; openssl rand -hex 16 > workers
      voxpath speech serve --host 0.0.0.0 --certificate server.pem --key server.key \\
        --token-file clients --worker-token-file workers
    """  # noqa: D301 - a raw one would have no character for click
    return int(_commands().serve(**options))


@speech.command()
@click.argument("master", default=f"ws://127.0.0.1:{_PORT}")
@_RECOGNISER
@_MODEL
@_token("worker_token", "workers")
@_CA
@click.option("--attached", is_flag=True, hidden=True, help="Ends when its standard input does.")
def work(master: str, **options: object) -> int:
    """Recognises for a MASTER (ws://host:port), one session after the other."""
    return int(_commands().work(master, **options))


@speech.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--server", default=f"ws://127.0.0.1:{_PORT}", show_default=True, help="ws:// or wss://.")
@click.option("--protocol", type=click.Choice(["kaldi", "vosk"]), default="kaldi", show_default=True)
@click.option(
    "--paced/--unpaced", default=True, show_default=True, help="As it is spoken, or as fast as it goes."
)
@click.option("--block", type=Number(0.005, 60), default=0.25, show_default=True, help="Seconds of audio.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the records, as JSON.")
@click.option("--session", type=Number(1), help="Seconds that it may last, asked of the server.")
@_hearing
@_token("token", "clients")
@_CA
@JSON
def stream(files: tuple[str, ...], json: bool, **options: object) -> int:
    """Sends FILES (WAV, Ogg, MP3, FLAC, WebM ...; sample:cards) and says what was understood, and when."""
    return int(_commands().stream(files, as_json=json, **options))


@speech.command()
@click.option("--server", default=f"ws://127.0.0.1:{_PORT}", show_default=True, help="ws:// or wss://.")
@click.option("--watch", is_flag=True, help="Also every change, until Ctrl-C.")
@_token("token", "clients")
@_CA
@JSON
def status(json: bool, **options: object) -> int:
    """Says how many workers are free, and how many sessions have ended."""
    return int(_commands().status(as_json=json, **options))


@speech.command()
@click.argument("files", nargs=-1, required=True)
@_SAVED
@click.option("--repetitions", type=Integer(1, 100), default=3, show_default=True)
@_RECOGNISER
@_MODEL
def profile(files: tuple[str, ...], **options: object) -> int:
    """Measures what a recogniser takes for FILES, for the simulator; on a machine that does nothing else."""
    return int(_profiles().profile(files, **options))


@speech.command()
@click.argument("file")
@_SAVED
@_RECOGNISER
@_MODEL
def utterance(file: str, **options: object) -> int:
    """Notes what a recogniser tells of FILE, and where in its audio, for the simulator."""
    return int(_profiles().utterance(file, **options))


def _profiles() -> ModuleType:
    _check_extra()
    from voxpath.cli.actions import speech_profiles

    return speech_profiles


@speech.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--samples", multiple=True, help="Have these recognised; several times for several sets.")
@_MODEL
@JSON
def recognisers(names: tuple[str, ...], json: bool, **options: object) -> int:
    """Says which recognisers (NAMES, or all) are here, what the others need, and how well they do."""
    return int(_commands().recognisers(names, as_json=json, **options))


def _commands() -> ModuleType:
    _check_extra()
    from voxpath.cli.actions import speech

    return speech


def _check_extra() -> None:
    """Says what is missing of the extra, before anything of it is imported, and how to get it."""
    from voxpath.extras import install

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise click.UsageError(f"{', '.join(missing)} missing: {install('speech')}")
