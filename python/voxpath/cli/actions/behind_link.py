"""The network of `voxpath exec`: a command's host, the machine's stand-in, one link or two between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath.scenario import Document, ScenarioError, from_dict
from voxpath.scenario.one_link import LinkError, base_of, link, option_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HERE, THERE = "client", "machine"
"""The host of a command, and the one at the other end of its link."""

_NAMES = ("link", "second")
"""Of the links."""


@dataclass(frozen=True)
class Behind:
    """What lies between a command and the machine, as `cli.real` describes it.

    Attributes:
        given: Texts of the link by direction and option.
        preset: The name of a published link, whose values these change.
        mtu: Of the link.
        second: Texts of a second link.
        second_preset: Its preset.
        second_mtu: Its MTU.
        reach: Ports of the machine.
        publish: Ports of the command.
        internet: Whether everything is reached that the machine reaches.
    """

    given: Mapping[str, Mapping[str, str]]
    preset: str | None = None
    mtu: str | None = None
    second: Mapping[str, Mapping[str, str]] | None = None
    second_preset: str | None = None
    second_mtu: str | None = None
    reach: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    internet: bool = False


def document(
    command: Sequence[str], behind: Behind, seed: int | None, inherited: Iterable[tuple[int, str]]
) -> Document:
    """The scenario.

    Args:
        command: What runs behind the link.
        behind: What lies between.
        seed: Root of the random streams.
        inherited: Ports and transports that an outer command reaches; this one does, too.

    Raises:
        click.ClickException: It cannot be; every problem is told by its option.
    """
    asked = {_listening(text) for text in behind.reach}
    outer = [f"{port}/{transport}" for port, transport in inherited]
    links, base = _links(behind)
    here: dict[str, Any] = {"profile": "linux", "run": list(command)}
    if len(links) > 1:
        # The other end has no interfaces: it answers by the link from whose address it was asked.
        here["interfaces"] = {one["name"]: [] for one in links}
    there = {
        "profile": "linux",
        "real": True,
        "reach": [*behind.reach, *(text for text in outer if _listening(text) not in asked)],
        "publish": [_at_command(text) for text in behind.publish],
    }
    there |= {"internet": True} if behind.internet else {}
    data = {
        "name": f"{Path(command[0]).name} behind {'a link' if len(links) == 1 else 'two links'}",
        "topology": {"kind": "explicit", "hosts": [HERE, THERE], "links": links},
        "hosts": {HERE: here, THERE: there},
    }
    try:
        return from_dict(data | ({} if seed is None else {"seed": seed}), base=base)
    except ScenarioError as error:
        told = [f"{_option(problem.key, behind)}: {problem.message}" for problem in error.problems]
        raise click.ClickException("\n".join(["nothing was run", *told])) from None


def _links(behind: Behind) -> tuple[list[dict[str, Any]], Path]:
    """The links, and where their traces are."""
    second = behind.second or {}
    wanted = [(behind.given, behind.preset, behind.mtu)]
    if second or behind.second_preset or behind.second_mtu:
        wanted.append((second, behind.second_preset, behind.second_mtu))
    base = base_of(given for given, _, _ in wanted)
    found = []
    for name, (given, preset, mtu) in zip(_NAMES, wanted, strict=False):
        try:
            table = link(given, preset, base)
        except LinkError as error:
            option = f"--{error.option}" if name == _NAMES[0] else f"--{name}-{error.option}"
            told = str(error)
            if name != _NAMES[0]:
                # What else is to be given is of the same link.
                told = re.sub(r"(?<!\S)--(?=[a-z])", f"--{name}-", told)
            raise click.BadParameter(told, param_hint=option) from None
        table |= {} if mtu is None else {"mtu": mtu}
        found.append({"name": name, "ends": [HERE, THERE], **table})
    return found, base


def _listening(text: str) -> str:
    """Where a reached port is listened at: `80/tcp` of both `80:8000` and `80/tcp`."""
    place, _, transport = text.partition("/")
    return f"{place.split(':')[0]}/{transport or 'tcp'}"


_PORTS = "[0-9]+(?:-[0-9]+)?"


def _at_command(text: str) -> str:
    """`9000:8000` is short for port 8000 of the command's host."""
    found = re.fullmatch(rf"(?:({_PORTS}):)?({_PORTS}(?:/[a-z]+)?)", text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} names no port: write 8000, or 9000:8000 to publish it at this machine's port 9000; "
            "/udp behind it for datagrams",
            param_hint="--publish",
        )
    return f"{found[1]}:{HERE}:{found[2]}" if found[1] else f"{HERE}:{found[2]}"


def _option(key: str, behind: Behind) -> str:
    """The option behind a key of the scenario."""
    if found := re.match(r"topology\.links\[(\d)\]\.(.+)", key):
        second = int(found[1]) > 0
        name = option_of(found[2], (behind.second or {}) if second else behind.given)
        return f"--second-{name}" if second else f"--{name}"
    if found := re.match(rf"hosts\.{THERE}\.(reach|publish)\[(\d+)\]", key):
        ways: tuple[str, ...] = getattr(behind, found[1])
        return f"--{found[1]} {ways[int(found[2])]}" if int(found[2]) < len(ways) else f"--{found[1]}"
    return f"--{key}" if key == "seed" else "COMMAND" if key else "scenario"
