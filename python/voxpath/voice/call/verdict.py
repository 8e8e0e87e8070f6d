"""A call in a sentence."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

from voxpath.sweeps.pool import processors
from voxpath.voice.call import delay
from voxpath.voice.call.buffer import ADAPTIVE
from voxpath.voice.call.measures import MEASURES
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import judge, unheard, unrated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.voice.call.delay import Delay
    from voxpath.voice.call.measures.base import Score
    from voxpath.voice.call.measures.conversation import Judged
    from voxpath.voice.call.path import Call
    from voxpath.voice.call.talk import Talk

_WORDS = ((4.5, "excellent"), (3.5, "good"), (2.5, "fair"), (1.5, "poor"), (0.0, "bad"))
"""From where on an opinion is called so: the nearest of P.800's five."""
_SPOILS = 5.0
"""Less of R is not worth a word."""
_BURSTS = 1.3
"""From this BurstR on losses come in bursts."""


def word(mos: float) -> str:
    """The nearest word of P.800's scale, of an opinion as it is printed."""
    return next(name for least, name in _WORDS if float(f"{mos:.1f}") >= least)


@dataclass(frozen=True)
class Verdict:
    """What is said of one direction.

    Attributes:
        sentence: In words.
        scores: By the names of the measures.
        delay: From mouth to ear.
        sections_s: Where each section begins that models of listeners judge; none if they judge it all.
    """

    sentence: str
    scores: Mapping[str, Score]
    delay: Delay | None
    sections_s: Sequence[float] | None = None


def judged(call: Call, talk: Talk, names: Sequence[str]) -> Verdict:
    """Judges one direction by some measures."""
    evidence = Evidence(talk, call.codec, call.buffer["kind"] == ADAPTIVE)
    return Verdict(sentence(evidence), scores(evidence, names), delay.of(talk), evidence.sections)


def sentence(evidence: Evidence) -> str:
    """How good one direction is, and whose fault what is not so good."""
    if (why := unheard(evidence.talk)) is not None:
        return f"nothing is heard: {why}"
    if (judged := judge(evidence)) is None:
        return f"not rated: {unrated(evidence)}"
    return told(judged) + ("" if evidence.doubt is None else f"; {evidence.doubt}")


def told(judged: Judged) -> str:
    """What the E-model says of a direction, in words."""
    mos = judged.rating.mos
    outside = " (beyond the E-model's range)" if judged.beyond else ""
    return f"{word(mos)}, {mos:.1f}: {_causes(judged)}{outside}"


def _causes(judged: Judged) -> str:
    losses = (
        "frames that come too late"
        if judged.late > 0.5
        else "packets larger than a link's MTU"
        if judged.too_large > 0.5
        else "bursts of loss"
        if judged.burst_r >= _BURSTS
        else "lost packets"
    )
    parts = {
        losses: judged.of_loss,
        "delay": judged.of_delay,
        "the codec": judged.codec,
        "the echo": judged.of_echo,
    }
    ranked = sorted(parts.items(), key=lambda part: -part[1])
    worst = ranked[0][1]
    if worst < _SPOILS:
        return "nothing spoils it"
    causes = [name for name, size in ranked if size >= max(_SPOILS, worst / 2)]
    told = " and ".join(causes)
    # Of the two that networks are blamed for, the one that is not it is named.
    innocent = {losses: "delay", "delay": "loss"}.get(causes[0])
    share = {"delay": judged.of_delay, "loss": judged.of_loss}.get(innocent or "", worst)
    return f"{told}, not {innocent}" if len(causes) == 1 and share < worst / 4 else told


def scores(evidence: Evidence, names: Sequence[str]) -> dict[str, Score]:
    """What measures say of a direction, by their names; the slow ones are asked in processes of their own."""
    slow = [name for name in names if MEASURES[name].slow]
    if len(slow) < 2:
        return {name: MEASURES[name].score(evidence) for name in names}
    with ProcessPoolExecutor(min(len(slow), processors()), get_context("spawn")) as pool:
        needed = _needed(evidence)
        asked = {name: pool.submit(_score, name, needed) for name in slow}
        found = {name: MEASURES[name].score(evidence) for name in names if name not in asked}
        found |= {name: future.result() for name, future in asked.items()}
    return {name: found[name] for name in names}


def _needed(evidence: Evidence) -> Evidence:
    """Without what the slow measures do not ask for: an hour of it is copied into each process."""
    talk = evidence.talk
    # What the codec makes of it is found while its sound is there.
    _ = evidence.mute
    encoded = replace(talk.encoded, frames=(), copies=())
    return replace(evidence, talk=replace(talk, encoded=encoded, clean=talk.clean[:0]))


def _score(name: str, evidence: Evidence) -> Score:
    return MEASURES[name].score(evidence)
