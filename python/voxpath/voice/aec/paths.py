"""The four echo paths of two loudspeakers and two microphones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve

if TYPE_CHECKING:
    from voxpath.voice.aec.samples import Samples


@dataclass(frozen=True)
class Paths:
    """Impulse responses from each loudspeaker to each microphone, (1) and (2) of Ficiu et al. 2023.

    Attributes:
        left_left: From the left loudspeaker to the left microphone.
        left_right: From the left loudspeaker to the right microphone.
        right_left: From the right loudspeaker to the left microphone.
        right_right: From the right loudspeaker to the right microphone.
    """

    left_left: Samples
    left_right: Samples
    right_left: Samples
    right_right: Samples

    @property
    def all(self) -> Samples:
        """All four, one after another."""
        return np.concatenate([self.left_left, self.left_right, self.right_left, self.right_right])

    def inverted(self) -> Paths:
        """With every sign changed, as in Fig. 1."""
        return Paths(-self.left_left, -self.left_right, -self.right_left, -self.right_right)

    def swapped(self) -> Paths:
        """With the microphones interchanged, as in Fig. 2; (17) is meant simultaneously."""
        return Paths(self.left_right, self.left_left, self.right_right, self.right_left)

    def cut(self, length: int) -> Paths:
        """Their first `length` samples."""
        return Paths(*(path[:length] for path in self._four))

    def echo(self, far: Samples) -> Samples:
        """What the microphones hear of the loudspeakers: rows are left and right."""
        left, right = far
        count = far.shape[1]
        return np.stack(
            [
                (fftconvolve(left, self.left_left) + fftconvolve(right, self.right_left))[:count],
                (fftconvolve(left, self.left_right) + fftconvolve(right, self.right_right))[:count],
            ]
        )

    @property
    def _four(self) -> tuple[Samples, Samples, Samples, Samples]:
        return (self.left_left, self.left_right, self.right_left, self.right_right)
