"""What `voxpath measure` does."""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, texts
from voxpath.cli.actions.common import print_json
from voxpath.cli.parts import FAILED
from voxpath.measuring.client import Measured, MeasuringError, measure
from voxpath.measuring.server import Server
from voxpath.measuring.traffic import Traffic, TrafficError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_SIZES = ("smallest", "largest", "intermediate", "answer")


def serve(bind: str, port: int) -> int:
    """Serves; 1 if it cannot listen there."""

    def ready(taken: int) -> None:
        click.echo(f"measuring server at {bind} port {taken}")

    try:
        asyncio.run(Server().serve(bind, port, ready))
    except OSError as error:
        click.echo(f"voxpath: {bind} port {port}: {error.strerror or error}", err=True)
        return FAILED
    return 0


def ask(host: str, given: Mapping[str, Any]) -> int:
    """Measures; 1 if there is no measurement, or a request without an answer."""
    size, span = _engine.parse_size, _engine.parse_span
    try:
        traffic = Traffic(
            requests=given["requests"],
            bursts=given["bursts"],
            packets=given["packets"],
            **{name: _quantity(name, size, given[name]) for name in _SIZES},
            interval_s=_quantity("interval", span, given["interval"]) / 1e9,
            wait_s=_quantity("wait", span, given["wait"]) / 1e9,
            tls=given["tls"] or "",
            persistent=given["persistent"],
            side=given["side"],
            multipath=given["mptcp"],
        )
    except TrafficError as error:
        raise click.UsageError(str(error)) from None
    try:
        found = asyncio.run(measure(traffic, host, given["port"], bind=given["bind"], seed=given["seed"]))
    except MeasuringError as error:
        click.echo(texts.safe(f"voxpath: {error}"), err=True)
        return FAILED
    if given["as_json"]:
        print_json({"command": "measure ask", "traffic": asdict(traffic), **asdict(found)})
    else:
        for line in _lines(traffic, found):
            click.echo(texts.safe(line))
    return 0 if all(request.whole_s is not None for request in found.requests) else FAILED


def _quantity(option: str, parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"--{option}: {error}") from None


def _lines(traffic: Traffic, found: Measured) -> list[str]:
    times = [request.first_s for request in found.requests if request.first_s is not None]
    lines = [f"{len(times)} of {len(found.requests)} requests answered, {found.seen['octets']} bytes asked"]
    if times:
        lines.append(
            f"response delay: median {1e3 * statistics.median(times):.1f} ms, "
            f"shortest {1e3 * min(times):.1f} ms, longest {1e3 * max(times):.1f} ms"
        )
    if side := [took for took in found.side_s if took is not None]:
        median = 1e3 * statistics.median(side)
        lines.append(f"{len(side)} of {len(found.side_s)} side connections: median {median:.1f} ms")
    for told in found.connections:
        carried = "TCP"
        if traffic.multipath:
            how = "as TCP alone" if told.get("fallback") else f"{told.get('subflows', '?')} subflows"
            carried = f"Multipath TCP, {how}"
        rtt = f", round trip {told['rtt_us'] / 1e3:.1f} ms" if "rtt_us" in told else ""
        lines.append(f"by {carried}{rtt}")
    return lines
