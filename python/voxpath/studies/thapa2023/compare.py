"""The study: asks, draws, judges each sentence of the text, and makes the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Checks, Facts, Lead, Report, Section, Text
from voxpath.studies.base import Answer, Study, checks_of, held, origin, pictured, shown
from voxpath.studies.thapa2023 import cited, claims, emergency, figures, later, offload, readings, tables
from voxpath.studies.thapa2023.claims import against_socket, header, seconds
from voxpath.studies.thapa2023.questions import FULL, QUICK, REAL, SIM, ask_all
from voxpath.studies.thapa2023.scenario import LAN, NETWORKS, RECEIVER, SENDER, payloads, published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voxpath.document import Part
    from voxpath.studies.base import Ask
    from voxpath.studies.thapa2023.questions import Effort, Found


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything at once."""
    effort = QUICK if quick else FULL
    found = ask_all(ask, effort)
    if not found.cells(SIM):
        raise RuntimeError("the study needs the backend sim: real hosts stand beside it")
    counted, fits = readings.table(found)
    sections = [
        _set_up(effort),
        Section("Figures 4 to 7", [*figures.all_of_them(found), tables.efficiency(found)]),
        Section("The publication's sentences", [Checks("Sentences", claims.of_figures(found))]),
        Section(
            "Why TCP's headers look constant",
            [
                counted,
                _readings_told(fits),
                Checks("Contradictions", readings.contradictions(found)),
                *_devices(found),
            ],
        ),
        Section("Simulated, real and computed", _sizes(found)),
        later.section(found.later),
        emergency.section(found.emergencies),
        cited.section(found.beside),
    ]
    told = [*_answer(found, fits), _held(sections)]
    report = Report(
        "TCP sockets and MQTT: Thapa, Sharma and McClellan 2023",
        "What does sending the same data through a broker cost beside a bare socket, in headers and in time?",
        told,
        sections,
        origin("thapa2023", quick, replications=f"{effort.replications} simulated, {effort.real} real"),
        Lead(
            _sentence(found),
            pictured(sections, "Figure 4"),
            "MQTT needs ten times the headers and twice the time of a bare TCP socket.",
        ),
    )
    spread = f"means and 95 % t-intervals of {effort.replications} runs"
    return Answer(tables.overview(found, f"Socket and MQTT, simulated: {spread}"), [], report)


def _held(sections: Sequence[Section]) -> str:
    return held(checks_of(sections))


_OPEN = (
    "The publication names neither rates, delays, losses, QoS, version nor topic. An access point repeats "
    "what stations send, so that the medium carries half of 40 Mbit/s."
)

_NONE = (
    "No way of counting gives all that is said of headers: a socket's that are constant, MQTT's that are ten "
    "times as large for one octet and for 1000 kB, and a growth that is in one network only."
)


def _set_up(effort: Effort) -> Section:
    iterations = published()["setup"]["iterations"]
    return Section(
        "Set-up",
        [
            Facts(
                "As we read it",
                (
                    ("payloads", ", ".join(payloads()) + "; a kB is 1000 octets"),
                    ("MQTT", "3.1.1, QoS 0, a topic of ten characters, one connection for each message"),
                    (LAN, "one medium that all stations share: 20 Mbit/s, 2 ms ± 0.5 ms; no loss"),
                    ("Internet", "20 Mbit/s, 10 ms ± 1 ms and 0.1 % loss between each host and the core"),
                    ("captures", "at the sender and at the receiver, of every packet, both ways"),
                    ("headers", "octets of TCP headers in a capture, with options"),
                    ("time", "from the sender's SYN to its last packet, or to the receiver's last data"),
                    ("runs", f"{effort.replications} of each cell; the publication has {iterations} or more"),
                ),
            ),
            Text((_OPEN,)),
        ],
    )


def _readings_told(fits: Sequence[str]) -> Text:
    if fits:
        return Text((f"All that is said of headers comes of: {'; '.join(fits)}.",))
    return Text((_NONE,))


def _devices(found: Found) -> list[Part]:
    if not found.cells(REAL):
        return []
    try:
        return readings.of_devices(offload.measure())
    except offload.OffloadError as error:
        return [Text((f"Captures with and without offload could not be made here: {error}.",))]


def _sizes(found: Found) -> list[Part]:
    if not found.cells(REAL):
        return [Text((f"There are no real hosts beside it: {found.without}.",))]
    return [tables.sizes(found), Checks("Real hosts", claims.of_sizes(found))]


def _sentence(found: Found) -> str:
    """What became of both halves of the claim, at the ends of what was sent."""
    smallest, *_, largest = payloads()
    headers, times = (
        " and ".join(
            f"{shown(against_socket(found, LAN, payload, measure))} (for {payload})"
            for payload in (smallest, largest)
        )
        for measure in (header(SENDER), seconds(RECEIVER))
    )
    return (
        f"In the LAN MQTT has {headers} times the socket's headers of TCP at the sender, and takes {times} "
        "times as long until the receiver has all."
    )


def _answer(found: Found, fits: Sequence[str]) -> Iterator[str]:
    smallest, *_, largest = payloads()
    for network in NETWORKS:
        small, large = (
            shown(against_socket(found, network, payload, seconds(RECEIVER)))
            for payload in (smallest, largest)
        )
        yield (
            f"{network}: until the receiver has all, MQTT takes {small} times as long as a socket for "
            f"{smallest}, {large} times for {largest}."
        )
    ratios = [against_socket(found, LAN, payload, header(SENDER)) for payload in (smallest, largest)]
    yield (
        f"At the sender MQTT has {shown(ratios[0])} times the socket's headers of TCP for {smallest}, "
        f"{shown(ratios[1])} times for {largest}: on the wire there is no order of magnitude between them."
    )
    if fits:
        yield f"What is published of headers comes of: {'; '.join(fits)}."
    else:
        yield "No way of counting packets gives all that is published of headers."


STUDY = Study(
    name="thapa2023",
    title="Thapa, Sharma, McClellan: Comparative Performance of TCP and MQTT, ICDT 2023",
    backends=(SIM, REAL),
    run=run,
)
