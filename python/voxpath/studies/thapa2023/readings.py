"""What "the header lengths of each packet" may have been: which way of counting gives what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Cell as Shown
from voxpath.document import Check, Checks, Table
from voxpath.results.decisions import above, all_of, within
from voxpath.results.intervals import summarise
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.claims import limit
from voxpath.studies.thapa2023.measures import AGGREGATE_NS, MSS
from voxpath.studies.thapa2023.questions import ENDS, SIM, Cell
from voxpath.studies.thapa2023.scenario import INTERNET, LAN, MQTT, NETWORKS, SENDER, SOCKET, payloads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.document import Mark, Part
    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.thapa2023.offload import Seen
    from voxpath.studies.thapa2023.questions import Found, Taken

    Count = Callable[[Taken, str], float]


def _wire(taken: Taken, end: str) -> float:
    return taken.header[end]


def _own(taken: Taken, end: str) -> float:
    return taken.out[end]


def _data_way(taken: Taken, end: str) -> float:
    return taken.out[SENDER] if end == SENDER else taken.header[end] - taken.out[end]


def _ack_way(taken: Taken, end: str) -> float:
    return taken.header[end] - _data_way(taken, end)


def _offloaded(taken: Taken, end: str) -> float:
    return taken.offloaded[end]


def _both_hops(taken: Taken, end: str) -> float:  # noqa: ARG001
    return sum(taken.header.values())


READINGS: Mapping[str, tuple[Count, Count]] = {
    "every packet on the wire, as the publication defines it": (_wire, _wire),
    "only packets that the host sends": (_own, _own),
    "only packets in the direction of the data": (_data_way, _data_way),
    "only packets against the direction of the data": (_ack_way, _ack_way),
    "captures above segmentation and receive offload": (_offloaded, _offloaded),
    "such captures of the socket, the wire for MQTT": (_offloaded, _wire),
    "such captures of the socket, both hops of MQTT on the wire": (_offloaded, _both_hops),
}
"""How headers of the socket and of MQTT are counted."""


def _ratios(found: Found, one: Sequence[tuple[Cell, Count]], end: str) -> Summary | None:
    (cell, count), (other, other_count) = one
    pairs = zip(found.runs(cell, SIM), found.runs(other, SIM), strict=False)
    values = [count(taken, end) / other_count(reference, end) for taken, reference in pairs]
    return summarise(values) if values else None


def table(found: Found) -> tuple[Table, list[str]]:
    """Each reading, and the names of those that give all that is said of headers."""
    rows: list[list[str | Shown]] = []
    fits: list[str] = []
    smallest, *_, largest = payloads()
    near, order = limit("steady"), limit("order")
    for name, (of_socket, of_mqtt) in READINGS.items():
        row: list[str | Shown] = [name]
        verdicts: list[Decision] = []
        for network in NETWORKS:
            growths = [
                [
                    _ratios(
                        found,
                        [(Cell(network, way, largest), count), (Cell(network, way, smallest), count)],
                        end,
                    )
                    for end in ENDS
                ]
                for way, count in ((SOCKET, of_socket), (MQTT, of_mqtt))
            ]
            over = [
                _ratios(
                    found, [(Cell(network, MQTT, one), of_mqtt), (Cell(network, SOCKET, one), of_socket)], end
                )
                for one in payloads()
                for end in ENDS
            ]
            flat = all_of(within(growth, 1 - near, 1 + near) for growth in growths[network != LAN])
            tenfold = all_of(above(ratio, order) for ratio in over)
            told = [", ".join(shown(growth) for growth in some) for some in growths]
            least, most = _extremes(over)
            row += [
                Shown(told[0], _mark(flat) if network == LAN else None, "sender, receiver"),
                Shown(told[1], _mark(flat) if network == INTERNET else None, "sender, receiver"),
                Shown(f"{least} to {most}", _mark(tenfold), "over all payloads and both captures"),
            ]
            verdicts += [flat, tenfold]
        rows.append(row)
        fits += [name] if all(verdict for verdict in verdicts) else []
    columns = ["what is counted"]
    for network in NETWORKS:
        columns += [f"{network}: socket grows", f"{network}: MQTT grows", f"{network}: MQTT over socket"]
    return (
        Table(
            f"Ways of counting headers: {largest} over {smallest}, and MQTT over the socket",
            columns,
            rows,
            [
                "Green: constant (the socket, LAN), steady (MQTT, Internet), ten times or more.",
                _MODEL,
            ],
        ),
        fits,
    )


_MODEL = (
    f"Offload here is a model: contiguous data within {AGGREGATE_NS / 1e6:g} ms, the longest frame of "
    "802.11n, is captured as one packet of up to 64 KiB, and its acknowledgments as one."
)


def _extremes(values: Sequence[Summary | None]) -> tuple[str, str]:
    means = [value.mean for value in values if value is not None]
    return (f"{min(means):.3g}", f"{max(means):.3g}") if means else ("", "")


def _mark(decision: Decision) -> Mark:
    if decision is None:
        return "open"
    return "good" if decision else "bad"


def contradictions(found: Found) -> list[Check]:
    """What the text excludes by itself: by arithmetic, and by what no network does."""
    payload = max(payloads().values())
    segments = -(-payload // (MSS + 12))
    least = 20 * segments
    handful = 60 * 12
    return [
        Check(
            "The metric excludes the constant: on the wire, headers of TCP grow with the payload, for a bare "
            "socket too.",
            least > 10 * handful,
            f"{payload} octets are {segments} segments of 1460 at least, with {least} octets of headers; "
            f"one octet needs a dozen packets at most, {handful} octets if all had every option",
        ),
        _networks(found, payload),
    ]


def _networks(found: Found, octets: int) -> Check:
    largest = next(name for name, size in payloads().items() if size == octets)
    smallest = next(iter(payloads()))
    told, decisions = [], []
    for network in NETWORKS:
        pair = [(Cell(network, MQTT, largest), _wire), (Cell(network, MQTT, smallest), _wire)]
        ratios = [_ratios(found, pair, end) for end in ENDS]
        decisions += [above(ratio, limit("order")) for ratio in ratios]
        told.append(
            f"{network}: " + ", ".join(f"{end} {shown(one)}" for end, one in zip(ENDS, ratios, strict=True))
        )
    return Check(
        "That MQTT's headers grow in the LAN and not on the Internet (Figures 4 and 6) is not of the "
        "networks: in both they grow by more than an order of magnitude.",
        all_of(decisions),
        f"{largest} over {smallest}: " + "; ".join(told),
    )


def of_devices(seen: Sequence[Seen]) -> list[Part]:
    """What captures at a device show, with offload and without, and what follows."""
    smallest, *_, largest = payloads()
    by_case = {(one.way, one.payload, one.offload): one for one in seen}
    rows: list[list[str | Shown]] = [
        [
            one.way,
            one.payload,
            "on" if one.offload else "off",
            str(one.packets),
            str(one.largest),
            str(one.header_bytes),
        ]
        for one in seen
    ]
    whole, cut = by_case[SOCKET, largest, True], by_case[SOCKET, largest, False]
    small, mqtt = by_case[SOCKET, smallest, True], by_case[MQTT, largest, False]
    order, near = limit("order"), limit("steady")
    grown = whole.header_bytes / small.header_bytes
    return [
        Table(
            "Captures at the sender's own device, both ways, on real hosts",
            [
                "way",
                "payload",
                "segmentation offload",
                "packets",
                "largest IP packet, B",
                "headers of TCP, B",
            ],
            rows,
            ["Two network namespaces and a pair of virtual Ethernet devices; mosquitto is the broker."],
        ),
        Checks(
            "Offload",
            [
                Check(
                    f"A capture above segmentation offload misses nine tenths of the headers, for "
                    f"{largest} by a socket.",
                    whole.header_bytes * order < cut.header_bytes,
                    f"{whole.header_bytes} octets of {cut.header_bytes}",
                ),
                Check(
                    "Such a capture alone makes a socket's headers constant.",
                    within((grown, grown), 1 - near, 1 + near),
                    f"{largest} have {grown:.3g} times the headers of {smallest}; on the wire "
                    f"{cut.header_bytes / by_case[SOCKET, smallest, False].header_bytes:.3g} times",
                ),
                Check(
                    "Candidate, sufficient but not proved: a socket that was captured above offload beside "
                    f"MQTT that was not makes the order of magnitude of Figure 4, for {largest}.",
                    mqtt.header_bytes >= order * whole.header_bytes,
                    f"{mqtt.header_bytes} octets against {whole.header_bytes}",
                ),
            ],
        ),
    ]
