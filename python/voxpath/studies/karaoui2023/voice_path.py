"""Recorded speech through Opus with lost packets: what its vowels suffer, beside what listeners would say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from voxpath.document import Axis, Cell, Check, Checks, Curve, Plot, Table
from voxpath.results.decisions import above, all_of, below
from voxpath.results.intervals import Summary, paired, summarise
from voxpath.studies.base import shown
from voxpath.voice.audio import losses, opus, quality, speech
from voxpath.voice.phonetics import compare, praat
from voxpath.voice.phonetics.compare import Shifts
from voxpath.voice.phonetics.formants import FORMANTS
from voxpath.voice.phonetics.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voxpath.voice.audio.opus import Repair
    from voxpath.voice.audio.speech import Recording
    from voxpath.voice.phonetics.compare import Comparison, Reference

SETTINGS = Settings(ceiling_hz=speech.CEILING_HZ)
REPAIRS: tuple[Repair, ...] = get_args(opus.Repair)
SEED = 1
BITRATE = 24
"""In kbit/s, of what is shown alone: the lowest of ours at which the encoder sends copies."""
_NOTE_FEC = "packets that carry a copy of the frame before"


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes:
        voices: Of `speech.VOICES`.
        recordings: Sentences of each.
        bitrates: In kbit/s.
        losses: Of packets.
        bursts: Mean lengths in packets; 1 is losses independent of each other.
    """

    voices: tuple[str, ...]
    recordings: int
    bitrates: tuple[int, ...]
    losses: tuple[float, ...]
    bursts: tuple[float, ...]


BURST = 3.0
"""Packets, 60 ms: longer than a copy in the next packet reaches."""

FULL = Effort(tuple(speech.VOICES), 5, (12, 16, 24, 32), (0.0, 0.05, 0.1, 0.2), (1.0, BURST))
QUICK = Effort(("reader",), 1, (16, 24), (0.0, 0.2), (1.0,))


@dataclass(frozen=True)
class Passed:
    """What came through a setting of the path.

    Attributes:
        bitrate: In kbit/s.
        loss: Of packets.
        burst: Mean length of what is lost in a row, in packets.
        repair: What stands for a lost frame; none without loss.
        copies: The part of packets that carry a copy.
        voices: Of each recording.
        pesq: Of each recording.
        stoi: Of each recording.
        formants: The shifts of all vowels, judged.
        by_voice: The same, voice by voice.
    """

    bitrate: int
    loss: float
    burst: float
    repair: Repair | None
    copies: float
    voices: Sequence[str]
    pesq: Sequence[float]
    stoi: Sequence[float]
    formants: Comparison
    by_voice: Mapping[str, Comparison]


def find(effort: Effort) -> list[Passed]:
    """Sends every recording through every setting; the same packets are lost at each.

    Raises:
        AudioError: A recording, the codec or a model is missing.
    """
    sentences = [one for voice in effort.voices for one in speech.recordings(voice)[-effort.recordings :]]
    references = [
        compare.reference(sound_of(one.values), one.name, speech.align(one), SETTINGS, tier="vowel")
        for one in sentences
    ]
    settings = [
        (bitrate, loss, burst, repair)
        for bitrate in effort.bitrates
        for loss in effort.losses
        for burst in (effort.bursts if loss else (1.0,))
        for repair in (REPAIRS if loss else (None,))
    ]
    return [_passed(sentences, references, *one) for one in settings]


def _passed(
    sentences: Sequence[Recording],
    references: Sequence[Reference],
    bitrate: int,
    loss: float,
    burst: float,
    repair: Repair | None,
) -> Passed:
    pesq, stoi, copies, packets = [], [], 0, 0
    moved: dict[str, Shifts] = {}
    for index, (one, first) in enumerate(zip(sentences, references, strict=True)):
        fec = repair == "fec"
        stream = opus.encode(
            one.values,
            speech.RATE_HZ,
            1000 * bitrate,
            expected_loss=loss if fec else 0.0,
            fec=fec,
        )
        if burst > 1:
            arrives = losses.bursty(len(stream.packets), loss, burst, SEED + index)
        else:
            arrives = losses.independent(len(stream.packets), loss, SEED + index)
        heard = opus.decode(stream, arrives, repair or "concealment")
        judged = quality.judge(one.values, heard)
        pesq.append(judged.pesq)
        stoi.append(judged.stoi)
        copies += stream.with_copy
        packets += len(stream.packets)
        shifts = first.shifts(sound_of(heard), one.name)
        moved[one.voice] = moved.get(one.voice, Shifts([], [], [])) + shifts
    whole = sum(moved.values(), Shifts([], [], [])).judged()
    return Passed(
        bitrate,
        loss,
        burst,
        repair,
        copies / packets,
        [one.voice for one in sentences],
        pesq,
        stoi,
        whole,
        {voice: shifts.judged() for voice, shifts in moved.items()},
    )


def sound_of(values: NDArray[np.int16]) -> Any:
    """A recording as Praat's sound."""
    return praat.library().Sound(values / 32768, speech.RATE_HZ)


def table(found: Sequence[Passed]) -> Table:
    """A row for each setting."""
    rows: list[list[str | Cell]] = []
    for one in found:
        cells: list[str | Cell] = [
            str(one.bitrate),
            f"{100 * one.loss:g}",
            f"{one.burst:g}" if one.loss else "–",
            one.repair or "–",
            f"{100 * one.copies:.0f}" if one.repair == "fec" else "",
            _shown(one.pesq),
            _shown(one.stoi, 3),
        ]
        for moved in one.formants.overall:
            told = f"{moved.verdict}: mean {moved.shift} Hz, limit {moved.limit_hz:.0f} Hz"
            cells.append(Cell(f"{moved.size:.0f}", compare.MARKS[moved.verdict], told))
        rows.append([*cells, str(len(one.formants.lost))])
    columns = ["kbit/s", "loss %", "burst", "repair", "copies %", "PESQ", "STOI"]
    vowels = len(found[0].formants.shifts) + len(found[0].formants.lost)
    return Table(
        "Opus with lost packets",
        [*columns, *(f"F{index + 1} Hz" for index in range(FORMANTS)), "vowels lost"],
        rows,
        [
            (
                f"Formants: median size of the shifts of {vowels} vowels; the mark judges their mean "
                "against the measurement's repeatability. Burst: mean length of losses in a row, in "
                f"packets; 1 is independent of each other. Copies: {_NOTE_FEC}. PESQ and STOI are means "
                "over the recordings, with 95 % intervals where there are several."
            )
        ],
    )


def voices_table(found: Sequence[Passed]) -> Table | None:
    """The highest loss at one bit rate, voice by voice; none where there is one voice."""
    worst = max(one.loss for one in found)
    chosen = [one for one in found if one.bitrate == BITRATE and one.loss in {0.0, worst}]
    names = list(chosen[0].by_voice)
    if len(names) < 2:
        return None
    rows: list[list[str | Cell]] = []
    for name in names:
        for one in chosen:
            mine = [index for index, voice in enumerate(one.voices) if voice == name]
            rows.append(
                [
                    name,
                    str(len(one.by_voice[name].shifts)),
                    f"{100 * one.loss:g}",
                    f"{one.burst:g}" if one.loss else "–",
                    one.repair or "–",
                    _shown([one.pesq[index] for index in mine]),
                    _shown([one.stoi[index] for index in mine], 3),
                    *(f"{moved.size:.0f}" for moved in one.by_voice[name].overall),
                ]
            )
    columns = ["voice", "vowels", "loss %", "burst", "repair", "PESQ", "STOI"]
    return Table(
        f"Voice by voice, at {BITRATE} kbit/s",
        [*columns, *(f"F{index + 1} Hz" for index in range(FORMANTS))],
        rows,
    )


def plots(found: Sequence[Passed]) -> list[Plot]:
    """PESQ, and how far F1 and F2 move, over the loss, at the highest rate that has every repair."""
    bitrate = BITRATE
    chosen = [one for one in found if one.bitrate == bitrate and one.burst == 1]
    made = []
    for title, axis, value in (
        (f"PESQ at {bitrate} kbit/s", Axis("PESQ"), lambda one: float(np.mean(one.pesq))),
        (
            f"Shifts of F1 at {bitrate} kbit/s",
            Axis("median size", "Hz"),
            lambda one: one.formants.overall[0].size,
        ),
        (
            f"Shifts of F2 at {bitrate} kbit/s",
            Axis("median size", "Hz"),
            lambda one: one.formants.overall[1].size,
        ),
    ):
        curves = []
        for repair in REPAIRS:
            line = sorted((one for one in chosen if one.repair in {repair, None}), key=lambda one: one.loss)
            curves.append(Curve(repair, [100 * one.loss for one in line], [value(one) for one in line]))
        made.append(Plot(title, "Without loss all three are the same.", Axis("loss", "%"), axis, curves))
    return made


def checks(found: Sequence[Passed]) -> Checks:
    """What the path does, as claims."""
    by = independent(found)
    bitrate, worst = max(one.bitrate for one in found), max(one.loss for one in found)
    if (BITRATE, worst, "fec") in by:
        bitrate = BITRATE
    clean, copied = by[bitrate, 0.0, None], by[bitrate, worst, "fec"]
    guessed, silent = by[bitrate, worst, "concealment"], by[bitrate, worst, "zero"]
    low = [one for one in found if one.repair == "fec" and one.bitrate <= 16]
    sizes = [[one.formants.overall[i].size for one in (clean, copied, silent)] for i in range(2)]
    bursts = [one for one in found if one.burst > 1 and (one.bitrate, one.loss) == (bitrate, worst)]
    gains = [paired(one.pesq, copied.pesq) for one in bursts if one.repair == "fec"]
    return Checks(
        "Claims of the voice path",
        [
            *(
                Check(
                    f"At {bitrate} kbit/s and {100 * worst:g} % loss, copies repair less of losses in "
                    "bursts, as a packet carries a copy of one frame.",
                    below(more),
                    f"PESQ {more.mean:+.2f}{_reach(more)} against independent losses",
                )
                for more in gains
            ),
            Check(
                f"At {bitrate} kbit/s and {100 * worst:g} % loss, PESQ says: error correction before "
                f"concealment before silence.",
                all_of(above(paired(a.pesq, b.pesq)) for a, b in ((copied, guessed), (guessed, silent))),
                "; ".join(
                    f"{name} {_shown(one.pesq)}"
                    for name, one in (("copies", copied), ("guesses", guessed), ("silence", silent))
                ),
            ),
            Check(
                "Silence in place of lost frames moves F1 and F2 further than the codec alone.",
                all_of(above(_further(silent.formants, clean.formants, index)) for index in range(2)),
                f"F1 {sizes[0][0]:.0f} to {sizes[0][2]:.0f} Hz, F2 {sizes[1][0]:.0f} to {sizes[1][2]:.0f} Hz",
            ),
            Check(
                "The codec alone leaves the mean of F1 and F2 within the measurement's repeatability.",
                all_of(_REPEATABLE.get(moved.verdict) for moved in clean.formants.overall[:2]),
                "; ".join(
                    f"F{m.formant} {shown(m.shift)} Hz, limit {m.limit_hz:.0f} Hz"
                    for m in clean.formants.overall[:2]
                ),
            ),
            Check(
                "At 16 kbit/s and below the encoder sends no copies, whatever it is told of losses.",
                all(one.copies == 0 for one in low),
                "; ".join(
                    f"{one.bitrate} kbit/s, {100 * one.loss:g} %: {100 * one.copies:.0f} %" for one in low
                ),
            ),
        ],
    )


_REPEATABLE = {"repeatable": True, "shifted": False}


def _further(moved: Comparison, other: Comparison, formant: int) -> Summary | None:
    """By how much more Hz a formant moves, vowel by vowel; none where no vowel can be compared."""
    sizes = {id(shift.reference): abs(shift.hz[formant]) for shift in other.shifts}
    more = [
        abs(shift.hz[formant]) - sizes[id(shift.reference)]
        for shift in moved.shifts
        if id(shift.reference) in sizes
    ]
    known = [value for value in more if math.isfinite(value)]
    return summarise(known) if known else None


def _reach(summary: Summary) -> str:
    return "" if summary.half_width is None else f" ± {summary.half_width:.2f}"


def independent(found: Sequence[Passed]) -> dict[tuple[int, float, Repair | None], Passed]:
    """By bit rate, loss and repair: the settings whose losses are independent."""
    return {(one.bitrate, one.loss, one.repair): one for one in found if one.burst == 1}


def _shown(values: Sequence[float], digits: int = 2) -> str:
    """Mean and interval; one value has no interval, and none of the digits that one would leave."""
    found = summarise(values)
    return f"{found.mean:.{digits}f}" if found.half_width is None else str(found)


def gain(found: Sequence[Passed], bitrate: int, loss: float) -> Summary:
    """PESQ of error correction less that of concealment, paired by recording."""
    by = independent(found)
    return paired(by[bitrate, loss, "fec"].pesq, by[bitrate, loss, "concealment"].pesq)
