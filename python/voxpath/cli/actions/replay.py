"""What `voxpath replay` does."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, terminal
from voxpath.backends.real.internet import gateway
from voxpath.cli.actions.common import write_new
from voxpath.cli.actions.show import ShowError, find
from voxpath.results import captured
from voxpath.results.captured import CaptureError
from voxpath.results.kept import Kept, table, tables_of
from voxpath.results.store import StoreError
from voxpath.scenario import ScenarioError, read
from voxpath.scenario.one_link import LinkError, link
from voxpath.scenario.replayed import NothingError, Replayed, Sent, network, replayed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from voxpath.results.captured import Captured, Datagrams
    from voxpath.scenario import Document

_ENDS = ("client", "server")
"""The hosts of a capture's scenario: who has most of its packets, and all others."""


def replay(source: Path, out: Path, save: Path, preset: str | None, *, only_network: bool) -> int:
    """Writes the scenario; 0.

    Raises:
        click.ClickException: There is no such run or capture, nothing to be replayed, or something in the
            file's place.
    """
    files: dict[str, bytes] = {}
    try:
        if source.suffix in captured.SUFFIXES:
            if only_network:
                raise click.BadParameter("a capture has none: give a run", param_hint="--network")
            found = of_capture(source, preset, save.stem)
            name = source.name
        else:
            if preset is not None:
                raise click.BadParameter("is for a capture: a run has its network", param_hint="--preset")
            folder = find(source, out)
            name = Kept.read(folder).plan["name"]
            document = read(folder / "scenario.toml")
            files = dict(document.plan.files)
            found = network(document.data) if only_network else _of_run(document, folder, save.stem)
    except (ShowError, StoreError, ScenarioError, CaptureError) as error:
        raise click.ClickException(str(error)) from None
    except NothingError as error:
        raise click.ClickException(f"{source} cannot be replayed: {error}") from None
    texts = {save.name: _engine.format_toml(json.dumps(found.data)).encode()} | files | dict(found.files)
    write_new({save.parent / file: contents for file, contents in texts.items()})
    count = len(found.flows)
    quoted = shlex.quote(str(save))
    told = f"{'one flow' if count == 1 else f'{count} flows'} in {save}; voxpath run {quoted}"
    if only_network:
        told = f"its network in {save}; voxpath exec --scenario {quoted} --host NAME -- COMMAND"
    terminal.console().print(f"{name}: {told}")
    return 0


def _of_run(document: Document, folder: Path, prefix: str) -> Replayed:
    """What programs did in a run: their TCP connections, and datagrams if any were captured."""
    rows = table(folder, "connections").to_dicts() if "connections" in tables_of(folder) else []
    captures = sorted((folder / "captures").glob("*.pcapng"))
    names = {address: node["name"] for node in document.plan.data["nodes"] for address in node["addresses"]}
    if gateway(document.plan.data) is not None:
        raise NothingError(
            "it reached the Internet, of which only the command's end is known: replay a capture of it "
            f"({folder / 'captures'}), or its network alone (--network)"
        )
    sent: dict[tuple[Any, Any], Sent] = {}
    # Where a host was captured, what it sent left at the times of that capture; else these are arrivals.
    for capture in captures:
        for flow in captured.read(capture).datagrams:
            ends = (names.get(flow.source.address), names.get(flow.target.address))
            key = (flow.source, flow.target)
            if None not in ends and (key not in sent or ends[0] == capture.stem):
                sent[key] = Sent(str(ends[0]), str(ends[1]), flow.sent)
    return replayed(document.data, rows, sent.values(), prefix)


def of_capture(path: Path, preset: str | None, prefix: str) -> Replayed:
    """A scenario of two hosts and a link: whose packets are the most is one, all others are the other.

    Raises:
        CaptureError: It is no capture, or there is no tshark.
        NothingError: It has no data of UDP or TCP.
        click.BadParameter: There is no such preset.
    """
    found = captured.read(path)
    if not found.datagrams and not found.connections:
        # tshark takes other files for captures of what it does not know.
        raise NothingError("no packet of UDP or TCP is in it: is it a capture?")
    client = _busiest(found)

    def host(address: str) -> str:
        return _ENDS[address != client]

    def sent(flow: Datagrams) -> Sent:
        times = [(at - found.began_ns, size) for at, size in flow.sent]
        return Sent(host(flow.source.address), host(flow.target.address), times)

    # What others say to each other does not pass the link.
    between = [flow for flow in found.datagrams if client in (flow.source.address, flow.target.address)]
    try:
        values = link({}, preset)
    except LinkError as error:
        raise click.BadParameter(str(error), param_hint="--preset") from None
    data = {"name": path.stem, "topology": {"kind": "pipe", "link": values}}
    made = replayed(data, _rows(found, host, client), map(sent, between), prefix)
    # A pipe has its hosts without saying so.
    return Replayed({key: value for key, value in made.data.items() if key != "hosts"}, made.files)


def _busiest(found: Captured) -> str:
    """The address that has most of the datagrams and connections; of two, the one that opens connections."""
    counts: Counter[str] = Counter()
    opened = Counter(connection.client.address for connection in found.connections)
    for flow in found.datagrams:
        counts.update({flow.source.address: len(flow.sent), flow.target.address: len(flow.sent)})
    for connection in found.connections:
        counts.update((connection.client.address, connection.server.address))
    return max(counts, key=lambda address: (counts[address], opened[address]), default="")


def _rows(found: Captured, host: Any, client: str) -> Iterable[Mapping[str, Any]]:
    """Connections as a run's table has them."""
    for connection in found.connections:
        ends = (connection.client, connection.server)
        if client in (end.address for end in ends):
            flow = " > ".join(f"{host(end.address)}:{end.port}" for end in ends)
            for name, end in zip(_ENDS, ends, strict=True):
                yield {
                    "flow": flow,
                    "end": name,
                    "opened_ns": connection.opened_ns - found.began_ns,
                    "bytes_delivered": connection.sent[end],
                }
