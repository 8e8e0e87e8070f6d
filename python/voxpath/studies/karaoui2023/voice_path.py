"""Recorded speech through Opus with lost packets: what its vowels suffer, beside what listeners would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from voxpath.audio import losses, opus, quality, speech
from voxpath.phonetics import compare, praat
from voxpath.phonetics.compare import Shifts
from voxpath.phonetics.formants import FORMANTS, Settings
from voxpath.report.document import Axis, Cell, Check, Checks, Curve, Plot, Table
from voxpath.results.intervals import Summary, paired, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.audio.opus import Repair
    from voxpath.phonetics.compare import Comparison

SETTINGS = Settings(ceiling_hz=speech.CEILING_HZ)
REPAIRS: tuple[Repair, ...] = get_args(opus.Repair)
SEED = 1
_NOTE_FEC = "packets that carry a copy of the frame before"


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes:
        recordings: Sentences.
        bitrates: In kbit/s.
        losses: Of packets.
    """

    recordings: int
    bitrates: tuple[int, ...]
    losses: tuple[float, ...]


FULL = Effort(5, (12, 16, 24, 32), (0.0, 0.05, 0.1, 0.2))
QUICK = Effort(1, (16, 24), (0.0, 0.2))


@dataclass(frozen=True)
class Passed:
    """What came through a setting of the path.

    Attributes:
        bitrate: In kbit/s.
        loss: Of packets.
        repair: What stands for a lost frame; none without loss.
        copies: The part of packets that carry a copy.
        pesq: Of each recording.
        stoi: Of each recording.
        formants: The shifts of all vowels, judged.
    """

    bitrate: int
    loss: float
    repair: Repair | None
    copies: float
    pesq: Sequence[float]
    stoi: Sequence[float]
    formants: Comparison


def find(effort: Effort) -> list[Passed]:
    """Sends every recording through every setting; the same packets are lost at each.

    Raises:
        AudioError: A recording, the codec or a model is missing.
    """
    sentences = speech.recordings()[-effort.recordings :]
    sound = praat.library().Sound
    references = [
        compare.reference(
            sound(one.values / 32768, speech.RATE_HZ), one.name, speech.align(one), SETTINGS, tier="vowel"
        )
        for one in sentences
    ]
    found = []
    for bitrate in effort.bitrates:
        for loss in effort.losses:
            for repair in REPAIRS if loss else (None,):
                pesq, stoi, copies, packets = [], [], 0, 0
                shifts = Shifts([], [], [])
                for index, (one, first) in enumerate(zip(sentences, references, strict=True)):
                    fec = repair == "fec"
                    stream = opus.encode(
                        one.values,
                        speech.RATE_HZ,
                        1000 * bitrate,
                        expected_loss=loss if fec else 0.0,
                        fec=fec,
                    )
                    arrives = losses.independent(len(stream.packets), loss, SEED + index)
                    heard = opus.decode(stream, arrives, repair or "concealment")
                    judged = quality.judge(one.values, heard)
                    pesq.append(judged.pesq)
                    stoi.append(judged.stoi)
                    copies += stream.with_copy
                    packets += len(stream.packets)
                    shifts += first.shifts(sound(heard / 32768, speech.RATE_HZ), one.name)
                found.append(Passed(bitrate, loss, repair, copies / packets, pesq, stoi, shifts.judged()))
    return found


def table(found: Sequence[Passed]) -> Table:
    """A row for each setting."""
    marks = {"repeatable": "good", "shifted": "bad", "undecided": "open", "no answer": "open"}
    rows: list[list[str | Cell]] = []
    for one in found:
        cells: list[str | Cell] = [
            str(one.bitrate),
            f"{100 * one.loss:g}",
            one.repair or "–",
            f"{100 * one.copies:.0f}" if one.repair == "fec" else "",
            str(summarise(one.pesq)),
            str(summarise(one.stoi)),
        ]
        for moved in one.formants.overall:
            mark = marks[moved.verdict]
            told = f"{moved.verdict}: mean {moved.shift} Hz, limit {moved.limit_hz:.0f} Hz"
            cells.append(Cell(f"{moved.size:.0f}", mark, told))  # type: ignore[arg-type]
        rows.append([*cells, str(len(one.formants.lost))])
    columns = ["kbit/s", "loss %", "repair", "copies %", "PESQ", "STOI"]
    vowels = len(found[0].formants.shifts) + len(found[0].formants.lost)
    return Table(
        "Opus with lost packets",
        [*columns, *(f"F{index + 1} Hz" for index in range(FORMANTS)), "vowels lost"],
        rows,
        [
            (
                f"Formants: median size of the shifts of {vowels} vowels; the mark judges their mean "
                f"against the measurement's repeatability. Copies: {_NOTE_FEC}. PESQ and STOI are means "
                "over the recordings, with 95 % intervals."
            )
        ],
    )


def plots(found: Sequence[Passed]) -> list[Plot]:
    """PESQ, and how far F1 and F2 move, over the loss, at the highest rate that has every repair."""
    bitrate = 24
    chosen = [one for one in found if one.bitrate == bitrate]
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
    by = {(one.bitrate, one.loss, one.repair): one for one in found}
    bitrate, worst = max(one.bitrate for one in found), max(one.loss for one in found)
    if (24, worst, "fec") in by:
        bitrate = 24
    clean, copied = by[bitrate, 0.0, None], by[bitrate, worst, "fec"]
    guessed, silent = by[bitrate, worst, "concealment"], by[bitrate, worst, "zero"]
    low = [one for one in found if one.repair == "fec" and one.bitrate <= 16]
    sizes = [[one.formants.overall[i].size for one in (clean, copied, silent)] for i in range(2)]
    return Checks(
        "Claims of the voice path",
        [
            Check(
                f"At {bitrate} kbit/s and {100 * worst:g} % loss, PESQ says: error correction before "
                f"concealment "
                "before silence.",
                float(np.mean(copied.pesq)) > float(np.mean(guessed.pesq)) > float(np.mean(silent.pesq)),
                "; ".join(
                    f"{name} {_shown(one.pesq)}"
                    for name, one in (("copies", copied), ("guesses", guessed), ("silence", silent))
                ),
            ),
            Check(
                "Silence in place of lost frames moves F1 and F2 further than the codec alone.",
                all(after > before for before, _, after in sizes),
                f"F1 {sizes[0][0]:.0f} to {sizes[0][2]:.0f} Hz, F2 {sizes[1][0]:.0f} to {sizes[1][2]:.0f} Hz",
            ),
            Check(
                "The codec alone leaves the mean of F1 and F2 within the measurement's repeatability.",
                all(moved.verdict == "repeatable" for moved in clean.formants.overall[:2]),
                "; ".join(
                    f"F{m.formant} {m.shift} Hz, limit {m.limit_hz:.0f} Hz"
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


def _shown(values: Sequence[float]) -> Summary:
    return summarise(values)


def gain(found: Sequence[Passed], bitrate: int, loss: float) -> Summary:
    """PESQ of error correction less that of concealment, paired by recording."""
    by = {(one.bitrate, one.loss, one.repair): one for one in found}
    return paired(by[bitrate, loss, "fec"].pesq, by[bitrate, loss, "concealment"].pesq)
