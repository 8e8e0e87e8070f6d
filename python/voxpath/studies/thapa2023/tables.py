"""Every cell in numbers: headers, times, ratios, and sizes by three answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Cell as Shown
from voxpath.document import Table
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.claims import against_socket, header, seconds
from voxpath.studies.thapa2023.measures import data_segments, stream_bytes
from voxpath.studies.thapa2023.questions import ENDS, REAL, SIM, Cell
from voxpath.studies.thapa2023.scenario import NETWORKS, WAYS, payloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from voxpath.results.intervals import Summary
    from voxpath.studies.thapa2023.questions import Found, Taken


def _ms(summary: Summary | None) -> str:
    return shown(summary.scaled(1e3)) if summary else ""


def overview(found: Found, title: str) -> Table:
    """For the terminal: both ways side by side."""
    rows: list[list[str | Shown]] = []
    for network in NETWORKS:
        for payload in payloads():
            for end in ENDS:
                rows.append([network, payload, end])
                for value, show in ((header(end), shown), (seconds(end), _ms)):
                    means = [found.mean(Cell(network, way, payload), value) for way in WAYS]
                    times = against_socket(found, network, payload, value)
                    rows[-1] += [*(show(mean) for mean in means), shown(times)]
    return Table(
        title,
        [
            "network",
            "payload",
            "capture",
            "headers B, socket",
            "MQTT",
            "times",
            "time ms, socket",
            "by MQTT",
            "times as long",
        ],
        rows,
    )


def efficiency(found: Found) -> Table:
    """Header-to-payload ratio and goodput, as the publication's list of metrics has them."""
    rows: list[list[str | Shown]] = []
    for network in NETWORKS:
        for payload, octets in payloads().items():
            for end in ENDS:
                rows.append([network, payload, end])
                for way in WAYS:
                    cell = Cell(network, way, payload)

                    def part(taken: Taken, end: str = end, octets: int = octets) -> float:
                        return taken.header[end] / octets

                    def rate(taken: Taken, end: str = end, octets: int = octets) -> float:
                        return octets * 8 / taken.seconds[end] / 1e6

                    rows[-1] += [shown(found.mean(cell, part)), shown(found.mean(cell, rate))]
    return Table(
        "Header-to-payload ratio, and goodput: the payload over the time of Figures 5 and 7",
        [
            "network",
            "payload",
            "capture",
            "socket: headers / payload",
            "goodput Mbit/s",
            "MQTT: headers / payload",
            "goodput, Mbit/s",
        ],
        rows,
    )


def sizes(found: Found) -> Table:
    """The closed form of what TCP carries, the simulator's and the programs' side by side."""
    rows: list[list[str | Shown]] = []
    tested = {cell._replace(source=None) for cell in found.cells(REAL)}
    for cell in sorted(tested, key=lambda cell: (cell.network, cell.way, payloads()[cell.payload])):
        rows += [_sizes(found, cell, end) for end in ENDS]
    return Table(
        "Sizes by three answers: closed form, simulator, and programs on real hosts",
        [
            "network",
            "way",
            "payload",
            "capture",
            "octets over TCP: form",
            "simulated",
            "real",
            "segments with data: form",
            "simulated ",
            "real ",
            "TCP headers: simulated",
            "real  ",
        ],
        rows,
        [
            "Programs are Python's sockets, mosquitto, mosquitto_pub and mosquitto_sub.",
            "The form counts no retransmissions, and segments that are as full as they can be.",
            "Our publisher writes a message of QoS 0 and DISCONNECT at once; mosquitto_pub does not.",
        ],
    )


def _sizes(found: Found, cell: Cell, end: str) -> list[str | Shown]:
    octets = payloads()[cell.payload]
    of_real = [one for one in found.cells(REAL) if one._replace(source=None) == cell]

    def both(value: Callable[[Taken], float]) -> list[str | Shown]:
        real = [shown(found.mean(one, value, REAL)) for one in of_real]
        return [shown(found.mean(cell, value, SIM)), "; ".join(dict.fromkeys(real))]

    return [
        cell.network,
        cell.way,
        cell.payload,
        end,
        str(stream_bytes(cell.way, octets, end)),
        *both(lambda taken: taken.stream[end]),
        str(data_segments(cell.way, octets, end)),
        *both(lambda taken: taken.segments[end]),
        *both(header(end)),
    ]
