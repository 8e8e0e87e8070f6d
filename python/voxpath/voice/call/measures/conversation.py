"""The E-model of what was heard, and which share of the impairment is whose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.voice.call import delay, emodel
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.measures.pesq import Pesq
from voxpath.voice.call.player import MISSING, Heard

if TYPE_CHECKING:
    from voxpath.voice.call.measures.base import Evidence

_NOBODY = emodel.rate(emodel.Connection())
"""The default connection, which nothing impairs."""


@dataclass(frozen=True)
class Judged:
    """R and what it is made of.

    Attributes:
        rating: Of the connection.
        codec: Ie without loss.
        derived: Whether Ie,eff comes from PESQ, since no recommendation has the codec.
        burst_r: Of what is concealed.
        late: Share of the concealed frames that came too late.
    """

    rating: emodel.Rating
    codec: float
    derived: bool
    burst_r: float
    late: float

    @property
    def of_loss(self) -> float:
        """What losses take from R."""
        return max(0.0, self.rating.ie_eff - self.codec)

    @property
    def of_delay(self) -> float:
        """What delay takes from R."""
        return max(0.0, self.rating.id_ - _NOBODY.id_)


def judge(evidence: Evidence) -> Judged | None:
    """R of one direction; none where no Ie is known and none can be derived."""
    talk = evidence.talk
    missing = np.isin(talk.heard.fates, MISSING)
    sent = missing[talk.sent]
    burst_r = emodel.burst_ratio(sent.tolist())
    late = talk.heard.count(MISSING[0]) / max(1, int(missing.sum()))
    connection = emodel.of_delay(delay.of(talk).total_ms)
    known = evidence.codec.impairment
    if known is not None:
        loss = 100 * float(sent.mean())
        connection = replace(connection, ie=known.ie, bpl=known.bpl, ppl=loss, burst_r=burst_r)
        return Judged(emodel.rate(connection), known.ie, False, burst_r, late)
    heard = Pesq().score(evidence).value
    if heard is None:
        return None
    effective = _equipment(heard)
    codec = effective
    if missing.any():
        undisturbed = replace(
            talk, heard=Heard(talk.clean, talk.heard.fates, talk.heard.wait, talk.heard.begins)
        )
        best = Pesq().score(replace(evidence, talk=undisturbed, known={})).value
        codec = effective if best is None else min(effective, _equipment(best))
    return Judged(emodel.rate(replace(connection, ie=effective)), codec, True, burst_r, late)


def _equipment(mos: float) -> float:
    """The Ie of which a listener's score would come, in a connection without anything else."""
    return max(0.0, _NOBODY.r - emodel.r_of(mos))


class Conversation:
    """R and MOS-CQE of the narrow-band E-model."""

    name: ClassVar[str] = "emodel"
    title: ClassVar[str] = "E-model, MOS-CQE"
    standard: ClassVar[str] = "ITU-T G.107 (06/2015), Ie and Bpl of G.113"
    valid: ClassVar[str] = (
        "for planning, with a handset and an echo of 65 dB TELR as by default; means over the call, whatever "
        "was said; the only one here that hears delay"
    )
    scale: ClassVar[str] = "1.0 to 4.5"
    slow: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Score:
        """With the share of each impairment."""
        judged = judge(evidence)
        if judged is None:
            return Score.none("no recommendation has an Ie of this codec, and PESQ does not apply")
        told = (
            f"R = {judged.rating.r:.1f}: delay takes {judged.of_delay:.1f}, losses {judged.of_loss:.1f}, "
            f"the codec {judged.codec:.1f}"
        )
        if judged.derived:
            told += "; no recommendation has an Ie of this codec: Ie,eff gives PESQ's score (as P.834 does)"
        return Score(f"{judged.rating.mos:.2f}", judged.rating.mos, told)
