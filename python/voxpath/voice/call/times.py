"""How long a call waits: for connections to open, and for what is still on its way in the end.

Both grow with what a packet takes from end to end, which the network's own description says, and with how
often a transport has to go there and back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.voice.call.network import VOICE
from voxpath.voice.call.transports.base import LEAD_NS, PATIENCE_NS, TAIL_NS, Times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Transport, Wants, Way

_AGAIN_NS = 1_000_000_000
"""After which a SYN without an answer is sent again (RFC 6298 section 2.1): one may be lost."""
_DEVIATIONS = 3.0
"""Above its mean: longer is one normal delay of a thousand."""
_RARE = 0.001
"""Of Pareto's delays, which have no longest: so many are longer than what counts here."""


def of(network: Network, transport: Transport, ways: Sequence[Way], wants: Wants) -> Times:
    """How long a call of these directions waits.

    Raises:
        CallError: The transport does not go over the network.
        ScenarioError: The network cannot be.
    """
    round_ns = 0
    for way in ways:
        placed, stops = transport.stops(network, way)
        round_ns = max(round_ns, _round_trip(placed, stops))
    opening_ns = round(transport.opens * round_ns)
    rounds = max(transport.drains(way, wants) for way in ways)
    return Times(
        max(LEAD_NS, opening_ns + _AGAIN_NS) if transport.opens else LEAD_NS,
        PATIENCE_NS + opening_ns,
        # Who answers begins to speak when it hears of the call, and is heard as much later.
        TAIL_NS + (1 + rounds) * round_ns,
        round_ns,
    )


def _round_trip(network: Network, stops: Sequence[str]) -> int:
    """What it takes at most by all stops, there and back, queues left out; in nanoseconds."""
    from voxpath.scenario import from_dict

    names = [f"{network.voice}-stop-{number}" for number in range(1, len(stops))]
    probes = [
        {"name": name, "from": here, "to": there, "app": {"kind": "ping", "packets": "1 packets"}}
        for name, here, there in zip(names, stops, stops[1:], strict=False)
    ]
    flows = [*network.data.get("flows", []), *probes]
    data = {"name": VOICE, **network.data, "flows": flows, **network.lasting(0)}
    plan = from_dict(data, network.told, network.base).plan
    named = [flow["name"] for flow in plan.data["flows"]]
    paths = _engine.paths(plan.json)
    ways = [way for name in names for way in paths[named.index(name)]]
    return sum(_longest(plan.data, *hop) for way in ways for hop in way)


def _longest(plan: Mapping[str, Any], link: int, direction: str) -> int:
    """What a direction of a link takes at most, by its delay and what the timeline makes of it."""
    settings: Mapping[str, Any] = plan["links"][link][direction]
    changes = [event["change"] for event in plan["events"]]
    later: list[int] = [
        change["set"]["delay_ns"]
        for change in changes
        if change["kind"] == "link"
        and (change["link"], change["direction"]) == (link, direction)
        and change["set"]["kind"] == "delay"
    ]
    return max([_varied(settings["delay_ns"], settings["delay_variation"]), *later])


def _varied(delay_ns: int, variation: Mapping[str, Any] | None) -> int:
    match variation:
        case None:
            return delay_ns
        case {"kind": "normal", "deviation_ns": int(deviation)}:
            return delay_ns + round(_DEVIATIONS * deviation)
        case {"kind": "pareto", "shape": float(shape)}:
            longer: float = _RARE ** (-1 / shape)
            return round(delay_ns * longer)
        case {"kind": "steps", "steps": steps}:
            return max(int(delay) for _, delay in steps)
    raise AssertionError(f"a plan has a delay that varies as nobody knows here: {variation}")
