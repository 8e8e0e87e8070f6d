"""MQTT: a message for each frame, by a broker beside the listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from voxpath.voice.call.problems import CallError
from voxpath.voice.call.transports.base import NEVER, Arrivals, Carrier, rounds_of, with_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Wants, Way

_BROKER, _ROUTER = "broker", "router"
_PORT = 1883
"""Of brokers."""


class Mqtt:
    """Published at QoS 0. On one link the broker stands beside the listener; a scenario has its own."""

    name: ClassVar[str] = "mqtt"
    about: ClassVar[str] = "MQTT 3.1.1, a message of QoS 0 for each frame, by a broker near the server"
    table: ClassVar[str] = "publications"
    framing: ClassVar[str] = (
        "a PUBLISH's head with its topic, TCP without Nagle's algorithm, IP; once more to the listener"
    )
    opens: ClassVar[float] = 2.5
    """SYN, CONNECT, and the way of SUBSCRIBE to the broker."""

    def stops(self, network: Network, way: Way) -> tuple[Network, Sequence[str]]:
        """Both ends and the broker between them, which may be at one of them."""
        network, broker = _with_broker(network)
        return network, [way.from_, *([] if broker in (way.from_, way.to) else [broker]), way.to]

    def drains(self, way: Way, wants: Wants) -> int:
        """As often as the congestion windows of two connections have to grow, one after the other."""
        del wants
        return 2 * rounds_of(way)

    def remarks(self, table: Callable[[str], pl.DataFrame], way: Way) -> list[str]:
        """From the tables of publications and clients: what the broker had, and did not get rid of."""
        import polars as pl

        speaker = f"{way.voice}-{way.name}"
        rows = table("publications").filter(pl.col("flow").cast(pl.String) == speaker)
        first = rows.filter(pl.col("first_delivered_ns").is_not_null()).get_column("message").min()
        stayed = rows.filter(pl.col("broker_ns").is_not_null(), pl.col("first_delivered_ns").is_null())
        early = (stayed if first is None else stayed.filter(pl.col("message") < first)).height
        found = []
        if early:
            found.append(f"{_frames(early)} came to the broker before the listener had subscribed")
        clients = table("clients").filter(
            pl.col("flow").cast(pl.String).is_in([speaker, f"{speaker}-listener"])
        )
        if ends := int(clients.get_column("connections_lost").sum()):
            found.append(f"a connection to the broker was lost {ends} time{'' if ends == 1 else 's'}")
        unsent = rows.filter(pl.col("broker_ns").is_null()).height
        if under_way := stayed.height - early + unsent:
            found.append(f"{_frames(under_way)} had not come when the run ended, or the connection did")
        return found

    def scenario(self, network: Network, ways: Sequence[Way], wants: Wants) -> dict[str, Any]:
        """A publisher and a subscriber for each direction."""
        wants.refuse_repair(self.name)
        if any(size == 0 for way in ways for size in way.sizes):
            raise CallError(
                "in sim, mqtt publishes at a constant rate, and a voice with DTX has frames that are not "
                "sent; over the kernel (--backend real) it can be"
            )
        network, broker = _with_broker(network)
        tcp = {"nagle": False}
        processes: list[dict[str, Any]] = []
        for way in ways:
            topic = f"{way.voice}/{way.name}"
            processes += [
                {
                    "name": f"{way.voice}-{way.name}-listener",
                    "host": way.to,
                    "tcp": tcp,
                    "app": {"kind": "subscriber", "broker": broker, "filters": [topic]},
                },
                {
                    "name": f"{way.voice}-{way.name}",
                    "host": way.from_,
                    "tcp": tcp,
                    "app": {
                        "kind": "publisher",
                        "broker": broker,
                        "topic": topic,
                        "size": [f"{size} B" for size in way.sizes],
                        "interval": f"{way.frame_ns} ns",
                        "messages": len(way.sizes),
                        "start": f"{way.times.lead_ns} ns",
                    },
                },
            ]
        # A frame that waits for a connection to come back may be minutes late, and is not waited for.
        ends = max(way.gone_ns for way in ways)
        return {**with_flows(network, processes=processes), "duration": f"{ends} ns"}

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """Both ends go to the broker, which is the scenario's, or ours at a host of its own."""
        wants.refuse_repair(self.name)
        network, broker = _with_broker(network)
        return Carrier("mqtt", broker, [f"{way.voice}/{way.name}"], network, _PORT, counts=True)

    def packets(self, way: Way, wants: Wants) -> None:
        """None that have frames: a byte stream."""
        del way, wants

    def arrivals(self, rows: pl.DataFrame, way: Way) -> Arrivals:
        """From the table of publications; speech begins when the broker has accepted the speaker."""
        import polars as pl

        rows = rows.filter(pl.col("flow").cast(pl.String) == f"{way.voice}-{way.name}")
        found = Arrivals.nothing(way)
        number = rows.get_column("message").cast(pl.Int64).to_numpy()
        captured = rows.get_column("published_ns").cast(pl.Int64).to_numpy()
        if len(number):
            found.captured[:] += captured[0] - found.captured[number[0]]
        found.sent[number] = captured
        found.complete[number] = (
            rows.get_column("first_delivered_ns").cast(pl.Int64).fill_null(NEVER).to_numpy()
        )
        return found


def _frames(count: int) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"


def _with_broker(network: Network) -> tuple[Network, str]:
    """The network with a broker, and its host."""
    processes = network.data.get("processes", [])
    known = [process["host"] for process in processes if process["app"]["kind"] == _BROKER]
    known += [name for name, host in network.data.get("hosts", {}).items() if host.get("listens") == _PORT]
    if known:
        return network, known[0]
    if not network.is_link:
        raise CallError(
            "there is no broker in the scenario: give it a process of the kind broker or, over the kernel, a "
            f"program that listens = {_PORT}"
        )
    # Behind the link a router leads to the broker and to the listener, so other traffic finds its way, too.
    link = {"name": "link", "ends": [network.here, _ROUTER], **network.data["topology"]["link"]}
    data = {
        **network.data,
        "topology": {
            "kind": "explicit",
            "hosts": [network.here, _BROKER, network.there],
            "routers": [_ROUTER],
            "links": [link, {"ends": [_ROUTER, _BROKER]}, {"ends": [_ROUTER, network.there]}],
        },
        "hosts": {**network.data["hosts"], _BROKER: {"profile": "linux"}},
        "processes": [
            {"name": _BROKER, "host": _BROKER, "tcp": {"nagle": False}, "app": {"kind": _BROKER}},
        ],
    }
    from dataclasses import replace

    return replace(network, data=data), _BROKER
