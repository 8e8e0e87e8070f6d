"""Figures 4 and 5 as ours, their numbers, and what the delay of a result consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Axis, Cell, Check, Checks, Curve, Plot, Table
from voxpath.results.decisions import within
from voxpath.results.intervals import quantile, ratio, summarise
from voxpath.studies.base import shown
from voxpath.studies.ramli2018 import machine
from voxpath.studies.ramli2018.claims import factor, session
from voxpath.studies.ramli2018.questions import REAL
from voxpath.studies.ramli2018.scenario import (
    ROOMY,
    SETTINGS,
    SETTLED_S,
    WATCHED_S,
    published,
    share_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.document import Part
    from voxpath.studies.ramli2018.measured import Measured
    from voxpath.studies.ramli2018.questions import Found, Way
    from voxpath.studies.ramli2018.scenario import Setting

_LENGTH = Axis("speech length", "s")


def figure4(found: Found, ways: Sequence[Way]) -> Plot:
    """Latency over length."""
    return _over_length(
        found,
        ways,
        "Figure 4: latency of each setting",
        "From the opening of the connection to the final result, the file sent as fast as TCP takes it.",
        Axis("latency", "s"),
        session,
    )


def figure5(found: Found, ways: Sequence[Way]) -> Plot:
    """Real-time factor over length."""
    return _over_length(
        found,
        ways,
        "Figure 5: real-time factor of each setting",
        "Total: from the first octet sent to the final result, per second of speech, unpaced. Below 1 is "
        "real time.",
        Axis("real-time factor"),
        factor,
    )


def decoding(found: Found, ways: Sequence[Way]) -> Plot:
    """The other real-time factor."""
    return _over_length(
        found,
        ways,
        "Real-time factor of decoding alone",
        "The recogniser's time per second of speech: the definition that the text gives.",
        Axis("real-time factor"),
        lambda one: one.decoding_factor,
    )


def live(found: Found, ways: Sequence[Way]) -> Plot:
    """What who speaks waits for."""
    return _over_length(
        found,
        ways,
        "Live: from the last audio to the final result",
        "Audio is sent as it is spoken; what is left to do after it is the end of decoding, and two ways.",
        Axis("delay", "s"),
        lambda one: one.response_s,
    )


def _over_length(
    found: Found,
    ways: Sequence[Way],
    title: str,
    caption: str,
    axis: Axis,
    of: Callable[[Measured], float],
) -> Plot:
    curves = [_curve(found, way, setting, of) for way in ways for setting in found.settings(way)]
    return Plot(title, f"{caption} Means with 95 % intervals.", _LENGTH, axis, curves)


def _curve(found: Found, way: Way, setting: Setting, of: Callable[[Measured], float]) -> Curve:
    lengths = found.lengths(way, setting)
    summaries = [summarise(found.values(way, setting, of, name)) for name in lengths]
    ends = [summary.interval or (summary.mean, summary.mean) for summary in summaries]
    return Curve(
        f"{setting.name}, {way.name}",
        list(lengths.values()),
        [summary.mean for summary in summaries],
        [low for low, _ in ends],
        [high for _, high in ends],
        "points" if way.source == REAL else "line",
        setting.name,
    )


def numbers(found: Found, ways: Sequence[Way]) -> Table:
    """Both figures utterance by utterance."""
    rows: list[list[str | Cell]] = []
    for way in ways:
        for setting in found.settings(way):
            for name, length in found.lengths(way, setting).items():
                told = [
                    shown(summarise(found.values(way, setting, of, name)))
                    for of in (session, factor, lambda one: one.decoding_factor)
                ]
                rows.append([way.name, str(setting.number), name, f"{length:.2f}", *told])
    return Table(
        "Figures 4 and 5 in numbers",
        ("way", "setting", "utterance", "length, s", "latency, s", "factor, total", "factor, decoding"),
        rows,
    )


def backgrounds(found: Found) -> list[Part]:
    """What the sources lose that are to lose as much as is set elsewhere."""
    share = published()["background"]["share"]
    rows: list[list[str | Cell]] = []
    checks = []
    for setting in SETTINGS:
        lost = found.background_loss(setting)
        if lost is None:
            continue
        aim = share_of(setting.loss)
        off = lost.mean / aim - 1
        rows.append([setting.name, sources(setting), f"{shown(lost.scaled(100))} %"])
        checks.append(
            Check(
                f"{setting.name}: the background alone loses that, within {100 * share:g} %.",
                within(lost, aim * (1 - share), aim * (1 + share)),
                f"{shown(lost.scaled(100))} % ({100 * off:+.0f} %)",
            )
        )
    if not rows:
        return []
    return [
        Table(
            "Loss of the background alone",
            ("setting", "sources", "found"),
            rows,
            (f"For {WATCHED_S} s from {SETTLED_S} s on: what is lost as all begin at once is over by then.",),
        ),
        Checks("Loss of the background", checks),
    ]


def sources(setting: Setting) -> str:
    """The background of a setting, in words."""
    return f"{setting.background.bulk} transfers, {setting.background.web} web sources"


def losses(found: Found, ways: Sequence[Way]) -> list[Part]:
    """What was set, or aimed at, and what came of it."""
    share = published()["set"]["share"]
    checks = []
    rows: list[list[str | Cell]] = []
    for way in ways:
        for setting in found.settings(way):
            lost = found.loss(way, setting)
            made = sources(setting) if way.produced else "set"
            rows.append([way.name, setting.name, made, "" if lost is None else f"{lost.scaled(100)} %"])
            if lost is not None and not way.produced:
                aim = share_of(setting.loss)
                checks.append(
                    Check(
                        f"{way.name}, {setting.name}: so much is lost, within {100 * share:g} %.",
                        within(lost, aim * (1 - share), aim * (1 + share)),
                        f"{lost.scaled(100)} %",
                        found.doubt(way, [setting]),
                    )
                )
    table = Table(
        "Loss of packets to the servers at the bottleneck",
        ("way", "setting", "by", "found"),
        rows,
        (
            "The background's sources send the way of the speech: packets are lost on that way alone.",
            "Of whole runs: what the background loses as it begins is in it, and a file's own slow start.",
            f"Where loss is set, the queue is of {ROOMY}, so that nothing else is lost.",
        ),
    )
    return [table, Checks("Loss that is set", checks)] if checks else [table]


def waits(found: Found, ways: Sequence[Way]) -> Table:
    """Live: quantiles of the wait, and of what it consists."""
    rows: list[list[str | Cell]] = []
    for way in ways:
        for setting in found.settings(way):
            values = [one.response_s for one in found.measured(way, setting)]
            rows.append(
                [
                    way.name,
                    setting.name,
                    str(len(values)),
                    *(str(quantile(values, p).scaled(1e3)) for p in (0.5, 0.95)),
                ]
            )
    return Table(
        "Live: from the last audio to the final result, ms",
        ("way", "setting", "utterances", "median", "95 %"),
        rows,
        ("With the order-statistic interval of each quantile.",),
    )


def edges(found: Found, bridge: Way, tun: Way) -> Table | None:
    """A client behind a bridge beside one without."""
    rows: list[list[str | Cell]] = []
    for setting in found.settings(tun):
        for way in (bridge, tun):
            summary = found.summary(way, setting, session)
            if summary is not None:
                rows.append([setting.name, way.name, shown(summary)])
    if not rows:
        return None
    return Table("The client's edge: mean latency, s", ("setting", "way", "latency"), rows)


def transcripts(found: Found, ways: Sequence[Way]) -> list[Part]:
    """What the real recogniser understood."""
    rows: list[list[str | Cell]] = []
    heard: dict[str, set[str]] = {}
    for way in ways:
        for setting in found.settings(way):
            known = [one for one in found.measured(way, setting) if one.errors is not None]
            for one in known:
                heard.setdefault(one.utterance, set()).add(one.transcript)
            rates = [one.errors for one in known if one.errors is not None]
            if rates:
                rows.append([way.name, setting.name, str(len(rates)), shown(summarise(rates))])
    if not rows:
        return []
    several = [name for name, texts in heard.items() if len(texts) > 1]
    return [
        Table("Word error rate", ("way", "setting", "utterances", "rate"), rows),
        Checks(
            "Transcripts",
            [
                Check(
                    "What is understood of an utterance is the same in every setting.",
                    not several,
                    f"{len(heard)} utterances" + (f"; several of {', '.join(several)}" if several else ""),
                )
            ],
        ),
    ]


def beside(found: Found) -> list[Part]:
    """Real sessions beside simulated ones with a decoder as fast, both without what decoding takes."""
    share = published()["beside"]["share"]
    rows: list[list[str | Cell]] = []
    checks = []
    for (real, number), simulated in found.alike.items():
        setting = SETTINGS[number - 1]
        heard = found.lengths(real, setting)
        medians = [
            quantile([one.network_s for one in found.measured(way, setting) if one.utterance in heard], 0.5)
            for way in (real, simulated)
        ]
        rows.append(
            [
                real.name,
                setting.name,
                *map(str, medians),
                machine.shown(machine.waited(found.outcomes(real, setting))),
                shown(summarise([one.decoding_factor for one in found.measured(real, setting)])),
                f"{simulated.faster:g}",
            ]
        )
        off = medians[0].value / medians[1].value - 1
        checks.append(
            Check(
                f"{real.name}, {setting.name}: what is not decoding takes what is simulated, within "
                f"{100 * share:g} %.",
                within(ratio(*medians), 1 - share, 1 + share),
                f"{medians[0].value:.3f} s, simulated {medians[1].value:.3f} s ({100 * off:+.0f} %)",
                found.doubt(real, [setting]),
            )
        )
    if not rows:
        return []
    return [
        Table(
            "Real beside simulated: the session without decoding, median, s",
            (
                "way",
                "setting",
                "real",
                "simulated",
                "short of processors",
                "real-time factor of decoding, real",
                "its speed beside the recorded one",
            ),
            rows,
            (
                "A real recogniser on a busy machine waits for its processor: that counts as decoding.",
                "Audio that comes meanwhile costs nothing: the simulated one is as fast as the real one was.",
                "Short of processors: the part of the run in which something on the machine waited for one.",
            ),
        ),
        Checks("Real beside simulated", checks),
    ]
