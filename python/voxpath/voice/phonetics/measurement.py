"""A recording measured: its vowels, their gestures, and what a report shows of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.document import (
    Axis,
    Cell,
    Cloud,
    Curve,
    Outline,
    Outlines,
    Scatter,
    Spectrogram,
    Table,
)
from voxpath.names import did_you_mean
from voxpath.results.intervals import summarise
from voxpath.voice.phonetics import articulation, contours, formants, praat, summary, textgrid
from voxpath.voice.phonetics.formants import FORMANTS, Vowel
from voxpath.voice.phonetics.problems import PhoneticsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.voice.phonetics.articulation import Components, Posture
    from voxpath.voice.phonetics.contours import Contours
    from voxpath.voice.phonetics.settings import Settings
    from voxpath.voice.phonetics.textgrid import TextGrid

_SHOWN_DB = 50.0
"""Of a spectrogram, below its loudest point."""
_SPECTROGRAM_COLUMNS, _SPECTROGRAM_ROWS = 700, 160
_DRAWN_SD = 2.0
"""Scores for which components are drawn."""


@dataclass(frozen=True)
class References:
    """What kinds of vowels are compared with.

    Attributes:
        name: The context, or the kind.
        by_key: The kind for each; none for vowels that do not stand in that context.
    """

    name: str
    by_key: Mapping[str, str]

    @property
    def told(self) -> str:
        """As titles name it: the kind, if there is one only."""
        kinds = set(self.by_key.values())
        return kinds.pop() if len(kinds) == 1 else f"the same vowel, {self.name}"


@dataclass(frozen=True)
class Measurement:
    """What was measured of a recording.

    Attributes:
        source: The recording.
        settings: How formants were looked for.
        vowels: In the order of time.
        film: The contours; none without.
        postures: Of each vowel; empty without contours.
        components: Of the articulators, over the frames of all vowels.
        scores: Of each vowel, by component (`tongue 1`), the median over its frames, in standard deviations;
            empty without contours.
    """

    source: str
    settings: Settings
    vowels: Sequence[Vowel]
    film: Contours | None
    postures: Sequence[Posture]
    components: Sequence[Components]
    scores: Sequence[Mapping[str, float]] = ()

    @property
    def keys(self) -> list[str]:
        """Vowels and contexts, in the order in which they come."""
        return list(dict.fromkeys(vowel.key for vowel in self.vowels))

    @property
    def labels(self) -> list[str]:
        """Which vowels there are, in the order in which they come."""
        return list(dict.fromkeys(vowel.label for vowel in self.vowels))

    def references(self, wanted: str | None) -> References:
        """What each kind of vowel is compared with: the same vowel in the context that is wanted, or first.

        Where nothing tells contexts apart, vowels are compared with one of them; so are they if a vowel in
        its context is wanted, `a (plain)`.

        Raises:
            PhoneticsError: No vowel stands there.
        """
        if wanted is None:
            wanted = self.vowels[0].context or self.keys[0]
        of_label = {vowel.label: vowel.key for vowel in self.vowels if vowel.context == wanted}
        if of_label:
            by_key = {vowel.key: of_label[vowel.label] for vowel in self.vowels if vowel.label in of_label}
            return References(wanted, by_key)
        if wanted in self.keys:
            return References(wanted, dict.fromkeys(self.keys, wanted))
        known = [*dict.fromkeys(vowel.context for vowel in self.vowels if vowel.context), *self.keys]
        raise PhoneticsError(f"{self.source}: no vowel stands in {wanted!r}; {did_you_mean(wanted, known)}")

    def gesture(self, name: str) -> list[float]:
        """A gesture of each vowel."""
        return [posture.values[name] for posture in self.postures]

    def score(self, name: str) -> list[float]:
        """The score of each vowel for a component."""
        return [scores[name] for scores in self.scores]


def measure(
    audio: Path,
    grid: Path,
    film: Path | None,
    settings: Settings,
    *,
    tier: str | None = None,
    contexts: str | None = None,
) -> tuple[Measurement, Any]:
    """Measures a recording; what it found, and the sound.

    Raises:
        PhoneticsError: Something is wrong with a file, or Praat is not installed.
    """
    annotated = textgrid.read(grid)
    annotated.tier(tier)
    contoured = None if film is None else contours.read(film)
    sound = praat.read_sound(audio)
    return of_sound(sound, str(audio), annotated, contoured, settings, tier, contexts), sound


def of_sound(
    sound: Any,
    source: str,
    grid: TextGrid,
    film: Contours | None,
    settings: Settings,
    tier: str | None = None,
    contexts: str | None = None,
) -> Measurement:
    """Measures a sound that is there already.

    Raises:
        PhoneticsError: Sound, annotation and contours do not fit.
    """
    vowels = formants.measure(sound, source, grid, settings, tier=tier, contexts=contexts)
    if film is None:
        return Measurement(source, settings, vowels, None, [], [])
    postures = [articulation.of_vowel(vowel, film, settings.middle) for vowel in vowels]
    of_vowel = [film.between(vowel.start_s, vowel.end_s) for vowel in vowels]
    frames = [frame for some in of_vowel for frame in some]
    found = [
        made
        for name, count in articulation.COMPONENTS.items()
        if (made := articulation.components(frames, film, name, count)) is not None
    ]
    scores = vowel_scores(found, [len(some) for some in of_vowel])
    return Measurement(source, settings, vowels, film, postures, found, scores)


def vowel_scores(found: Sequence[Components], frames: Sequence[int]) -> list[dict[str, float]]:
    """The median score of each vowel, of so many frames each, by component."""
    ends = np.cumsum(frames)[:-1]
    by_name = {
        f"{one.articulator.replace('_', ' ')} {index}": [
            float(np.median(part)) for part in np.split(np.asarray(column), ends)
        ]
        for one in found
        for index, column in enumerate(np.asarray(one.scores).T, 1)
    }
    return [{name: values[place] for name, values in by_name.items()} for place in range(len(frames))]


def rows(found: Measurement) -> list[dict[str, object]]:
    """A row for each vowel, for files."""
    made = []
    far = [_far(found, number) for number in range(1, FORMANTS + 1)]
    for index, vowel in enumerate(found.vowels):
        row: dict[str, object] = {
            "vowel": vowel.label,
            "context": vowel.context,
            "start_s": vowel.start_s,
            "end_s": vowel.end_s,
            "frames": vowel.frames,
            "level_db": vowel.level_db,
        }
        for number, (hz, sd) in enumerate(zip(vowel.hz, vowel.sd_hz, strict=True), 1):
            row |= {
                f"f{number}_hz": hz,
                f"f{number}_sd_hz": sd,
                f"f{number}_transition_hz": vowel.transition_hz(number),
                f"f{number}_outlier": index in far[number - 1],
            }
        if found.postures:
            posture = found.postures[index]
            row |= {f"{name.replace(' ', '_')}_mm": posture.values[name] for name in articulation.GESTURES}
            row |= {"primary": posture.primary or "", "head_turn_deg": posture.head_turn_deg}
        if found.scores:
            row |= {f"{name.replace(' ', '_')}_sd": value for name, value in found.scores[index].items()}
        made.append(row)
    return made


def kinds(found: Measurement, references: References) -> list[dict[str, object]]:
    """A row for each kind of vowel and formant, with its difference from its reference, for programs."""
    made = []
    for number in range(1, FORMANTS + 1):
        groups = {group.key: group for group in summary.groups(found.vowels, number)}
        for key, group in groups.items():
            reference = references.by_key.get(key)
            apart = None if reference in (None, key) else summary.difference(group, groups[reference])
            low, high = (apart and apart.interval_hz) or (None, None)
            made.append(
                {
                    "kind": key,
                    "formant": number,
                    "n": group.n,
                    "mean_hz": group.mean,
                    "sd_hz": group.sd,
                    "median_hz": group.median,
                    "reference": reference,
                    "difference_hz": apart and apart.hz,
                    "difference_low_hz": low,
                    "difference_high_hz": high,
                }
            )
    return made


def _far(found: Measurement, formant: int) -> set[int]:
    """Which vowels have a formant that lies far from those of the same kind."""
    far = set()
    for group in summary.groups(found.vowels, formant):
        known = [
            index
            for index, vowel in enumerate(found.vowels)
            if vowel.key == group.key and math.isfinite(vowel.hz[formant - 1])
        ]
        far |= {known[index] for index in group.outliers}
    return far


def tables(found: Measurement, references: References) -> list[Table]:
    """Formants by context, differences from the reference, transitions, gestures and correlations."""
    made = [_formants(found), _differences(found, references), transitions(found.vowels)]
    if found.postures:
        made += [_gestures(found), _correlations(found), _components(found), _score_correlations(found)]
    return [table for table in made if table.rows]


def _formants(found: Measurement) -> Table:
    by_formant = [summary.groups(found.vowels, number) for number in range(1, FORMANTS + 1)]
    lines: list[list[str | Cell]] = []
    for groups in zip(*by_formant, strict=True):
        there = sum(vowel.key == groups[0].key for vowel in found.vowels)
        cells: list[str | Cell] = [groups[0].key, str(there)]
        for group in groups:
            fewer = f" ({group.n})" if group.n < there else ""
            flagged = ", ".join(f"{group.values[index]:.0f} Hz" for index in group.outliers)
            told = f"far from the others: {flagged}" if flagged else ""
            spread = "" if group.sd is None else f"{group.sd:.0f}" + ("*" if flagged else "")
            cells += [number(group.median) + fewer, Cell(spread, "open" if flagged else None, told)]
        lines.append(cells)
    columns = ["vowel", "n"]
    for index in range(1, FORMANTS + 1):
        columns += [f"F{index} Hz", f"SD {index}"]
    return Table(
        "Formants by context",
        columns,
        lines,
        [
            (
                "Medians over the vowels of each vowel's median over its middle; SD is over the vowels. "
                "A number in brackets is how many of the n vowels have that formant, where not all do. "
                f"Where a value lies {summary.OUTLIER:g} scaled median absolute deviations off, SD has an "
                "asterisk; it stays in."
            )
        ],
    )


def _differences(found: Measurement, references: References) -> Table:
    lines: list[list[str | Cell]] = []
    for index in range(1, FORMANTS + 1):
        groups = {group.key: group for group in summary.groups(found.vowels, index)}
        for key, group in groups.items():
            reference = references.by_key.get(key, key)
            if key != reference and group.n and groups[reference].n:
                one = summary.difference(group, groups[reference])
                lines.append(
                    [
                        key,
                        f"F{index}",
                        f"{one.hz:+.0f}",
                        _interval(one.interval_hz, ".0f"),
                        f"{one.percent:+.1f}",
                        _interval(one.interval_percent, ".1f"),
                    ]
                )
    columns = ["vowel", "formant", "difference Hz", "95 % interval", "difference %", "interval %"]
    notes = [
        (
            "Of means, outliers among them, where the table before has medians. Welch's intervals; in per "
            "cent of the geometric means."
        )
    ]
    alone = [
        label
        for label in found.labels
        if not any(vowel.key in references.by_key for vowel in found.vowels if vowel.label == label)
    ]
    if alone:
        notes.append(f"No vowel in {references.name!r} to compare with: {', '.join(alone)}.")
    return Table(f"Differences from {references.told}", columns, lines, notes)


def transitions(vowels: Sequence[Vowel]) -> Table:
    """How long vowels last, and where their formants come from; empty if nobody looked at their onsets."""
    lines = []
    for key in dict.fromkeys(vowel.key for vowel in vowels if vowel.onset_hz):
        chosen = [vowel for vowel in vowels if vowel.key == key]
        moves = [
            [hz for vowel in chosen if math.isfinite(hz := vowel.transition_hz(index))]
            for index in range(1, FORMANTS + 1)
        ]
        lengths = summarise([1000 * vowel.duration_s for vowel in chosen])
        lines.append(
            [key, str(len(chosen)), str(lengths), *("–" if not hz else str(summarise(hz)) for hz in moves)]
        )
    columns = ["vowel", "n", "duration ms", *(f"F{index} Hz" for index in range(1, FORMANTS + 1))]
    told = (
        f"A transition is the median over the first {100 * formants.ONSET:g} % of a vowel less that over its "
        "middle. Means with 95 % t-intervals."
    )
    return Table("Durations and transitions", columns, lines, [told])


def _gestures(found: Measurement) -> Table:
    lines = []
    turned = max(abs(posture.head_turn_deg) for posture in found.postures)
    # Of those that no contour tells nothing is shown.
    names = [name for name in articulation.GESTURES if not all(map(math.isnan, found.gesture(name)))]
    for key in found.keys:
        chosen = [p for vowel, p in zip(found.vowels, found.postures, strict=True) if vowel.key == key]
        medians = [articulation.median([posture.values[name] for posture in chosen]) for name in names]
        primary = sorted({posture.primary or "" for posture in chosen})
        lines.append([key, str(len(chosen)), *(number(value, 1) for value in medians), "/".join(primary)])
    return Table(
        "Gestures",
        ["vowel", "n", *(f"{name} mm" for name in names), "primary"],
        lines,
        [
            (
                "Rise and advance from the rest position, relative to the upper incisor. An opening is the "
                "smallest distance of the tongue by orthogonal projection, its place the length along "
                "palate and pharynx wall from the incisor. The primary constriction is the narrower one. "
                "Lips: their smallest distance, and how far they stand before the incisor. "
                f"Heads are turned back, by {turned:.1f}° at most."
            )
        ],
    )


def correlations(found: Measurement) -> Iterator[tuple[str, str, int, summary.Correlation]]:
    """Of every gesture with every formant, where both vary: vowel by vowel, as vowels differ in both."""
    return _with_formants(found, {name: found.gesture(name) for name in articulation.GESTURES})


def score_correlations(found: Measurement) -> Iterator[tuple[str, str, int, summary.Correlation]]:
    """Of the scores of every articulatory component with every formant, likewise."""
    names = found.scores[0] if found.scores else ()
    return _with_formants(found, {name: found.score(name) for name in names})


def _with_formants(
    found: Measurement, values: Mapping[str, Sequence[float]]
) -> Iterator[tuple[str, str, int, summary.Correlation]]:
    for label in found.labels:
        chosen = [index for index, vowel in enumerate(found.vowels) if vowel.label == label]
        for name, of_vowel in values.items():
            for index in range(FORMANTS):
                one = summary.correlation(
                    [of_vowel[place] for place in chosen], [found.vowels[place].hz[index] for place in chosen]
                )
                if one is not None:
                    yield label, name, index + 1, one


def _correlations(found: Measurement) -> Table:
    return _correlation_table("Gestures and formants", "gesture", correlations(found))


def _score_correlations(found: Measurement) -> Table:
    return _correlation_table("Components and formants", "component", score_correlations(found))


def _correlation_table(
    title: str, what: str, found: Iterator[tuple[str, str, int, summary.Correlation]]
) -> Table:
    lines = [
        [label, name, f"F{formant}", f"{one.r:+.2f}", _interval(one.interval, ".2f"), str(one.n)]
        for label, name, formant, one in found
    ]
    columns = ["vowel", what, "formant", "r", "95 % interval", "n"]
    told = "Pearson's r over the vowels of a label, Fisher's interval, which takes them as independent."
    return Table(title, columns, lines, [told])


def _components(found: Measurement) -> Table:
    lines = [
        [one.articulator, str(index), f"{100 * part:.1f}", f"{np.abs(shape).max():.1f}"]
        for one in found.components
        for index, (part, shape) in enumerate(zip(one.explained, one.shapes, strict=True), 1)
    ]
    columns = ["articulator", "component", "of the variance %", "largest movement mm/SD"]
    return Table(
        "Articulatory components",
        columns,
        lines,
        ["Principal components of the contours of all vowels' frames."],
    )


def number(value: float, digits: int = 0) -> str:
    """A value for a table; an unknown one is a dash."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def _interval(ends: tuple[float, float] | None, form: str) -> str:
    return "" if ends is None else f"[{ends[0]:+{form}}, {ends[1]:+{form}}]"


def vowel_space(found: Measurement) -> Scatter:
    """F1 over F2, axes as phoneticians have them, with an ellipse for each context."""
    clouds = []
    for key in found.keys:
        chosen = [v for v in found.vowels if v.key == key and all(math.isfinite(hz) for hz in v.hz[:2])]
        points = [(vowel.hz[1], vowel.hz[0]) for vowel in chosen]
        around = summary.ellipse([x for x, _ in points], [y for _, y in points])
        details = [f"{vowel.start_s:.2f} s" for vowel in chosen]
        clouds.append(Cloud(key, points, details, [] if around is None else list(_turned(around))))
    return Scatter(
        "Vowel space",
        "A point for each vowel; ellipses are one standard deviation, of three vowels or more.",
        Axis("F2", "Hz"),
        Axis("F1", "Hz"),
        clouds,
        reversed=True,
    )


def _turned(one: summary.Ellipse) -> Iterator[tuple[float, float]]:
    for angle in np.linspace(0, 2 * math.pi, 60, endpoint=False):
        a, b = one.half_major * math.cos(angle), one.half_minor * math.sin(angle)
        turn = one.angle_rad
        yield one.x + a * math.cos(turn) - b * math.sin(turn), one.y + a * math.sin(turn) + b * math.cos(turn)


def overlay(film: Contours, frames: Mapping[str, tuple[contours.Frame, Posture]]) -> Outlines:
    """Contours on top of each other, upper incisors in one place, constrictions marked."""
    lines: list[Outline] = []
    for group, (frame, posture) in frames.items():
        for name, points in articulation.placed(frame, film).items():
            placed = [(float(x), float(y)) for x, y in points]
            lines.append(Outline(name.replace("_", " "), placed, group))
        for region, found in (("oral", posture.oral), ("pharyngeal", posture.pharyngeal)):
            if found is not None:
                mark = "primary" if posture.primary == region else "secondary"
                label = f"{found.opening_mm:.1f} mm" if mark == "primary" else ""
                told = f"{mark} constriction, {found.opening_mm:.2f} mm at {found.place_mm:.1f} mm"
                lines.append(Outline(told, [found.tongue, found.wall], group, label))
    return Outlines(
        "Contours",
        "Short lines are the constrictions, the primary one with its opening; upper incisors lie on "
        "each other.",
        "mm",
        lines,
    )


def component_shapes(found: Measurement) -> list[Outlines]:
    """What components move: a drawing for the first of each articulator, one for the second, and so on."""
    drawings = []
    for index in range(max((len(one.shapes) for one in found.components), default=0)):
        lines = []
        for one in found.components:
            if index >= len(one.shapes):
                continue
            name = one.articulator.replace("_", " ")
            for score, group in (
                (-_DRAWN_SD, f"-{_DRAWN_SD:g} SD"),
                (0.0, "mean"),
                (_DRAWN_SD, f"+{_DRAWN_SD:g} SD"),
            ):
                points = np.asarray(one.mean) + score * np.asarray(one.shapes[index])
                placed = [(float(x), float(y)) for x, y in points]
                lines.append(Outline(f"{name}, {group}", placed, group))
        drawings.append(
            Outlines(
                f"Articulatory components, number {index + 1} of each articulator",
                "Mean contours over the frames of all vowels, and where a score of so many standard "
                "deviations moves them; the upper incisor is at the origin. "
                "Each articulator has components of its own.",
                "mm",
                lines,
            )
        )
    return drawings


def contour_overlay(found: Measurement) -> Outlines:
    """One vowel of each context, the first."""
    film = found.film
    assert film is not None  # noqa: S101
    chosen = {}
    for vowel, posture in zip(found.vowels, found.postures, strict=True):
        if vowel.key not in chosen:
            frame = min(film.frames, key=lambda one: abs(one.time_s - posture.time_s))
            chosen[vowel.key] = (frame, articulation.posture(frame, film))
    return overlay(film, chosen)


def spectrogram(sound: Any, settings: Settings, vowels: Sequence[Vowel], title: str) -> Spectrogram:
    """A recording's spectrogram with its formants on top, around the vowels."""
    start = max(sound.xmin, vowels[0].start_s - 0.1)
    end = min(sound.xmax, vowels[-1].end_s + 0.1)
    part = sound.extract_part(start, end, preserve_times=True)
    made = part.to_spectrogram(
        window_length=0.005,
        maximum_frequency=settings.ceiling_hz,
        time_step=max(0.002, (end - start) / _SPECTROGRAM_COLUMNS),
        frequency_step=settings.ceiling_hz / _SPECTROGRAM_ROWS,
    )
    power = np.asarray(made.values, float)
    db = 10 * np.log10(np.maximum(power, 1e-12 * float(power.max() or 1.0)))
    levels = np.clip(1 + (db - db.max()) / _SHOWN_DB, 0, 1)
    whole = formants.track(part, settings)
    tracks = [
        Curve(
            f"F{index + 1}",
            whole.times_s.tolist(),
            [None if math.isnan(v) else v for v in whole.hz[:, index]],
        )
        for index in range(FORMANTS)
    ]
    return Spectrogram(
        title,
        f"Dark is loud, {_SHOWN_DB:g} dB from white to black; dots are formants of every frame, also where "
        "there is no vowel; dashed lines are the vowels' ends.",
        Axis("time", "s"),
        Axis("frequency", "Hz"),
        levels.tolist(),
        (start, end, 0.0, settings.ceiling_hz),
        tracks,
        [(vowel.start_s, vowel.end_s, vowel.label) for vowel in vowels],
    )
