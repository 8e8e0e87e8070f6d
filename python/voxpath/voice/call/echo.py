"""Loudspeaker echo: what is heard at one end comes back from a room to whoever said it.

The second host has a loudspeaker and a microphone in a room, the first one a handset. The microphone takes
what is said at it and what the loudspeaker plays; a canceller may take the latter out again. The loss of this
echo path and its delay are the TELR and T of the E-model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.call import emodel
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import resampled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voxpath.document import Cell
    from voxpath.voice.aec.rooms import Place
    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.emodel import Connection
    from voxpath.voice.call.recording import Recording


@dataclass(frozen=True)
class Desk:
    """Where somebody speaks hands-free.

    Attributes:
        size: Of the room, in metres.
        decay_s: Seconds in which its sound decays by 60 dB.
        loudspeaker: Its place in the room.
        microphone: Its place.
    """

    size: Place
    decay_s: float
    loudspeaker: Place
    microphone: Place


ROOMS: Mapping[str, Desk] = {
    "booth": Desk((1.5, 1.5, 2.2), 0.15, (0.6, 1.1, 1.1), (0.8, 0.9, 1.1)),
    "office": Desk((5.0, 4.0, 2.7), 0.4, (2.0, 1.5, 0.8), (2.3, 1.6, 0.8)),
    "meeting-room": Desk((8.0, 6.0, 3.0), 0.6, (3.5, 3.0, 0.8), (4.5, 3.2, 0.8)),
}
"""Rooms by name; sizes, decays and places are our choice."""

LEAST_LOSS_DB, MOST_LOSS_DB = 0.0, 80.0
USUAL_LOSS_DB = 20.0
"""Of the echo path without a canceller: our choice, some loudspeaker a hand's breadth from a microphone."""

_LIBRARY_LATE = 40
"""Samples by which the library's responses are late."""
_LENGTH_S = 0.128
"""Of the echo path that the canceller learns."""
_LEAST_HZ, _MOST_HZ = 300.0, 3_400.0
"""The band in which an echo's loss is weighted (G.122)."""
_SECTION_S = 0.02
_ECHO_ALONE = 0.1
"""A section has only echo in it where the near end's power is less than this share of the echo's."""
_SPEAKS, _SOUNDS = 1e-3, 1e-4
"""Shares of the loudest section from which on somebody speaks, and a loudspeaker sounds."""
_AROUND_S = 0.1
_LEAST_ALONE_S = 0.5
"""Of sections with only echo, for an ERLE."""
_HANDSET_DB = 55.0
"""Echo loss of the first host's handset: the TELR of 65 dB that G.107 has by default, less SLR and RLR."""
_TELR_DB = (5.0, 65.0)
"""The range of TELR that G.107 (06/2015) permits (table 2)."""
MOST_ROUNDS = 6
"""In which the echo and the network that carries it have to agree."""


@dataclass(frozen=True)
class Loudspeaker:
    """A loudspeaker at the second host, and what is done about its echo.

    Attributes:
        room: A name of `ROOMS`.
        loss_db: From what the loudspeaker plays to what the microphone takes of it, weighted by G.122.
        cancel: Whether our canceller takes the echo out.

    Raises:
        CallError: There is no such room, or the loss is out of range.
    """

    room: str
    loss_db: float = USUAL_LOSS_DB
    cancel: bool = False

    def __post_init__(self) -> None:
        if not LEAST_LOSS_DB <= self.loss_db <= MOST_LOSS_DB:
            raise CallError(f"an echo path has a loss of {LEAST_LOSS_DB:g} to {MOST_LOSS_DB:g} dB")

    def response(self, rate_hz: int) -> NDArray[np.float64]:
        """The impulse response from loudspeaker to microphone, scaled to its loss.

        Raises:
            CallError: The room cannot be computed.
        """
        from voxpath.voice.aec.rooms import Room, RoomsError

        desk = ROOMS[self.room]
        try:
            ((made,),) = Room(desk.size, desk.decay_s).responses(
                [desk.loudspeaker], [desk.microphone], rate_hz
            )
        except RoomsError as error:
            raise CallError(str(error)) from None
        late = made[_LIBRARY_LATE:]
        size = 1 << (len(late) - 1).bit_length()
        frequencies = np.fft.rfftfreq(size, 1 / rate_hz)
        ratios = np.abs(np.fft.rfft(late, size)) ** 2
        loss = weighted_loss(frequencies, ratios)
        scaled: NDArray[np.float64] = late * 10 ** ((loss - self.loss_db) / 20)
        return scaled


def weighted_loss(hz: NDArray[np.floating[Any]], ratios: NDArray[np.floating[Any]]) -> float:
    """Loss of an echo path in dB, by the trapezoidal rule over the logarithm of frequency (G.122, B.4).

    Args:
        hz: Frequencies, ascending from below 300 Hz to above 3400 Hz.
        ratios: Power that comes back over that which went out, at each of them.
    """
    inside = hz[(hz > _LEAST_HZ) & (hz < _MOST_HZ)]
    at = np.concatenate(([_LEAST_HZ], inside, [_MOST_HZ]))
    power = np.interp(at, hz, ratios)
    total = float(np.sum((power[1:] + power[:-1]) * np.diff(np.log10(at))))
    return 3.24 - 10 * math.log10(max(total, 1e-30))


@dataclass(frozen=True)
class Echo:
    """What the first host's speaker hears of their own words.

    Attributes:
        loudspeaker: Where it comes from.
        level_db: Of the echo at the microphone, over what the loudspeaker plays.
        erle_db: By how much the canceller lowers it, over all sections with only echo; 0 without a
            canceller, none where there is too little of such sections.
        erle_end_db: The same over the second half of these sections.
        canceller_ms: By how much the canceller's output is late.
        there_ms: From the mouth to the loudspeaker; none where no frame came there.
        alone: What would be heard if there were no echo.
        quiet: The frames of the words without it.
        settled: Whether the network gave the same with this echo as with the one that was made of it.
    """

    loudspeaker: Loudspeaker
    level_db: float | None
    erle_db: float | None
    erle_end_db: float | None
    canceller_ms: float
    there_ms: float | None
    alone: NDArray[np.int16]
    quiet: Encoded
    settled: bool

    def telr_db(self) -> float | None:
        """Talker echo loudness rating: SLR and RLR of the handset, and the loss of the echo path (G.107)."""
        if self.erle_db is None:
            return None
        usual = emodel.Connection()
        return usual.slr + usual.rlr + self.loudspeaker.loss_db + self.erle_db

    def late_ms(self, back_ms: float | None) -> float | None:
        """From a word to its echo, mouth to ear there and back; none where nothing came on a way."""
        return None if self.there_ms is None or back_ms is None else self.there_ms + back_ms

    def way_ms(self, back_ms: float | None) -> float | None:
        """T: the mean one-way delay of the echo path, of the delays mouth to ear of both ways."""
        late = self.late_ms(back_ms)
        return None if late is None else late / 2

    def beyond(self, back_ms: float | None) -> str | None:
        """Why the E-model does not say what this echo does; none where it does, or there is no echo."""
        telr, way = self.telr_db(), self.way_ms(back_ms)
        if way is None:
            return None
        if telr is None:
            return "there is too little of the echo alone to say what the canceller does to it"
        if telr < _TELR_DB[0]:
            return f"TELR of {telr:.0f} dB is below the {_TELR_DB[0]:g} dB that G.107 begins with"
        if way > emodel.MOST_DELAY_MS:
            most = f"{emodel.MOST_DELAY_MS:g} ms that G.107 knows of echoes"
            return f"T of {emodel.above(way, emodel.MOST_DELAY_MS)} ms is above the {most}"
        return None

    def told(self, back_ms: float | None) -> dict[str, Any]:
        """What programs are told; delays in milliseconds, levels in dB, none of an echo that nobody hears."""
        return {
            "room": self.loudspeaker.room,
            "echo_loss_db": self.loudspeaker.loss_db,
            "cancelled": self.loudspeaker.cancel,
            "level_db": self.level_db,
            "erle_db": self.erle_db,
            "erle_second_half_db": self.erle_end_db,
            "delay_ms": self.late_ms(back_ms),
            "telr_db": None if self.late_ms(back_ms) is None else self.telr_db(),
            "t_ms": self.way_ms(back_ms),
            "beyond": self.beyond(back_ms),
            "settled": self.settled,
        }

    def rows(self, back_ms: float | None) -> list[list[str | Cell]]:
        """What a terminal and the page show."""
        late, way = self.late_ms(back_ms), self.way_ms(back_ms)
        if late is None or way is None:
            return [["echo", "none", "no frame came there or back"]]
        place = f"{self.loudspeaker.room}, {self.loudspeaker.loss_db:g} dB from loudspeaker to microphone"
        delay = f"{late:.0f} ms"
        level = "none" if self.level_db is None else f"{self.level_db:.0f} dB"
        found: list[list[str | Cell]] = [
            ["echo's delay", delay, "after the words that it is of: mouth to ear there and back"],
            ["echo at the microphone", level, f"of what the loudspeaker plays; {place}"],
        ]
        if self.loudspeaker.cancel and (self.erle_db is None or self.erle_end_db is None):
            found.append(["ERLE", "not applicable", "too little of the echo alone"])
        elif self.loudspeaker.cancel:
            half = f"where the echo is alone; {self.erle_end_db:.1f} dB in the second half of that"
            found.append(["ERLE", f"{self.erle_db:.1f} dB", half])
        telr, why = self.telr_db(), self.beyond(back_ms)
        if telr is None or why is not None:
            found.append(["TELR", "not applicable", why or ""])
        else:
            above = f"; {_TELR_DB[1]:g} dB in the E-model, which ends there" if telr > _TELR_DB[1] else ""
            told = f"of a handset's SLR + RLR and the echo path; T = {way:.0f} ms{above}"
            found.append(["TELR", f"{telr:.1f} dB", told])
        if not self.settled:
            found.append(["echo", "approximate", "the network changed with it, and did not settle"])
        return found

    def connection(self, given: Connection, back_ms: float) -> Connection:
        """The connection with this echo, if any; a TELR above the range counts as its end: nobody hears it.

        Who listens has a handset; so the loop for the listener's echo has its loss and that of the room.
        """
        telr, late, way = self.telr_db(), self.late_ms(back_ms), self.way_ms(back_ms)
        if late is None or way is None:
            return given
        if telr is None or self.erle_db is None:
            raise ValueError("ask `beyond` first")
        return replace(
            given,
            telr=min(telr, _TELR_DB[1]),
            t_ms=way,
            tr_ms=late,
            wepl=min(given.wepl, self.loudspeaker.loss_db + self.erle_db + _HANDSET_DB),
        )


@dataclass(frozen=True)
class Played:
    """What a loudspeaker plays.

    Attributes:
        values: Samples.
        begins_ns: From the first sample that the microphone beside it takes, to the first of these.
    """

    values: NDArray[np.int16]
    begins_ns: int

    def same(self, other: Played) -> bool:
        """Whether both are the same at the same time."""
        return self.begins_ns == other.begins_ns and np.array_equal(self.values, other.values)


@dataclass(frozen=True)
class Taken:
    """What the microphone's end sends.

    Attributes:
        sent: What is encoded: voice and echo, after the canceller.
        voice: The voice in it, as long as that.
        level_db: See `Echo`.
        erle_db: See `Echo`.
        erle_end_db: See `Echo`.
        canceller_ms: See `Echo`.
    """

    sent: Recording
    voice: Recording
    level_db: float | None
    erle_db: float | None
    erle_end_db: float | None
    canceller_ms: float


def taken(
    loudspeaker: Loudspeaker,
    near: Recording,
    played: Played,
    rate_hz: int,
) -> Taken:
    """What the microphone takes: what is said at it, and the loudspeaker.

    Args:
        loudspeaker: What plays.
        near: What is said at the microphone.
        played: What the loudspeaker plays.
        rate_hz: Samples per second of that.

    Raises:
        CallError: The room cannot be computed.
    """
    from scipy.signal import fftconvolve, resample_poly

    # Where a codec of 8 kHz plays there is nothing above to be cancelled.
    rate = min(near.rate_hz, rate_hz)
    response = loudspeaker.response(rate)
    loud = resampled(played.values, rate_hz, rate) / 32_768
    at = round(played.begins_ns * rate / 1e9)
    loud, at = loud[max(0, -at) :], max(0, at)
    said = near.at(rate) / 32_768
    length = max(len(said), at + len(loud) + len(response) - 1)
    far, voice = np.zeros(length), np.zeros(length)
    far[at : at + len(loud)] = loud
    voice[: len(said)] = said
    echo = fftconvolve(far, response)[:length]
    left, late = echo, 0
    erle: float | None = 0.0
    erle_end: float | None = 0.0
    if loudspeaker.cancel:
        out, late = _cancelled(far, voice + echo, rate)
        left = out - voice
        alone = _alone(voice, echo, rate)
        erle, erle_end = _erle(echo[alone], left[alone], rate)
    sounding, level = float(np.sum(far**2)), None
    if sounding:
        level = 10 * math.log10(max(float(np.sum(echo**2)) / sounding, 1e-30))
    # What the canceller takes from the voice is in what it leaves of the echo.
    more = left if rate == near.rate_hz else resample_poly(left, near.rate_hz, rate)
    padded = np.zeros(max(len(near.values), len(more)), np.int16)
    padded[: len(near.values)] = near.values
    mixed = padded.astype(np.float64)
    mixed[: len(more)] += 32_768 * more
    values = np.clip(np.rint(mixed), -32_768, 32_767).astype(np.int16)
    return Taken(
        replace(near, values=values),
        replace(near, values=padded),
        level,
        erle,
        erle_end,
        1000 * late / rate,
    )


def _cancelled(
    far: NDArray[np.float64], near: NDArray[np.float64], rate: int
) -> tuple[NDArray[np.float64], int]:
    """What the canceller leaves, aligned with the microphone, and the samples by which it is late."""
    from voxpath.voice.aec.filters import long_room

    canceller = long_room(round(_LENGTH_S * rate), rate)
    late = canceller.delay
    rows = np.zeros((2, 2, len(near) + late))
    # Both sounds have one channel; the other one is silent.
    rows[0, 0, : len(near)], rows[1, 0, : len(near)] = far, near
    return canceller.process(rows[0], rows[1])[0, late:].astype(np.float64), late


def _alone(voice: NDArray[np.float64], echo: NDArray[np.float64], rate: int) -> NDArray[np.bool_]:
    """The samples of sections in which the echo is well above the voice, and is there at all."""
    section = int(_SECTION_S * rate)
    count = len(voice) // section
    near, far = (
        np.mean(one[: count * section].reshape(count, section) ** 2, axis=1) for one in (voice, echo)
    )
    speaks = near > _SPEAKS * near.max(initial=0.0)
    around = int(_AROUND_S / _SECTION_S)
    # A canceller that works in windows smears what it does to the voice around it.
    busy = np.convolve(speaks, np.ones(2 * around + 1), "same")[:count] > 0 if count else speaks
    found = ~busy & (near <= _ECHO_ALONE * far) & (far > _SOUNDS * far.max(initial=0.0))
    return np.concatenate((np.repeat(found, section), np.zeros(len(voice) - count * section, np.bool_)))


def _erle(
    echo: NDArray[np.float64], left: NDArray[np.float64], rate: int
) -> tuple[float | None, float | None]:
    """Echo return loss enhancement in dB: of all that is given, and of its second half."""
    if len(echo) < _LEAST_ALONE_S * rate:
        return None, None

    def lowered(part: slice) -> float:
        power = float(np.sum(left[part] ** 2))
        return 10 * math.log10(float(np.sum(echo[part] ** 2)) / max(power, 1e-30))

    return lowered(slice(None)), lowered(slice(len(echo) // 2, None))
