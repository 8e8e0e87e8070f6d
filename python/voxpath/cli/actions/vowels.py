"""What `voxpath vowels ...` does."""

from __future__ import annotations

import json as writing
import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from voxpath import files, terminal
from voxpath.cli.actions.common import print_json
from voxpath.document import Cell, Facts, Report, Section, Table, Text
from voxpath.tables import print_document
from voxpath.voice.phonetics import accuracy as judging
from voxpath.voice.phonetics import compare as comparing
from voxpath.voice.phonetics import measurement, praat, textgrid
from voxpath.voice.phonetics.formants import FORMANTS
from voxpath.voice.phonetics.problems import PhoneticsError
from voxpath.voice.phonetics.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voxpath.document import Part
    from voxpath.voice.phonetics.compare import Comparison
    from voxpath.voice.phonetics.settings import Method
    from voxpath.voice.phonetics.tracing import Moved


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How formants are looked for, as `cli.vowels` describes it."""

    method: Method
    ceiling: float
    formants: int
    window: float
    step: float | None
    json: bool = False

    @property
    def settings(self) -> Settings:
        """How formants are looked for."""
        window = self.window / 1000
        step = window / 4 if self.step is None else self.step / 1000
        return Settings(
            ceiling_hz=self.ceiling, poles=self.formants, window_s=window, step_s=step, method=self.method
        )


@dataclass(frozen=True, kw_only=True)
class Options(Finding):
    """Options of what measures recordings."""

    tier: str | None
    contexts: str | None
    report: Path | None
    save: Path | None
    reference: str | None = None


def measure(audio: Path, grid: Path, film: Path | None, options: Options) -> int:
    """Measures the vowels of a recording; 0.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    _check(options)
    try:
        settings = options.settings
        found, sound = measurement.measure(
            audio, grid, film, settings, tier=options.tier, contexts=options.contexts
        )
        references = found.references(options.reference)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    made = measurement.tables(found, references)
    if options.json:
        told = {
            "reference": references.name,
            "kinds": measurement.kinds(found, references),
            "vowels": measurement.rows(found),
        }
        _print_json("vowels measure", settings, told)
    else:
        _print(settings, made)
    if options.save is not None:
        import polars as pl

        files.save(pl.DataFrame(measurement.rows(found)), options.save)
        _note(f"vowels: {options.save}", options)
    if options.report is not None:
        pictures: list[Part] = [measurement.vowel_space(found)]
        if found.film is not None:
            pictures += [measurement.contour_overlay(found), *measurement.component_shapes(found)]
        pictures.append(measurement.spectrogram(sound, settings, found.vowels, "Spectrogram"))
        _write(
            options.report,
            Report(
                f"Vowels of {audio.name}",
                "Which formants do the vowels have by context, and which gestures go with them?",
                _answer(found, references),
                [
                    Section("Method", [Facts("Settings", settings.told)]),
                    Section("Results", list(made)),
                    Section("Pictures", pictures),
                ],
                [("command", _command("measure", [audio, grid, film], options))],
            ),
            options,
        )
    return 0


def trace(
    film: Path, pictures: Sequence[Path], *, save: Path, after: float | None, blur: float, json: bool
) -> int:
    """Proposes the frames of a film that a person did not draw; 0.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    from voxpath.voice.phonetics import contours, tracing

    try:
        found = tracing.trace(
            contours.load(film), str(film), tracing.images(pictures), blur_px=blur, after_s=after
        )
    except PhoneticsError as error:
        raise click.ClickException(str(error)) from None
    files.save_page(writing.dumps(found.data, separators=(",", ":")) + "\n", save)
    if json:
        rows = [one._asdict() for one in found.moved]
        print_json({"command": "vowels trace", "drawn": found.drawn, "proposed": rows})
    else:
        print_document(_proposed(found.moved))
    terminal.console(stderr=json).print(
        f"contours: {save}, {found.drawn} of {len(pictures)} frames as they were drawn"
    )
    return 0


def _proposed(moved: Sequence[Moved]) -> Table:
    """Where a person should look: what moved far, and what was not found."""
    rows: list[list[str | Cell]] = []
    for name in dict.fromkeys(one.articulator for one in moved):
        mine = [one for one in moved if one.articulator == name]
        furthest = max(mine, key=lambda one: one.px)
        lost = [f"{one.time_s:.3f}" for one in mine if not one.found]
        told = f"{furthest.px:.1f} at {furthest.time_s:.3f} s"
        rows.append([name, str(len(mine)), told, str(len(lost)), lost[0] if lost else ""])
    return Table(
        "Proposed contours",
        ["contour", "frames", "moved at most, px", "not found", "first, s"],
        rows,
        ["What was not found, as a point always is, is where it was in the frame before."],
    )


def _command(name: str, paths: Sequence[Path | None], options: Options) -> str:
    """What gives the same numbers again; files that it writes are no part of it."""
    words = ["voxpath", "vowels", name, *(str(path) for path in paths if path is not None)]
    for option in ("tier", "contexts", "reference", "method", "ceiling", "formants", "window", "step"):
        value = getattr(options, option)
        if value is not None:
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


def _answer(found: measurement.Measurement, references: measurement.References) -> list[str]:
    from voxpath.voice.phonetics import summary

    told = [f"{len(found.vowels)} vowels, {len(found.keys)} kinds; the reference is {references.told}."]
    one = {group.key: group for group in summary.groups(found.vowels, 1)}
    two = {group.key: group for group in summary.groups(found.vowels, 2)}
    for key in found.keys:
        reference = references.by_key.get(key, key)
        if key != reference and one[key].n and one[reference].n:
            shifts = [summary.difference(groups[key], groups[reference]).hz for groups in (one, two)]
            told.append(f"{key}: F1 {shifts[0]:+.0f} Hz, F2 {shifts[1]:+.0f} Hz.")
    return told


def compare(reference: Path, degraded: Path, grid: Path, options: Options) -> int:
    """Lays two versions of a recording beside each other; 0.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    _check(options)
    try:
        settings = options.settings
        sounds = [praat.read_sound(path) for path in (reference, degraded)]
        first = comparing.reference(
            sounds[0],
            str(reference),
            textgrid.read(grid),
            settings,
            tier=options.tier,
            contexts=options.contexts,
        )
        found = first.shifts(sounds[1], str(degraded)).judged()
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    made = [comparison_table(found)]
    if options.json:
        _print_json("vowels compare", settings, _shifts_told(found))
    else:
        _print(settings, made)
    if options.save is not None:
        import polars as pl

        files.save(pl.DataFrame(shift_rows(found)), options.save)
        _note(f"shifts: {options.save}", options)
    if options.report is not None:
        vowels = list(first.vowels)
        pictures: list[Part] = [
            measurement.spectrogram(sound, settings, vowels, title)
            for sound, title in zip(sounds, ("Reference", "Degraded"), strict=True)
        ]
        _write(
            options.report,
            Report(
                f"{degraded.name} against {reference.name}",
                "How far do the formants of the vowels move, and can that be told from chance?",
                [verdict_sentence(found)],
                [
                    Section("Method", [Facts("Settings", settings.told), Text([_METHOD])]),
                    Section("Results", list(made)),
                    Section("Pictures", pictures),
                ],
                [("command", _command("compare", [reference, degraded, grid], options))],
            ),
            options,
        )
    return 0


def accuracy(options: Finding) -> int:
    """Measures vowels with known resonances; 0.

    Raises:
        click.ClickException: Praat is not installed, or settings that cannot be.
    """
    try:
        if options.json:
            _print_json("vowels accuracy", options.settings, {"errors": judging.rows(options.settings)})
        else:
            _print(options.settings, [judging.table(options.settings)])
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    return 0


_METHOD = (
    "The limit is the repeatability limit of ISO 5725-6: two measurements of the same vowel of the "
    "reference, with ends 5 ms apart, windows a fifth longer or shorter, or ceilings 4 % higher or lower, "
    "lie within it 95 times of a hundred. A mean shift is repeatable if its whole interval lies within the "
    "limit, shifted if the mean lies beyond and the interval excludes 0, else undecided."
)


def comparison_table(found: Comparison) -> Table:
    """The shifts by vowel, and of all of them."""
    lines: list[list[str | Cell]] = []
    for one in found.moved:
        if one.shift is None:
            lines.append(
                [one.key or "all", f"F{one.formant}", "0", "", "", "", "", Cell("no answer", "open")]
            )
            continue
        lines.append(
            [
                one.key or "all",
                f"F{one.formant}",
                str(one.shift.n),
                str(one.shift),
                f"{one.size:.0f}",
                f"{one.limit_hz:.0f}",
                f"{100 * one.beyond:.0f}",
                Cell(one.verdict, comparing.MARKS[one.verdict]),
            ]
        )
    columns = ["vowel", "formant", "n", "mean shift Hz", "median size Hz", "limit Hz", "beyond %", "verdict"]
    notes = ["Mean shifts have 95 % intervals over the vowels; `beyond` is the part of them past the limit."]
    if found.lost:
        names = ", ".join(f"{vowel.key} at {vowel.start_s:.2f} s" for vowel in found.lost)
        notes.append(f"Not to be measured in the second recording: {names}.")
    if found.unknown:
        names = ", ".join(f"{vowel.key} at {vowel.start_s:.2f} s" for vowel in found.unknown)
        notes.append(f"No F1 in the reference, so nothing to compare: {names}.")
    return Table("Shifts of the formants", columns, lines, notes)


def verdict_sentence(found: Comparison) -> str:
    """F1 to F4 of all vowels in one sentence."""
    told = [f"F{one.formant} {one.verdict}" for one in found.overall]
    lost = f"; {len(found.lost)} vowels cannot be measured any more" if found.lost else ""
    unknown = f"; {len(found.unknown)} have no F1 in the reference" if found.unknown else ""
    return f"Over {len(found.shifts)} vowels: {', '.join(told)}{lost}{unknown}."


def shift_rows(found: Comparison) -> list[dict[str, object]]:
    """A row for each vowel, for files."""
    return [
        {
            "vowel": shift.reference.label,
            "context": shift.reference.context,
            "start_s": shift.reference.start_s,
            **{f"f{index + 1}_hz": shift.reference.hz[index] for index in range(FORMANTS)},
            **{f"f{index + 1}_shift_hz": shift.hz[index] for index in range(FORMANTS)},
        }
        for shift in found.shifts
    ]


def _shifts_told(found: Comparison) -> dict[str, Any]:
    return {
        "shifts": [
            {
                "vowel": one.key or None,
                "formant": one.formant,
                "n": one.shift.n if one.shift else 0,
                "mean_hz": one.shift.mean if one.shift else None,
                "half_width_hz": one.shift.half_width if one.shift else None,
                "median_size_hz": one.size,
                "limit_hz": one.limit_hz,
                "beyond": one.beyond,
                "verdict": one.verdict if one.shift else "no answer",
            }
            for one in found.moved
        ],
        "vowels": shift_rows(found),
        **{
            name: [
                {"vowel": vowel.label, "context": vowel.context, "start_s": vowel.start_s} for vowel in some
            ]
            for name, some in (("lost", found.lost), ("unknown", found.unknown))
        },
    }


def _print_json(command: str, settings: Settings, told: Mapping[str, Any]) -> None:
    print_json({"command": command, "settings": asdict(settings), **told})


def _note(text: str, options: Finding) -> None:
    terminal.console(stderr=options.json).print(text)


def _check(options: Options) -> None:
    try:
        if options.report is not None:
            files.check_page(options.report)
        if options.save is not None:
            files.check(options.save)
        praat.library()
    except PhoneticsError as error:
        raise click.ClickException(str(error)) from None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _print(settings: Settings, made: Sequence[Table]) -> None:
    out = terminal.console()
    out.print("; ".join(f"{name}: {value}" for name, value in settings.told))
    for table in made:
        print_document(table)


def _write(path: Path, report: Report, options: Finding) -> None:
    from voxpath.report.html import render

    files.save_page(render(report), path)
    _note(f"report: {path}", options)
