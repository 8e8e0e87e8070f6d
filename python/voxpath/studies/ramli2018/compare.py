"""The study: asks, draws, judges each sentence of the text, maps the working region, and makes the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Facts, Lead, Report, Section, Table, Text
from voxpath.studies.base import Answer, Study, checks_of, decided, held, origin, pictured, shown
from voxpath.studies.ramli2018 import candidates, claims, figures, machine, push, region, segmenter
from voxpath.studies.ramli2018.questions import (
    FILE_FAST,
    FILE_PRODUCED,
    FILE_SET,
    FULL,
    LIVE_PRODUCED,
    LIVE_SET,
    QUICK,
    REAL,
    REAL_LIVE,
    REAL_PRODUCED,
    REAL_SET,
    REAL_TUN,
    SECOND,
    SIM,
    SIMULATED,
    ask_all,
)
from voxpath.studies.ramli2018.scenario import SETTINGS, Network, first_reading, published, second_reading
from voxpath.voice.speech.samples import SampleError, samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voxpath.document import Part
    from voxpath.studies.base import Ask
    from voxpath.studies.ramli2018.questions import Effort, Found, Way

_NOT_ASKED = Text(("Not asked: this part needs the backends sim or real.",))


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything at once.

    Raises:
        RuntimeError: The recorded speech is not there, or a real client failed.
    """
    effort = QUICK if quick else FULL
    try:
        samples("sample:prompts")
    except SampleError as error:
        raise RuntimeError(str(error)) from error
    found = ask_all(ask, effort)
    sections = [
        _set_up(found, effort, quick),
        Section("Figures 4 and 5", _figures(found)),
        Section("The publication's sentences", _claims(found)),
        Section("What would make setting 1 slower than speech", candidates.parts(found.changed)),
        Section("Live speech", _live(found)),
        Section("Beyond: the working region", _region(found)),
    ]
    told = [*warnings(found, found.ways), *_found(found)]
    replications = f"{effort.replications} simulated, {effort.real_replications} real"
    tally = held(checks_of(sections))
    report = Report(
        "Speech recognition over TCP: Ramli and Jarin 2018",
        "When is recognition across a network that delays and loses packets still in real time, and what "
        "decides that: how long one speaks, the loss, the delay, or the recogniser?",
        [*told, tally],
        sections,
        origin("ramli2018", quick, replications=replications),
        Lead(
            _sentence(found, tally),
            pictured(sections, region.map_of(found.region, region.FACTOR).title)
            if found.region.simulated
            else pictured(sections),
            str(published()["claims"]["good"]["text"]),
        ),
    )
    return Answer(_terminal(found, [*told, tally]), [], report)


def _sentence(found: Found, tally: str) -> str:
    """How far the network may go before recognition is no longer in real time."""
    here = found.region
    if not here.simulated:
        return tally
    (change, *_) = region.MAPPED
    by_limit: dict[str, list[str]] = {}
    for round_trip in (50, 120, 300):
        if round_trip in here.effort.round_trips:
            limit = region.up_to(here, region.FACTOR, change, round_trip)
            by_limit.setdefault(limit, []).append(f"{round_trip} ms")
    told = [f"{limit} at a round trip of {' or '.join(at)}" for limit, at in by_limit.items()]
    good = claims.of_way(found, FILE_SET).get("good") if FILE_SET in found.ways else None
    begun = "" if good is None or good.set_aside else f"{decided(good)} in the simulator. "
    return f"{begun}With {change} a file is recognised in real time {', '.join(told)}."


def _answered(found: Found, *ways: Way) -> list[Way]:
    return [way for way in ways if way in found.ways]


def _told(network: Network) -> str:
    loss = network.loss
    return (
        f"{network.bottleneck_ms:g} ms at the bottleneck, {network.access_ms:g} ms at each access link, "
        f"{network.rate}, queue of {network.queue}, loss {loss}"
    )


def _set_up(found: Found, effort: Effort, quick: bool) -> Section:
    text = published()["text"]
    rows = [
        [
            str(setting.number),
            f"{setting.round_trip_ms} ms",
            setting.loss,
            _told(first_reading(setting, produced=False)),
            _told(second_reading(setting, produced=False)),
            figures.sources(setting),
        ]
        for setting in SETTINGS
    ]
    table = Table(
        "The four settings (Table 1 is lost: these are ours)",
        ("setting", "delay", "loss", "first reading", "second reading", "background where it makes the loss"),
        rows,
        (
            "A 2 × 2 design: the reading that agrees with the text. Loss is on the way of the speech alone.",
            "First reading: 50 and 120 ms are propagation both ways.",
            "Second reading: access links have 20 ms as printed; 50 and 120 ms are the bottleneck's one way.",
        ),
    )
    facts = Facts(
        "Set-up",
        (
            ("network", f"dumbbell, access links of {text['access_rate']} with {text['access_queue']}"),
            ("background", f"endless transfers and web sources of {text['web_connections']} users each"),
            ("speech", "ten prompts of 2 to 30 s, 16 kHz, 256 kbit/s (Table 2 is lost: these are ours)"),
            (
                "recogniser",
                "PocketSphinx; simulated: a queue with service times recorded on other utterances",
            ),
            (
                "client",
                "WebSocket, blocks of 250 ms, NODELAY; real ones by TAP and bridge as published, or by TUN",
            ),
            ("stacks", "of speech Linux (CUBIC), of the background rfc (NewReno)"),
        ),
    )
    said = [
        (
            "Latency is counted from the opening of the connection to the final result, as a browser tells "
            "it of a WebSocket. Two real-time factors are given. The text defines decoding time over speech "
            "length; but its Figure 5 depends on the network, so that it has to hold the network. Total is "
            "from the first octet sent to the final result, where the file is sent as fast as TCP takes it: "
            "sent as it is spoken, it would be above 1 whatever the network does."
        ),
    ]
    if quick:
        said.append(
            f"This is the quick version: {effort.replications} simulated replications where the full one has "
            f"{FULL.replications}, real runs of {len(effort.utterances)} utterances in "
            f"{sum(map(len, effort.real.values()))} cells where it has {len(FULL.utterances)} in "
            f"{sum(map(len, FULL.real.values()))}, and a smaller map without the contours of other choices."
        )
    parts: list[Part] = [facts, table, Text(said), *figures.backgrounds(found)]
    ways = _answered(found, *SIMULATED, *effort.real)
    if ways:
        parts += figures.losses(found, ways)
    return Section("Set-up and reading", parts)


def _figures(found: Found) -> list[Part]:
    simulated = _answered(found, FILE_PRODUCED)
    real = _answered(found, REAL_PRODUCED)
    both = [*simulated, *real]
    if not both:
        return [_NOT_ASKED]
    parts: list[Part] = [
        figures.figure4(found, both),
        figures.figure5(found, both),
        figures.decoding(found, both),
        figures.numbers(found, [*both, *_answered(found, FILE_SET, REAL_SET)]),
    ]
    words = figures.transcripts(found, _answered(found, REAL_PRODUCED, REAL_SET, REAL_TUN, REAL_LIVE))
    edges = figures.edges(found, REAL_PRODUCED, REAL_TUN)
    return [
        *parts,
        *figures.beside(found),
        *words,
        *([edges] if edges is not None else []),
    ]


def _claims(found: Found) -> list[Part]:
    ways = _answered(found, FILE_SET, FILE_PRODUCED, SECOND, FILE_FAST, REAL_PRODUCED, REAL_SET)
    if not ways:
        return [_NOT_ASKED]
    return [claims.matrix(found, ways), *claims.checks(found, ways)]


def _live(found: Found) -> list[Part]:
    ways = _answered(found, LIVE_SET, LIVE_PRODUCED, REAL_LIVE)
    if not ways:
        return [_NOT_ASKED]
    pushed = push.table(*found.pushed), push.checks(found.pushed.told)
    return [
        figures.live(found, ways),
        figures.waits(found, ways),
        *(part for part in pushed if part is not None),
        *segmenter.parts(found.cut),
    ]


def _region(found: Found) -> list[Part]:
    here = found.region
    if not here.simulated:
        return [_NOT_ASKED]
    parts: list[Part] = [
        Text(
            (
                f"{here.runs} simulated runs, one link, loss set and independent.",
                "A file can lose more in its own queue, which is of 100 packets here.",
            )
        ),
        region.map_of(here, region.FACTOR),
        region.contours(here, region.FACTOR),
        region.map_of(here, region.WAIT),
        region.contours(here, region.WAIT),
    ]
    points = region.check_points(here)
    return [*parts, *([points] if points is not None else [])]


def warnings(found: Found, ways: Sequence[Way]) -> Iterator[str]:
    """What is to be known before anything of the page is read."""
    short = [way.name for way in ways if found.doubt(way, found.settings(way))]
    if short:
        yield (
            f"The machine was short of processors: in {len(short)} of the ways on real hosts "
            f"({'; '.join(short)}) something waited for one in more than {100 * machine.MOST:.0f} % of a "
            "run. What these runs found is shown, and counts for nothing."
        )


def _found(found: Found) -> Iterator[str]:
    for way in _answered(found, FILE_PRODUCED, REAL_PRODUCED):
        told = []
        for setting in found.settings(way):
            latency, factor = (found.summary(way, setting, of) for of in (claims.session, claims.factor))
            told.append(f"setting {setting.number} {shown(latency)} s, {shown(factor)}")
        yield f"{way.name[0].upper()}{way.name[1:]}: latency and total real-time factor {'; '.join(told)}."
    here = found.region
    if here.simulated:
        for measure, what in (
            (region.FACTOR, "a file is recognised in real time"),
            (
                region.WAIT,
                "95 % of final results of live speech come within 1 s of the last audio",
            ),
        ):
            for change in region.MAPPED:
                told = [
                    f"{region.up_to(here, measure, change, round_trip)} at {round_trip} ms"
                    for round_trip in (50, 120, 300)
                    if round_trip in here.effort.round_trips
                ]
                yield f"With {change} {what}: {', '.join(told)}."


def _terminal(found: Found, notes: Sequence[str]) -> Table:
    ways = _answered(found, FILE_PRODUCED, FILE_FAST, REAL_PRODUCED)
    table = claims.matrix(found, ways)
    title = "Ramli and Jarin 2018: the sentences about results"
    return Table(title, table.columns, table.rows, notes, table.columns[:0:-1])


STUDY = Study(
    name="ramli2018",
    title="Ramli, Jarin: New ns-3-based Emulation Platform for Performance Evaluation of TCP-based Speech "
    "Recognition, IJTech 9(4), 2018",
    backends=(SIM, REAL),
    run=run,
)
