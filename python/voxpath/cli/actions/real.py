"""What `voxpath exec` and `voxpath shell` do: commands on real hosts that have our terminal."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, terminal
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real import foreground
from voxpath.backends.real.network import Network
from voxpath.backends.real.relays import reached
from voxpath.backends.real.session import RealError
from voxpath.packages import missing
from voxpath.results.identity import Identity, Observe, machine
from voxpath.results.store import StoreError
from voxpath.scenario import Document, ScenarioError, from_dict
from voxpath.sweeps.runs import keep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.sweeps.runs import Found

_NOT_FOUND = 127

HERE, THERE = "client", "machine"
"""The host of a command of `voxpath exec`, and the one at the other end of its link."""


@dataclass(frozen=True)
class ExecOptions:
    """Options of `voxpath exec`, as `cli.real` describes them.

    Attributes:
        link: Values of the link's keys, those of one direction below `up` and `down`.
        reach: Ports of the machine.
        publish: Ports of the command.
        seed: Root of the random streams.
        capture: Whether the command's packets are captured.
        out: Where the run is kept, if it is.
        verbose: Whether a valid run is worth a line too.
    """

    link: Mapping[str, Any]
    reach: tuple[str, ...]
    publish: tuple[str, ...]
    seed: int | None
    capture: bool
    out: Path | None
    verbose: bool


def run_behind_link(command: Sequence[str], options: ExecOptions) -> int:
    """Runs a command behind one emulated link; its exit code.

    Raises:
        click.ClickException: Bad input; nothing has been run.
    """
    observe = Observe(capture=(HERE,) if options.capture else ())
    try:
        document = _document(command, options)
        if (code := _not_there(command)) is not None:
            return code
        with (
            foreground.Signals() as signals,
            Network(document, 0, observe, foreground=HERE) as network,
        ):
            code = foreground.wait(lambda: network.programs.foreground, signals, network.step)
            unanswered = network.session.unanswered()
            found = network.finish()
    except (RealError, UnanswerableError) as error:
        return _failed(error)
    except foreground.Ended as ended:
        return _ended(ended)
    for place in unanswered:
        _say(f"nobody answered at {place}")
    _judge(found, verbose=options.verbose)
    if options.out is not None:
        identity = Identity(document.plan.json, "real", 0, _engine.BUILD_REAL, observe, machine=machine())
        try:
            _say(f"results: {keep(options.out, identity, document.written, 0, found).folder}")
        except StoreError as error:
            return _failed(error)
    return code


def shell(document: Document, host: str, command: Sequence[str]) -> int:
    """Runs a shell, or a command, on a host while a scenario's network runs; its exit code.

    Raises:
        click.ClickException: Bad input; nothing has been run.
    """
    names = [node["name"] for node in document.plan.data["nodes"] if node["kind"] == "host"]
    if host not in names:
        from voxpath.names import did_you_mean

        raise click.BadParameter(f"{host!r} is no host; {did_you_mean(host, names)}", param_hint="--host")
    if command and (code := _not_there(command)) is not None:
        return code
    try:
        document = document.with_real(host)
    except ScenarioError as error:
        raise click.BadParameter(
            "; ".join(problem.message for problem in error.problems), param_hint="--host"
        ) from None
    try:
        with (
            foreground.Signals() as signals,
            Network(document, 0, Observe()) as network,
            _shell(host) if not command else contextlib.nullcontext(command) as chosen,
        ):
            node = network.session.host(host)
            start = functools.cache(lambda: foreground.attach(network.session, node, chosen))
            code = foreground.wait(start, signals, network.step)
            found = network.finish()
    except UnanswerableError as error:
        raise click.ClickException(str(error)) from None
    except RealError as error:
        return _failed(error)
    except foreground.Ended as ended:
        return _ended(ended)
    _judge(found, verbose=False)
    return code


def _not_there(command: Sequence[str]) -> int | None:
    """Says what to do about a command that is not installed; its exit code, as of a shell."""
    # A path is looked up on the host, which sees some files of its own.
    problem = None if "/" in command[0] else missing(command[0])
    if problem is None:
        return None
    _say(f"nothing was run: {problem}")
    return _NOT_FOUND


@contextlib.contextmanager
def _shell(host: str) -> Iterator[list[str]]:
    """The user's shell, with the host's name in its prompt."""
    program = os.environ.get("SHELL", "/bin/sh")
    if Path(program).name != "bash":
        # Others take the prompt from here, unless their start-up files say otherwise.
        yield ["env", f"PS1=({host}) $ ", program]
        return
    with tempfile.NamedTemporaryFile("w", prefix="voxpath-", suffix=".bashrc") as file:
        file.write(f'[ -f ~/.bashrc ] && . ~/.bashrc\nPS1="({host}) ${{PS1-}}"\n')
        file.flush()
        yield [program, "--rcfile", file.name]


def _document(command: Sequence[str], options: ExecOptions) -> Document:
    # What an outer voxpath exec reaches, this one does too.
    inherited = [f"{port}/{transport}" for port, transport in reached()]
    given = [*options.reach]
    asked = {_listening(text) for text in given}
    link = {"name": "link", "ends": [HERE, THERE], **options.link}
    there = {
        "profile": "linux",
        "real": True,
        "reach": [*given, *(text for text in inherited if _listening(text) not in asked)],
        "publish": [_at_command(text) for text in options.publish],
    }
    data = {
        "name": f"{Path(command[0]).name} behind a link",
        "topology": {"kind": "explicit", "hosts": [HERE, THERE], "links": [link]},
        "hosts": {HERE: {"profile": "linux", "run": list(command)}, THERE: there},
    }
    try:
        return from_dict(data | ({} if options.seed is None else {"seed": options.seed}))
    except ScenarioError as error:
        told = [f"{_option(problem.key, options)}: {problem.message}" for problem in error.problems]
        raise click.ClickException("\n".join(["nothing was run", *told])) from None


def _listening(text: str) -> str:
    """Where a reached port is listened at: `80/tcp` of both `80:8000` and `80/tcp`."""
    place, _, transport = text.partition("/")
    return f"{place.split(':')[0]}/{transport or 'tcp'}"


def _at_command(text: str) -> str:
    """`9000:8000` is short for port 8000 of the command's host."""
    found = re.fullmatch(r"(?:([0-9]+):)?([0-9]+(?:/[a-z]+)?)", text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} names no port: write 8000, or 9000:8000 to publish it at this machine's port 9000; "
            "/udp behind it for datagrams",
            param_hint="--publish",
        )
    return f"{found[1]}:{HERE}:{found[2]}" if found[1] else f"{HERE}:{found[2]}"


def _option(key: str, options: ExecOptions) -> str:
    """The option behind a key of the scenario."""
    if found := re.match(r"topology\.links\[0\]\.(?:(up|down)\.)?(\w+)", key):
        return f"--{found[1]}-{found[2]}" if found[1] else f"--{found[2]}"
    if found := re.match(rf"hosts\.{THERE}\.(reach|publish)\[(\d+)\]", key):
        given: tuple[str, ...] = getattr(options, found[1])
        return f"--{found[1]} {given[int(found[2])]}" if int(found[2]) < len(given) else f"--{found[1]}"
    return f"--{key}" if key == "seed" else "COMMAND" if key else "scenario"


def _judge(found: Found, *, verbose: bool) -> None:
    """Says whether the network was what it was to be; nothing where it was, unless that is asked for."""
    verdict = json.loads(found.verdict)
    for problem in verdict["problems"]:
        _say(f"invalid: {problem}")
    if verbose and verdict["valid"]:
        faithful = json.loads(found.files["fidelity.json"])
        late = faithful["deliveries"]["p99_ns"] / 1e6
        _say(
            f"valid: {faithful['packets_out']} packets delivered, 99 % of them less than {late:.3g} ms late "
            f"({faithful['limit_ns'] / 1e6:.3g} ms are allowed)"
        )


def _failed(error: Exception) -> int:
    _say(str(error))
    return foreground.NOT_STARTED


def _ended(ended: foreground.Ended) -> int:
    _say(f"{ended.number.name} came before the command began")
    return ended.code


def _say(text: str) -> None:
    click.echo(f"voxpath: {terminal.safe(text)}", err=True)
