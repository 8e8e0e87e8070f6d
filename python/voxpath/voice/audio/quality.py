"""Quality as models of listeners hear it: PESQ (ITU-T P.862.2, wideband) and STOI (Taal et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voxpath.extras import install
from voxpath.voice.audio.problems import AudioError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE_HZ = 16000
"""That wideband PESQ is defined for."""


@dataclass(frozen=True)
class Quality:
    """What models of listeners say.

    Attributes:
        pesq: Mean opinion score, 1.0 to 4.6.
        stoi: Intelligibility, 0 to 1.
    """

    pesq: float
    stoi: float


def judge(reference: NDArray[np.int16], degraded: NDArray[np.int16]) -> Quality:
    """Judges a version of a recording of 16 kHz, of the same length.

    Raises:
        AudioError: The models are not installed, or find no speech.
    """
    try:
        from pesq import NoUtterancesError, pesq
        from pystoi import stoi
    except ImportError:
        raise AudioError(f"PESQ and STOI are not installed: {install('vowels')}") from None
    one, other = (values.astype(np.float64) / 32768 for values in (reference, degraded))
    try:
        mos = float(pesq(RATE_HZ, one, other, "wb"))
    except NoUtterancesError:
        raise AudioError("PESQ finds no speech in the recording") from None
    return Quality(mos, float(stoi(one, other, RATE_HZ)))
