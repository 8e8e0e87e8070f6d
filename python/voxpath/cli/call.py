"""`voxpath call`: a voice through a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from voxpath import options
from voxpath.cli.options import SEED, option, takes
from voxpath.cli.parts import JSON, Command, Decorated


def _link(function: Decorated) -> Decorated:
    """Options of the link, of both directions and of each."""
    for declared in reversed(options.LINK):
        for direction, words in (("down", "towards the first speaker"), ("up", "from the first speaker")):
            function = option(
                declared, flag=f"{direction}-{declared.name}", help=f"Only {words}.", hidden=True
            )(function)
        function = option(declared)(function)
    return option(options.PRESET)(option(options.MTU)(function))


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath call
  voxpath call speech.wav --delay "80 ms" --jitter "15 ms" --loss "2 %" --over rtp
  voxpath call speech.wav --preset lte --loss "3 %" --burst "4 packets" --redundancy 1 --measures emodel,stoi
  voxpath call speech.wav --delay "40 ms" --loss "1 %" --over tcp --buffer adaptive
  voxpath call mine.wav yours.wav --codec g711 --delay "150 ms"
  voxpath call mine.wav yours.wav --delay "100 ms" --room office --echo-loss "25 dB" --cancel
  voxpath call speech.wav --scenario scenarios/lossy-download.toml
""",
)
@click.argument("recordings", nargs=-1, metavar="[SAID [ANSWERED]]", type=click.Path(path_type=Path))
@_link
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="In place of a link: the network of a scenario with hosts client and server, and its other traffic.",
)
@takes(*options.CALL)
@SEED
@click.option(
    "--heard",
    type=click.Path(path_type=Path),
    metavar="FILE.wav",
    help="What is heard; heard.wav without it.",
)
@click.option(
    "-o",
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="The page; call.html without it.",
)
@takes(options.OUT, options.FORCE)
@JSON
def call(recordings: tuple[Path, ...], **given: Any) -> int:
    """Sends a voice through codec, transport and network, and writes what the other side hears.

    SAID is a recording of any format that FFmpeg reads; without one, a sample of the package is taken. With
    ANSWERED, the other side speaks too. A text file of the recording's name says what is said in it.

    Each option of the link exists for one direction, too (--up-loss, --down-rate).
    """
    from voxpath.cli.actions import call as action

    return action.call(recordings, given)
