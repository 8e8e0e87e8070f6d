"""What a codec of a call is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from voxpath.voice.call.recording import Recording


@dataclass(frozen=True)
class Wish:
    """What is asked of a codec; none is what it does by itself.

    Attributes:
        bitrate: In bit/s.
        frame_ns: Length of a frame.
        fec: Whether packets may carry a copy of the frame before.
        dtx: Whether nothing is sent of frames in which nobody speaks.
    """

    bitrate: int | None = None
    frame_ns: int | None = None
    fec: bool | None = None
    dtx: bool = False


@dataclass(frozen=True)
class Encoded:
    """A recording as frames.

    Attributes:
        told: What made it, in words.
        rate_hz: Samples per second of what is decoded.
        samples: Of the recording, at this rate.
        frame: Samples of a frame.
        frames: Octets of each; empty where nothing is sent.
        lookahead: Samples by which the decoder's output is late: encoder and decoder together.
        copies: Whether each frame's packet carries a copy of the frame before.
        rtp: The name of the encoding and its clock, as an SDP's rtpmap has them.
    """

    told: str
    rate_hz: int
    samples: int
    frame: int
    frames: Sequence[bytes]
    lookahead: int
    copies: Sequence[bool]
    rtp: str = "L16/8000"

    @property
    def clock_hz(self) -> int:
        """Ticks of RTP's clock."""
        return int(self.rtp.split("/")[1])

    @property
    def frame_ns(self) -> int:
        """Length of a frame."""
        return self.frame * 1_000_000_000 // self.rate_hz

    @property
    def bits_per_second(self) -> float:
        """Of the frames, without any header."""
        return 8e9 * sum(map(len, self.frames)) / (len(self.frames) * self.frame_ns)


class Decoder(Protocol):
    """A decoder's state: every frame is asked for once, in order, by one of these ways."""

    def play(self, frame: bytes) -> NDArray[np.int16]:
        """A frame that is there."""
        ...

    def recover(self, following: bytes) -> NDArray[np.int16]:
        """A lost frame, from the copy in the frame after it."""
        ...

    def conceal(self) -> NDArray[np.int16]:
        """A guess at a frame that is lost, or was not sent."""
        ...


@dataclass(frozen=True)
class Impairment:
    """What the E-model knows of a codec.

    Attributes:
        ie: Equipment impairment factor.
        bpl: Packet-loss robustness factor.
        source: Where both stand.
    """

    ie: float
    bpl: float
    source: str


class Codec(Protocol):
    """A codec.

    Attributes:
        name: By which it is chosen.
        about: A line for help.
        impairment: What the E-model knows; none where no recommendation has it.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    impairment: ClassVar[Impairment | None]

    def encode(self, recording: Recording, wish: Wish) -> Encoded:
        """Encodes a recording.

        Raises:
            CallError: The codec cannot do what is asked of it.
        """
        ...

    def decoder(self, encoded: Encoded) -> AbstractContextManager[Decoder]:
        """A decoder that has heard nothing yet."""
        ...
