"""One direction of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.voice.call.transports.base import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.echo import Echo
    from voxpath.voice.call.player import Heard
    from voxpath.voice.call.recording import Recording
    from voxpath.voice.call.transports.base import Arrivals, Way


@dataclass(frozen=True)
class Talk:
    """One direction of a call.

    Attributes:
        way: What was sent, and between whom.
        said: The recording.
        encoded: Its frames.
        clean: What would be heard if every frame were there.
        arrivals: When frames were there.
        heard: What was heard.
        echo: Of the listener's own words in it, if the other end has a loudspeaker.
        too_large: How many frames never came whose packet is larger than the MTU of a link.
    """

    way: Way
    said: Recording
    encoded: Encoded
    clean: NDArray[np.int16]
    arrivals: Arrivals
    heard: Heard
    echo: Echo | None = None
    too_large: int = 0

    @property
    def sent(self) -> NDArray[np.bool_]:
        """Which frames were sent."""
        sent: NDArray[np.bool_] = self.arrivals.sent != NEVER
        return sent
