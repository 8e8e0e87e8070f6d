"""`voxpath exec` and `voxpath shell`: commands on real hosts that have our terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import options
from voxpath.cli.options import SEED, option
from voxpath.cli.parts import Command, Decorated, Directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_SHOWN_OF_DIRECTIONS = ("rate", "trace", "delay", "queue", "loss")
"""Help shows these for each direction; the others are there, too."""

_SECOND = "second"
"""Before the options of a second link."""


def _link_options(function: Decorated) -> Decorated:
    """Options for a link's keys: of both directions, of each, and all of these of a second link."""
    for link in (_SECOND, ""):
        prefix = f"{link}-" if link else ""
        for declared in reversed(options.LINK):
            for direction, words in (("down", "towards the command"), ("up", "from the command")):
                function = option(
                    declared,
                    flag=f"{prefix}{direction}-{declared.name}",
                    help=f"Only {words}.",
                    hidden=bool(link) or declared.name not in _SHOWN_OF_DIRECTIONS,
                )(function)
            function = option(declared, flag=f"{prefix}{declared.name}", hidden=bool(link))(function)
        function = option(options.MTU, flag=f"{prefix}mtu", hidden=bool(link))(function)
    function = option(
        options.PRESET,
        flag=f"{_SECOND}-preset",
        help="A second link beside the first, with addresses of its own; --second-delay and so on change it.",
    )(function)
    return option(options.PRESET)(function)


def _run_options(function: Decorated) -> Decorated:
    """What is done with a run, whoever's network it is."""
    declared = [
        click.option("--capture", is_flag=True, help="Capture the command's packets; needs --out."),
        click.option("--out", type=Directory(path_type=Path), help="Keep the run in this directory."),
        click.option(
            "--report",
            metavar="FILE.html",
            type=click.Path(path_type=Path),
            help="Write a page: rate, queue, delay and loss over time, and the command's TCP connections.",
        ),
        click.option(
            "--live",
            is_flag=True,
            help="Open a page on loopback that shows what the links do, and by which they can be changed.",
        ),
        click.option("--meter", is_flag=True, help="Show what the links do in the terminal's last line."),
        click.option("-v", "--verbose", is_flag=True, help="Sum up what the links did, wherever that goes."),
        click.option("-q", "--quiet", is_flag=True, help="Do not sum up on a terminal what the links did."),
    ]
    for one in reversed(declared):
        function = one(function)
    return function


def _ways(function: Decorated) -> Decorated:
    """Ways between the command and the machine."""
    publish = click.option(
        "--publish",
        multiple=True,
        metavar="[LISTEN:]PORT",
        help="Make a port of the command reachable at this machine's loopback; '/udp' likewise.",
    )
    reach = click.option(
        "--reach",
        multiple=True,
        metavar="[LISTEN:]PORT",
        help="Reach a port of this machine's loopback as machine:PORT, or several, as 8000-8009; '/udp' "
        "behind it for datagrams.",
    )
    internet = click.option(
        "--internet",
        is_flag=True,
        help="Reach whatever this machine reaches but its loopback, by IPv4 and by name; needs slirp4netns.",
    )
    return reach(publish(internet(function)))


@click.command(
    "exec",
    cls=Command,
    context_settings={"allow_interspersed_args": False},
    epilog="""
Examples:
  voxpath exec --delay "20 ms" --rate "5 Mbit/s" -- ping -c 1 machine
  voxpath exec --preset lte --loss "1 %" --burst "4 packets" -- ping -c 1 machine
  voxpath exec --delay "20 ms" --loss "1 %" --reach 8000 -- curl http://machine:8000/
  voxpath exec --up-rate "1 Mbit/s" --down-rate "10 Mbit/s" --publish 9000:8000 -- python3 -m http.server 8000
  voxpath exec --trace scenarios/traces/ride.trace --queue "fq_codel, 500 packets" --report ride.html -- bash
  voxpath exec --preset wifi-cafe --second-preset lte -- ip -brief address
  voxpath exec --preset lte --internet --live -- bash
  voxpath exec --scenario scenarios/real-web.toml --host client1 -- curl http://server1:8000/
  voxpath exec --delay "20 ms" -- voxpath exec --loss "1 %" -- bash
""",
)
@_link_options
@click.option(
    "--scenario", type=click.Path(path_type=Path), metavar="FILE", help="A network of its own; needs --host."
)
@click.option("--host", help="Where in the scenario the command runs; it is made a real host.")
@_ways
@SEED
@_run_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(command: tuple[str, ...], scenario: Path | None, host: str | None, **given: Any) -> int:
    """Runs a COMMAND on the real Linux stack behind one emulated link; its exit code is ours.

    The command reaches nothing but the host `machine` at the other end, which stands for this machine: what
    --reach names, or with --internet everything that this machine does. Ctrl-C is the command's; a second one
    within a second kills it.

    Each option of the link exists for one direction (--up-jitter, --down-loss) and for a second link
    (--second-delay, --second-down-rate), too.
    """
    return _run(scenario, host, command, given)


@click.command(
    cls=Command,
    context_settings={"allow_interspersed_args": True, "ignore_unknown_options": False},
    epilog="""
Examples:
  voxpath shell --delay "20 ms" --rate "5 Mbit/s"
  voxpath shell --preset geo-satellite --reach 8000
  voxpath shell scenarios/real-web.toml --host client1
  voxpath shell scenarios/real-web.toml --host client1 -- ping -c 1 server1
""",
)
@_link_options
@click.option("--host", help="Where in the SCENARIO; it is made a real host.")
@_ways
@SEED
@_run_options
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(scenario: Path | None, host: str | None, command: tuple[str, ...], **given: Any) -> int:
    """Opens a shell, or runs a COMMAND, behind a link or on a host while the network of a SCENARIO runs.

    Without --host it is behind the link that the options describe, as in voxpath exec.
    """
    if host is None and scenario is not None:
        if scenario.suffix == ".toml":
            raise click.UsageError(f"--host says where in {scenario} the shell is")
        scenario, command = None, (str(scenario), *command)
    return _run(scenario, host, command, given)


_OF_RUNS = ("seed", "capture", "out", "report", "live", "meter", "verbose", "quiet")
"""Options of a run, whoever's network it is."""


def _run(scenario: Path | None, host: str | None, command: Sequence[str], given: dict[str, Any]) -> int:
    links = {link: _texts(given, link) for link in ("", _SECOND)}
    chosen = {key: given[key] for key in _OF_RUNS}
    if chosen["capture"] and chosen["out"] is None:
        raise click.UsageError("--capture needs --out, where the capture is kept")
    if scenario is None and host is not None:
        raise click.UsageError("--host is a host of a scenario: give one")
    action = _action()
    keeping = action.RunOptions(**chosen)
    if scenario is None:
        behind = action.Behind(
            given=links[""],
            preset=given["preset"],
            mtu=given["mtu"],
            second=links[_SECOND],
            second_preset=given["second_preset"],
            second_mtu=given["second_mtu"],
            reach=given["reach"],
            publish=given["publish"],
            internet=given["internet"],
        )
        return int(action.run_behind_link(command, behind, keeping))
    if host is None:
        raise click.UsageError("--scenario needs --host: where in it the command runs")
    told = [name for name in ("preset", "second_preset", "mtu", "second_mtu") if given[name] is not None]
    told += [option for link in links.values() for texts in link.values() for option in texts]
    told += [name for name in ("reach", "publish", "internet") if given[name]]
    if told:
        raise click.UsageError(f"--{told[0].replace('_', '-')} is of one link; a scenario says it itself")
    from voxpath.cli.actions.common import read_scenario

    return int(action.run_in_scenario(read_scenario(scenario), host, command, keeping))


def _texts(given: dict[str, Any], link: str) -> dict[str, dict[str, str]]:
    """The link's texts by direction and name."""
    found: dict[str, dict[str, str]] = {}
    for direction in ("", "up", "down"):
        parts = [part for part in (link, direction) if part]
        texts = {
            declared.name: given["_".join((*parts, declared.name))]
            for declared in options.LINK
            if given["_".join((*parts, declared.name))] is not None
        }
        if texts:
            found[direction] = texts
    return found


def _action() -> ModuleType:
    """Its imports may start threads, which are not to take signals that are for a command."""
    from voxpath import interrupts

    with interrupts.blocked():
        from voxpath.cli.actions import real
    return real
