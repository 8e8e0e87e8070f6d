"""Models of listeners over the sections of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.voice.call.measures.base import LEAST_S, Score

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from voxpath.voice.call.measures.base import Evidence


def mean(
    evidence: Evidence,
    rate_hz: int,
    judge: Callable[[NDArray[np.int16], NDArray[np.int16]], float | None],
    least_s: float,
    digits: int = 2,
) -> Score:
    """The mean over sections in which the model finds speech.

    Args:
        evidence: What is judged.
        rate_hz: That the model hears.
        judge: The model, of what was said and what was heard; none where it finds no speech.
        least_s: Without which the model says nothing.
        digits: That are shown.
    """
    if evidence.speechless is not None:
        return Score.none(evidence.speechless)
    if evidence.mute is not None:
        return Score.none(evidence.mute)
    if not evidence.talk.heard.values.any():
        return Score.none("nothing is heard")
    if evidence.talk.said.duration_s < least_s:
        return Score.none(f"the recording is shorter than the {least_s:g} s that the model needs")
    found = [score for said, heard in evidence.pairs(rate_hz) if (score := judge(said, heard)) is not None]
    if not found:
        return Score.none("the model finds no speech")
    told = []
    if evidence.talk.said.duration_s < LEAST_S:
        told.append(
            f"the recording has {evidence.talk.said.duration_s:.1f} s, and the model is made for at least "
            f"{LEAST_S:g} s"
        )
    if evidence.sections is not None:
        told.append(f"judged by {evidence.places}")
        if len(found) < len(evidence.sections):
            told.append(f"in {len(evidence.sections) - len(found)} of these the model finds no speech")
    if len(found) > 1:
        told.append(f"mean of scores from {min(found):.{digits}f} to {max(found):.{digits}f}")
    if evidence.doubt is not None:
        told.append(evidence.doubt)
    if evidence.talk.echo is not None:
        told.append("the echo in it counts as noise, for which the model is not made")
    if evidence.adapts:
        told.append("the adaptive jitter buffer stretches time, for which the model is not made")
    value = sum(found) / len(found)
    return Score(f"{value:.{digits}f}", value, "; ".join(told))
