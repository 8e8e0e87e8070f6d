"""A call as a page: the verdict, what was heard over time, how long it took, who says how good it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath import _engine
from voxpath.document import (
    Axis,
    Cell,
    Curve,
    Facts,
    Lead,
    Plot,
    Report,
    Section,
    Sound,
    Table,
    Verbatim,
    VoiceFrame,
    VoiceMark,
    VoicePath,
)
from voxpath.voice.call import buffer as jitter
from voxpath.voice.call.measures import MEASURES
from voxpath.voice.call.player import MISSING, Fate
from voxpath.voice.call.transports.base import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voxpath.document import VoiceFate
    from voxpath.voice.call.delay import Delay
    from voxpath.voice.call.path import Call
    from voxpath.voice.call.talk import Talk
    from voxpath.voice.call.verdict import Verdict

LONGEST_S = 60.0
"""Of the sounds in a page; of a longer call the minute stands there in which most was missing."""

_MARKED: dict[Fate, VoiceFate] = {Fate.RECOVERED: "recovered", Fate.LATE: "late", Fate.LOST: "lost"}
_TOLD = {
    "recovered": "recovered from the copy in the packet after it",
    "late": "came too late, concealed",
    "lost": "never came, concealed",
}
_WHO = {"there": "There", "back": "Back"}


def numbers(talk: Talk, verdict: Verdict) -> Table:
    """What a terminal and the page show of a direction."""
    heard, sent = talk.heard, int(talk.sent.sum())
    missing = heard.count(*MISSING)
    network, late = _never_came(talk), _late(talk)
    delay = verdict.delay

    def share(count: int) -> str:
        return f"{100 * count / sent:.1f} %" if sent else "no frame was sent"

    rows: list[list[str | Cell]] = []
    if talk.said.notes:
        rows.append(["recording", f"{talk.said.rate_hz} samples/s", "; ".join(talk.said.notes)])
    if delay is not None:
        rows += [
            ["delay, mouth to ear", f"{delay.total_ms:.0f} ms", _shares(delay)],
            [
                "delay of the network",
                f"{delay.network_ms:.0f} ms",
                f"90 % of the frames from {delay.network_p5_ms:.0f} to {delay.network_p95_ms:.0f} ms",
            ],
        ]
    rows += [
        [
            "never came",
            share(network),
            "; ".join([f"{network} of {sent} frames", *_errors(talk), *talk.arrivals.remarks]),
        ],
        ["came too late", share(late), f"{late} frames"],
        [
            "concealed",
            share(missing),
            f"{missing} frames, after {heard.count(Fate.RECOVERED)} were recovered from the next packet"
            if any(talk.encoded.copies)
            else f"{missing} frames",
        ],
    ]
    if heard.count(Fate.UNSENT):
        rows.append(["not sent", str(heard.count(Fate.UNSENT)), "frames in which nobody speaks (DTX)"])
    if unconnected := heard.count(Fate.UNCONNECTED):
        why = "frames for which there was no connection, or the other end was not heard of"
        rows.append(["could not be sent", str(unconnected), why])
    if talk.echo is not None:
        rows += talk.echo.rows(None if delay is None else delay.total_ms)
    rows += [
        [MEASURES[name].title, score.text, score.reason or MEASURES[name].scale]
        for name, score in verdict.scores.items()
    ]
    title = f"{talk.said.name}, {talk.said.duration_s:.1f} s, from {talk.way.from_} to {talk.way.to}"
    return Table(title, ["", "value", "of which"], rows)


def talk_told(talk: Talk, verdict: Verdict) -> dict[str, Any]:
    """The same for programs: delays in milliseconds, frames by their fate, scores by their measure."""
    heard, delay = talk.heard, verdict.delay
    total_ms = None if delay is None else delay.total_ms
    return {
        "from": talk.way.from_,
        "to": talk.way.to,
        "said": talk.said.name,
        "rate_hz": talk.said.rate_hz,
        "notes": list(talk.said.notes),
        "duration_s": talk.said.duration_s,
        "sentence": verdict.sentence,
        "delay": None if delay is None else {**asdict(delay), "total_ms": total_ms},
        "frames": {
            "sent": int(talk.sent.sum()),
            "never_came": _never_came(talk),
            "errors": dict(talk.arrivals.errors),
            "remarks": list(talk.arrivals.remarks),
            "late": _late(talk),
            "recovered": heard.count(Fate.RECOVERED),
            "concealed": heard.count(*MISSING),
            "unsent": heard.count(Fate.UNSENT),
            "unconnected": heard.count(Fate.UNCONNECTED),
        },
        "sections_s": verdict.sections_s,
        "scores": {name: asdict(score) for name, score in verdict.scores.items()},
        "echo": None if talk.echo is None else talk.echo.told(total_ms),
    }


def _never_came(talk: Talk) -> int:
    return int((talk.sent & (talk.arrivals.complete == NEVER)).sum())


def _late(talk: Talk) -> int:
    """Frames that came after they were due, those among them whose copy had been played, too."""
    came = talk.arrivals.complete != NEVER
    return int((came & np.isin(talk.heard.fates, (Fate.LATE, Fate.RECOVERED))).sum())


def _errors(talk: Talk) -> list[str]:
    """What the sender's socket told of lost packets."""
    counts = sorted(talk.arrivals.errors.items())
    told = ", ".join(f"{name} {count} time{'' if count == 1 else 's'}" for name, count in counts)
    return [f"the sender's socket told of {told}"] if told else []


def _shares(delay: Delay) -> str:
    return ", ".join(f"{name} {ms:.1f}" for name, ms in delay.shares if abs(ms) >= 0.05)


def report(call: Call, verdicts: Sequence[Verdict], command: str) -> Report:
    """The page.

    Args:
        call: The call.
        verdicts: Of each direction.
        command: That makes it again.
    """
    first, one = call.talks[0], verdicts[0]
    sections = [
        Section("Numbers", [numbers(talk, each) for talk, each in zip(call.talks, verdicts, strict=True)])
    ]
    sections += [
        Section(f"{_WHO[talk.way.name]}: {each.sentence}", [_picture(talk)])
        for talk, each in list(zip(call.talks, verdicts, strict=True))[1:]
    ]
    sections += [
        Section("Delay", [_distribution(talk) for talk in call.talks]),
        Section("Measures", [_measures(one)]),
        Section("The call", [_facts(call), Verbatim("scenario", _scenario(call))]),
    ]
    return Report(
        f"{first.said.name} over {call.transport.name}: {call.network.told}",
        "What does the other side hear, and what did the network do to it?",
        [],
        sections,
        [("command", command), ("engine", _engine.BUILD), ("run", call.folder.name)],
        Lead(one.sentence[:1].upper() + one.sentence[1:] + ".", _picture(first)),
    )


def _scenario(call: Call) -> str:
    """Without the thousands of sizes."""
    lines = call.document.text.splitlines()
    return "\n".join(line if len(line) < 400 else f"{line[:200]} … {line[-40:]}" for line in lines)


def _facts(call: Call) -> Facts:
    talk = call.talks[0]
    rate = talk.encoded.bits_per_second / 1000
    return Facts(
        "How it was made",
        [
            ("said", "; ".join([talk.said.name, f"{talk.said.rate_hz} samples/s", *talk.said.notes])),
            ("codec", f"{talk.encoded.told}; {rate:.1f} kbit/s without headers"),
            ("transport", f"{call.transport.about}; adds {call.transport.framing}"),
            ("network", call.network.told),
            ("jitter buffer", jitter.told(call.buffer)),
            ("seed", str(call.document.scenario.seed)),
        ],
    )


def _measures(verdict: Verdict) -> Table:
    rows = [
        [
            MEASURES[name].title,
            score.text,
            MEASURES[name].scale,
            MEASURES[name].standard,
            MEASURES[name].valid,
        ]
        for name, score in verdict.scores.items()
    ]
    return Table(
        "Each with its standard, and what it is made for",
        ["measure", "value", "scale", "standard", "made for"],
        rows,
    )


def _distribution(talk: Talk) -> Plot:
    came = talk.arrivals.complete != NEVER
    delays = np.sort((talk.arrivals.complete - talk.arrivals.captured)[came] / 1e6)
    shares = 100 * (1 - np.arange(1, len(delays) + 1) / max(int(talk.sent.sum()), 1))
    keep: list[int] = []
    if len(delays):
        keep = np.unique(np.linspace(0, len(delays) - 1, min(len(delays), 500)).astype(int)).tolist()
    curves = [
        Curve(
            "frames not there yet",
            [float(delays[at]) for at in keep],
            [max(0.0, float(shares[at])) for at in keep],
            style="steps",
        )
    ]
    wait = talk.heard.wait[talk.sent] / 1e6
    if len(wait):
        middle = float(np.median(wait))
        curves.append(
            Curve("median of when they are due", [middle, np.nextafter(middle, np.inf)], [0.0, 100.0])
        )
    return Plot(
        f"{_WHO[talk.way.name]}: how many frames are not there after so long",
        "From when each frame was captured. The vertical line is the median of when they are due: right of "
        "it they are too late. What the curve ends above never came.",
        Axis("delay", "ms"),
        Axis("frames not there", "%"),
        curves,
    )


def _picture(talk: Talk) -> VoicePath:
    rate = talk.encoded.rate_hz
    begin, end = _window(talk)
    first = int(np.searchsorted(talk.heard.begins + talk.encoded.frame, begin, "right"))
    last = int(np.searchsorted(talk.heard.begins, end, "left"))
    marks = list(_marks(talk, first, last, begin))
    frames = [
        VoiceFrame(
            max(0.0, (int(talk.heard.begins[at]) - begin) / rate),
            None
            if talk.arrivals.complete[at] == NEVER
            else float(talk.arrivals.complete[at] - talk.arrivals.captured[at]) / 1e6,
            float(talk.heard.wait[at]) / 1e6,
        )
        for at in range(first, last)
        if talk.sent[at]
    ]
    heard = talk.heard.values[begin:end]
    said = talk.said.at(rate)[begin:end]
    sounds = [
        _sound("what was said", "The recording itself.", said, rate),
        _sound("what was heard", f"After {talk.encoded.told}, and the network.", heard, rate),
    ]
    clean = talk.clean[begin:end]
    if (
        len(clean) == len(heard)
        and talk.heard.begins[-1]
        == len(talk.heard.begins) * talk.encoded.frame - talk.encoded.frame - talk.encoded.lookahead
    ):
        difference = heard.astype(np.int32) - clean
        told = "What was heard less what the same codec gives when nothing is lost."
        sounds.append(
            _sound("what the network did", told, np.clip(difference, -32768, 32767).astype(np.int16), rate)
        )
    if talk.echo is not None:
        told = "What would be heard if there were no loudspeaker at the other end."
        sounds.append(_sound("without the echo", told, talk.echo.alone[begin:end], rate))
    part = (
        ""
        if end - begin >= len(talk.heard.values)
        else f" The minute from {begin / rate:.0f} s on, in which most was missing."
    )
    return VoicePath(
        "What was heard",
        "Click anywhere to hear it from there, and change the player to compare." + part,
        sounds,
        1,
        marks,
        frames,
    )


def _window(talk: Talk) -> tuple[int, int]:
    """The samples that are shown."""
    length, most = len(talk.heard.values), int(LONGEST_S * talk.encoded.rate_hz)
    if length <= most:
        return 0, length
    missing = np.concatenate(([0], np.cumsum(np.isin(talk.heard.fates, MISSING))))
    ends = np.searchsorted(talk.heard.begins, talk.heard.begins + most)
    worst = int(np.argmax(missing[ends] - missing[:-1]))
    begin = min(max(0, int(talk.heard.begins[worst])), length - most)
    return begin, begin + most


def _marks(talk: Talk, first: int, last: int, begin: int) -> Iterator[VoiceMark]:
    """Frames of one fate in a row, on the axis of what is shown."""
    rate, at = talk.encoded.rate_hz, first
    while at < last:
        fate = _MARKED.get(Fate(int(talk.heard.fates[at])))
        if fate is None:
            at += 1
            continue
        after = at
        while after < last and talk.heard.fates[after] == talk.heard.fates[at]:
            after += 1
        since = max(0.0, (int(talk.heard.begins[at]) - begin) / rate)
        until = since + (after - at) * talk.encoded.frame / rate
        count = after - at
        frames = "1 frame" if count == 1 else f"{count} frames"
        yield VoiceMark(
            since, until, fate, f"{since:.2f} s: {frames}, {1000 * (until - since):.0f} ms: {_TOLD[fate]}"
        )
        at = after


def _sound(name: str, text: str, values: NDArray[np.int16], rate: int) -> Sound:
    return Sound(name, text, rate, [(values / 32767).tolist()])
