"""The scenarios of the study: a node with two networks, its requests, and who carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voxpath.scenario import Document, from_dict
from voxpath.studies.tran2018.networks import LENGTH_S, PATHS, describe, events, node
from voxpath.studies.tran2018.printed import setting

if TYPE_CHECKING:
    from collections.abc import Mapping

FLOW = "voice"
CYCLE_S = setting("seconds") / setting("transactions")
"""From one request to the next: five transactions in 60 seconds."""

BELGIUM, TOKYO = "Belgium", "Tokyo"
SERVERS: Mapping[str, str] = {BELGIUM: "10 ms", TOKYO: "120 ms"}
"""One-way delay from the mobile networks to each server: the publication's two places, the delays ours."""

TCP: Mapping[str, Any] = {"kind": "tcp", "congestion": "cubic"}
"""Linux' own, over the default network alone."""


def mptcp(
    scheduler: str = "lowest_rtt", *, server: str | None = None, coupling: str | None = "olia", **more: Any
) -> Mapping[str, Any]:
    """Multipath TCP as v0.93 of Linux has it: OLIA, the scheduler with the lowest round-trip time.

    Args:
        scheduler: Of both ends.
        server: Of the server alone.
        coupling: Of the subflows' windows; none couples nothing.
        more: Other keys of the transport.
    """
    made: dict[str, Any] = {"kind": "mptcp", "scheduler": scheduler, "congestion": "reno", **more}
    made |= {} if coupling is None else {"coupling": coupling}
    made |= {} if server is None else {"server": {"scheduler": server}}
    return made


def wait_s() -> float:
    """From the last packet of a request to the next one, so that requests begin every cycle."""
    return CYCLE_S - (setting("bursts") - 1) * setting("interval_ms") / 1e3


def application(*, intermediate: bool = True, **more: Any) -> dict[str, Any]:
    """The traffic of section IV.B, by the tool's own numbers where the text leaves them open."""
    return {
        "kind": "iperf_siri",
        "bursts": setting("bursts"),
        "packets": setting("packets"),
        "smallest": f"{setting('smallest_B')} B",
        "largest": f"{setting('largest_B')} B",
        "interval": f"{setting('interval_ms')} ms",
        "answer": f"{setting('answer_B')} B",
        "requests": setting("transactions"),
        "wait": f"{wait_s():.3f} s",
        **({} if intermediate else {"intermediate": "0 B"}),
        **more,
    }


def voice(
    mobility: str,
    number: int,
    repetition: int,
    transport: Mapping[str, Any],
    app: Mapping[str, Any],
    server: str = BELGIUM,
    tcp: Mapping[str, Any] | None = None,
) -> Document:
    """A minute of requests of one node; `tcp` is what differs from Linux' own on both hosts."""
    host = {"profile": "linux", **({"tcp": {**tcp}} if tcp else {})}
    signals = node(mobility, number, repetition)
    happens = [event for path in PATHS for event in events(path, signals[path])]
    happens.sort(key=lambda event: float(event["at"].removesuffix(" s")))
    return from_dict(
        {
            "name": f"tran2018: {mobility} node {number}, repetition {repetition}",
            "seed": 1 + number,
            "duration": f"{LENGTH_S} s",
            "topology": {
                "kind": "multipath",
                "paths": {path: describe(signals[path].link(0)) for path in PATHS},
                "access": {"rate": "1 Gbit/s", "delay": SERVERS[server]},
            },
            "hosts": {"client": host, "server": host},
            "flows": [{"name": FLOW, "transport": {**transport}, "app": {**app}}],
            "events": happens,
        }
    )
