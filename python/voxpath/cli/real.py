"""`voxpath exec` and `voxpath shell`: commands on real hosts that have our terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath.cli.parts import Command, Decorated, Directory

if TYPE_CHECKING:
    from types import ModuleType


_LINK = {
    "rate": "Of the link, such as '5 Mbit/s'.",
    "delay": "One way, such as '20 ms'.",
    "queue": "Before the link, such as '100 packets' or '64 KiB', unlimited without it;"
    " or the kind of a discipline, such as fq_codel.",
    "loss": "Of packets, such as '1 %'.",
    "corrupt": "Of packets that arrive damaged, such as '0.1 %'.",
    "duplicate": "Of packets that arrive twice, such as '0.1 %'.",
    "reorder": "Packets held back, and by how much, such as '1 % by 5 ms'.",
}
"""A link's keys, and what help says of them."""

_RARE = ("corrupt", "duplicate", "reorder")
"""Help does not show them for each direction."""


def _link_options(function: Decorated) -> Decorated:
    """Options for a link's keys: of both directions, and those that may differ of each."""
    for key, meaning in reversed(_LINK.items()):
        for direction, words in (("down", "towards the command"), ("up", "from the command")):
            name, text = f"--{direction}-{key}", f"Only {words}."
            function = click.option(name, metavar=key.upper(), help=text, hidden=key in _RARE)(function)
        function = click.option(f"--{key}", metavar=key.upper(), help=meaning)(function)
    return function


@click.command(
    "exec",
    cls=Command,
    context_settings={"allow_interspersed_args": False},
    epilog="""
Examples:
  voxpath exec --delay "20 ms" --rate "5 Mbit/s" -- ping -c 1 machine
  voxpath exec --delay "20 ms" --loss "1 %" --reach 8000 -- curl http://machine:8000/
  voxpath exec --up-rate "1 Mbit/s" --down-rate "10 Mbit/s" --publish 9000:8000 -- python3 -m http.server 8000
  voxpath exec --delay "20 ms" -- voxpath exec --loss "1 %" -- bash
""",
)
@_link_options
@click.option(
    "--reach",
    multiple=True,
    metavar="[LISTEN:]PORT",
    help="Reach a port of this machine's loopback as machine:PORT; '/udp' behind it for datagrams.",
)
@click.option(
    "--publish",
    multiple=True,
    metavar="[LISTEN:]PORT",
    help="Make a port of the command reachable at this machine's loopback; '/udp' likewise.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of what the link does at random.")
@click.option("--capture", is_flag=True, help="Capture the command's packets; needs --out.")
@click.option("--out", type=Directory(path_type=Path), help="Keep the run in this directory.")
@click.option("-v", "--verbose", is_flag=True, help="Say that the run was valid, too.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(command: tuple[str, ...], **options: Any) -> int:
    """Runs a COMMAND on the real Linux stack behind one emulated link; its exit code is ours.

    The command reaches nothing but the host `machine` at the other end, which stands for this machine: what
    --reach names. Ctrl-C is the command's; a second one within a second kills it.
    """
    action = _action()
    given = {key: _link_values(options, key) for key in ("", "up", "down")}
    link = given[""] | {key: values for key, values in given.items() if key and values}
    chosen = {key: options[key] for key in ("reach", "publish", "seed", "capture", "out", "verbose")}
    if chosen["capture"] and chosen["out"] is None:
        raise click.UsageError("--capture needs --out, where the capture is kept")
    return int(action.run_behind_link(command, action.ExecOptions(link, **chosen)))


def _action() -> ModuleType:
    """Its imports start threads, which are not to take signals that are for a command."""
    from voxpath import interrupts

    with interrupts.blocked():
        from voxpath.cli.actions import real
    return real


def _link_values(options: dict[str, Any], direction: str) -> dict[str, Any]:
    """A link's keys as they were given for one direction, or for both."""
    prefix = f"{direction}_" if direction else ""
    given = {key: options[prefix + key] for key in _LINK if options[prefix + key] is not None}
    if given.get("queue", "").isidentifier():
        given["queue"] = {"kind": given["queue"]}
    if "reorder" in given:
        probability, by, span = given["reorder"].partition(" by ")
        if not by:
            option = f"--{prefix.replace('_', '-')}reorder"
            raise click.BadParameter("write '1 % by 5 ms': how many, and by how much", param_hint=option)
        given["reorder"] = {"probability": probability, "by": span}
    return given


@click.command(
    cls=Command,
    context_settings={"allow_interspersed_args": True, "ignore_unknown_options": False},
    epilog="""
Examples:
  voxpath shell scenarios/real-web.toml --host client1
  voxpath shell scenarios/real-web.toml --host client1 -- ping -c 1 server1
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--host", required=True, help="Where; it is made a real host.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(scenario: Path, host: str, command: tuple[str, ...]) -> int:
    """Opens a shell, or runs a COMMAND, on a host while the network of a SCENARIO runs."""
    action = _action()
    from voxpath.cli.actions.common import read_scenario

    return int(action.shell(read_scenario(scenario), host, command))
