"""The E-model of what was heard, and which share of the impairment is whose."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.voice.call import delay, emodel, player
from voxpath.voice.call.codecs.base import Impairment
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.measures.pesq import Pesq
from voxpath.voice.call.player import MISSING, Fate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.measures.base import Evidence
    from voxpath.voice.call.talk import Talk

_LOST, _LEAST_LOST, _MOST_PATTERNS = 0.1, 50, 8
"""Where a codec's Bpl is derived: the share of the frames that are lost, and how many at least, all ways
together, of which there are no more than the last. Our choice."""
_NOBODY = emodel.rate(emodel.Connection())
"""The default connection, which nothing impairs."""


@dataclass(frozen=True)
class Judged:
    """R and what it is made of.

    Attributes:
        rating: Of the connection.
        codec: Ie without loss.
        derived: Ie and Bpl that come from PESQ, where no recommendation has the codec.
        burst_r: Of what is concealed.
        late: Share of the concealed frames that came too late.
        of_echo: What the echo of the listener's own words takes from R.
        beyond: What is beyond the ranges that G.107 permits, in words.
        too_large: Share of the concealed frames whose packet is larger than the MTU of a link.
    """

    rating: emodel.Rating
    codec: float
    derived: Impairment | None
    burst_r: float
    late: float
    of_echo: float = 0.0
    beyond: tuple[str, ...] = ()
    too_large: float = 0.0

    @property
    def of_loss(self) -> float:
        """What losses take from R."""
        return max(0.0, self.rating.ie_eff - self.codec)

    @property
    def of_delay(self) -> float:
        """What delay takes from R."""
        return max(0.0, self.rating.id_ - _NOBODY.id_ - self.of_echo)


def judge(evidence: Evidence) -> Judged | None:
    """R of one direction.

    None where there is a reason against it (`unrated`).
    """
    if Conversation.name not in evidence.known:
        evidence.known[Conversation.name] = _judge(evidence)
    judged: Judged | None = evidence.known[Conversation.name]
    return judged


def _judge(evidence: Evidence) -> Judged | None:
    judged = _rated(evidence)
    if judged is None or not evidence.talk.too_large:
        return judged
    missing = max(1, evidence.talk.heard.count(*MISSING))
    return replace(judged, too_large=min(1.0, evidence.talk.too_large / missing))


def _rated(evidence: Evidence) -> Judged | None:
    talk = evidence.talk
    way = delay.of(talk)
    if way is None or unrated(evidence) is not None:
        return None
    missing = np.isin(talk.heard.fates, MISSING)
    sent = missing[talk.sent]
    late = talk.heard.count(MISSING[0]) / max(1, int(missing.sum()))
    total_ms = way.total_ms
    connection = emodel.of_delay(total_ms)
    of_echo = 0.0
    if talk.echo is not None:
        silent, connection = emodel.rate(connection), talk.echo.connection(connection, total_ms)
        of_echo = max(0.0, emodel.rate(connection).id_ - silent.id_)
    known = evidence.codec.impairment
    if known is not None:
        return _judged(known, connection, sent, late, of_echo)
    derived = _derived(evidence)
    return _judged(derived, connection, sent, late, of_echo, derived)


def rated(known: Impairment, total_ms: float, missing: NDArray[np.bool_], late: float) -> Judged:
    """R of a codec that a recommendation has, without an echo.

    Args:
        known: What the recommendation says.
        total_ms: From mouth to ear.
        missing: Whether each frame that was sent is concealed; at least one is not.
        late: Share of these that came too late.
    """
    return _judged(known, emodel.of_delay(total_ms), missing, late, 0.0)


def _judged(
    known: Impairment,
    connection: emodel.Connection,
    missing: NDArray[np.bool_],
    late: float,
    of_echo: float,
    derived: Impairment | None = None,
) -> Judged:
    burst_r = emodel.burst_ratio(missing.tolist())
    outside = tuple(emodel.beyond(100 * float(missing.mean()), burst_r, connection.ta_ms))
    ppl, rated_burst_r = emodel.losses(missing.tolist(), known.bpl)
    lossy = replace(connection, ie=known.ie, bpl=known.bpl, ppl=ppl, burst_r=rated_burst_r)
    return Judged(emodel.rate(lossy), known.ie, derived, burst_r, late, of_echo, outside)


def unheard(talk: Talk) -> str | None:
    """Why nothing was heard in a direction; none where something was."""
    if talk.heard.count(Fate.PLAYED, Fate.RECOVERED):
        return None
    if not talk.sent.any():
        return "no frame was sent, since nothing came from the other end"
    if talk.too_large == int(talk.sent.sum()):
        return "every packet is larger than the MTU of a link"
    return "no frame came" if talk.heard.count(Fate.LATE) == 0 else "no frame came in time"


def beyond(talk: Talk) -> str | None:
    """Why the E-model does not rate the echo in a direction; none where it does, or there is none."""
    way = delay.of(talk)
    return None if talk.echo is None or way is None else talk.echo.beyond(way.total_ms)


def unrated(evidence: Evidence) -> str | None:
    """Why a direction has no R; none where it has one."""
    why = unheard(evidence.talk) or evidence.speechless or evidence.mute or beyond(evidence.talk)
    if why is not None or evidence.codec.impairment is not None:
        return why
    best = _lossless(evidence)
    if best.value is not None:
        return None
    return f"no recommendation has an Ie of this codec, and PESQ does not apply: {best.reason}"


def _quiet(talk: Talk) -> Encoded:
    """The frames of what is said, without an echo."""
    return talk.encoded if talk.echo is None else talk.echo.quiet


def _lossless(evidence: Evidence) -> Score:
    """PESQ's score of what is said, without the network."""
    key = f"{Conversation.name} without the network"
    if key not in evidence.known:
        talk, encoded = evidence.talk, _quiet(evidence.talk)
        clean = talk.clean if talk.echo is None else player.clean(evidence.codec, encoded)
        evidence.known[key] = _opinion(evidence, encoded, clean)
    score: Score = evidence.known[key]
    return score


def _derived(evidence: Evidence) -> Impairment:
    """Ie and Bpl of a codec by PESQ's scores of this recording, without the network (as P.834 does).

    Ie is that of the recording without loss; Bpl is that with which (7-29) gives the mean Ie,eff where one
    frame of ten is lost. What the network loses changes neither. So more loss makes no R better, which
    PESQ's score of what was heard can be.
    """
    encoded, best = _quiet(evidence.talk), _lossless(evidence)
    if best.value is None:
        raise AssertionError("what has no score is not rated")
    ie = _equipment(best.value)
    if not np.isin(evidence.talk.heard.fates, MISSING).any():
        return Impairment(ie, emodel.MOST_BPL, "PESQ")
    places = np.flatnonzero([bool(frame) for frame in encoded.frames])
    count = max(1, round(_LOST * len(places)))
    found = []
    for seed in range(min(_MOST_PATTERNS, math.ceil(_LEAST_LOST / count))):
        lost = np.zeros(len(encoded.frames), np.bool_)
        lost[np.random.default_rng(seed).choice(places, count, replace=False)] = True
        ppl = 100 * count / len(places)
        opinion = _opinion(evidence, encoded, player.lossy(evidence.codec, encoded, lost)).value
        # Where PESQ hears nothing any more, nothing is left of the speech.
        impaired = emodel.MOST_IE if opinion is None else _equipment(opinion)
        found.append((ppl, ppl / emodel.burst_ratio(lost[places].tolist()), impaired))
    ppl, spread, effective = (float(one) for one in np.mean(found, axis=0))
    return Impairment(ie, emodel.bpl_of(ie, effective, ppl, spread), "PESQ")


def _opinion(evidence: Evidence, encoded: Encoded, values: NDArray[np.int16]) -> Score:
    """PESQ's score of samples in place of what was heard, the echo left out."""
    talk = evidence.talk
    if talk.echo is None and np.array_equal(values, talk.heard.values):
        return Pesq().score(evidence)
    heard = replace(talk.heard, values=values)
    other = replace(talk, encoded=encoded, heard=heard, echo=None)
    return Pesq().score(replace(evidence, talk=other, known={}))


def _equipment(mos: float) -> float:
    """The Ie of which a listener's score would come, in a connection without anything else."""
    return max(0.0, _NOBODY.r - emodel.r_of(mos))


class Conversation:
    """R and MOS-CQE of the narrow-band E-model."""

    name: ClassVar[str] = "emodel"
    title: ClassVar[str] = "E-model, MOS-CQE"
    standard: ClassVar[str] = "ITU-T G.107 (06/2015), Ie and Bpl of G.113"
    valid: ClassVar[str] = (
        "for planning, with a handset and an echo of 65 dB TELR as by default; means over the call; "
        "the only one here that hears delay"
    )
    scale: ClassVar[str] = "1.0 to 4.5"
    slow: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Score:
        """With the share of each impairment."""
        if (judged := judge(evidence)) is None:
            return Score.none(str(unrated(evidence)))
        told = (
            f"R = {judged.rating.r:.1f}: delay takes {judged.of_delay:.1f}, losses {judged.of_loss:.1f}, "
            f"the codec {judged.codec:.1f}"
        )
        if evidence.talk.echo is not None:
            told += f", the echo {judged.of_echo:.1f}"
        if evidence.doubt is not None:
            told += f"; {evidence.doubt}"
        if judged.beyond:
            told += f"; beyond the range of G.107: {', '.join(judged.beyond)}"
        if (derived := judged.derived) is not None:
            told += "; no recommendation has this codec: Ie"
            told += f" and Bpl ({derived.bpl:.1f}) are" if judged.of_loss else " is"
            told += " derived from PESQ's scores of this recording without the network (as P.834 does)"
        return Score(f"{judged.rating.mos:.2f}", judged.rating.mos, told)
