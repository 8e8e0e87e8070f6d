"""`voxpath vowels ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from voxpath.cli.parts import JSON, Command, Decorated, Group, Integer, Number, save


@click.group(cls=Group)
def vowels() -> None:
    """Formants and articulation of vowels, measured by Praat (needs the extra vowels)."""


def _formant_options(function: Decorated) -> Decorated:
    options = [
        click.option(
            "--method",
            type=click.Choice(["burg", "dap"]),
            default="burg",
            show_default=True,
            help="Burg's linear prediction, or resonances fitted to the harmonics of a voice.",
        ),
        click.option(
            "--ceiling",
            type=Number(1000, 20000),
            default=5000.0,
            show_default=True,
            help="Formants are looked for below it, Hz: 5000 for men, 5500 for women.",
        ),
        click.option(
            "--formants",
            type=Integer(4, 8),
            default=5,
            show_default=True,
            help="How many there are below the ceiling: one a kHz of a man's; 4 below 4000 Hz.",
        ),
        click.option(
            "--window",
            type=Number(5, 200),
            default=25.0,
            show_default=True,
            help="Effective length of the window, ms.",
        ),
        click.option("--step", type=Number(0.5, 50), help="Between frames, ms; a quarter window."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _vowel_options(function: Decorated) -> Decorated:
    options = [
        click.option("--tier", help="The tier of the vowels; needed where the TextGrid has several."),
        click.option("--contexts", metavar="TIER", help="The tier whose labels are the vowels' contexts."),
        _formant_options,
        click.option("--report", metavar="FILE.html", type=click.Path(path_type=Path), help="Write a page."),
        save("a row for each vowel"),
        JSON,
    ]
    for option in reversed(options):
        function = option(function)
    return function


@vowels.command(
    "measure",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels measure speech.wav speech.TextGrid --report vowels.html
  voxpath vowels measure film.wav film.TextGrid film.contours.json --contexts context --reference plain
""",
)
@click.argument("audio", type=click.Path(path_type=Path))
@click.argument("textgrid", type=click.Path(path_type=Path))
@click.argument("contours", required=False, type=click.Path(path_type=Path))
@_vowel_options
@click.option("--reference", metavar="CONTEXT", help="What others are compared with; the first otherwise.")
def vowels_measure(audio: Path, textgrid: Path, contours: Path | None, **options: Any) -> int:
    """Measures F1 to F4 of the vowels that a TEXTGRID marks in an AUDIO file, and gestures from CONTOURS."""
    from voxpath.cli.actions import vowels as action

    return action.measure(audio, textgrid, contours, action.Options(**options))


@vowels.command(
    "compare",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels compare speech.wav decoded.wav speech.TextGrid --report shifts.html
""",
)
@click.argument("reference", type=click.Path(path_type=Path))
@click.argument("degraded", type=click.Path(path_type=Path))
@click.argument("textgrid", type=click.Path(path_type=Path))
@_vowel_options
def vowels_compare(reference: Path, degraded: Path, textgrid: Path, **options: Any) -> int:
    """Tells how far the formants of a REFERENCE move in a DEGRADED version of it."""
    from voxpath.cli.actions import vowels as action

    return action.compare(reference, degraded, textgrid, action.Options(**options))


@vowels.command(
    "trace",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels trace first.json frame-*.png --save film.json
  voxpath vowels trace film.json frame-*.png --after 0.24 --save film.json
""",
)
@click.argument("contours", type=click.Path(path_type=Path))
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--save", required=True, metavar="FILE.json", type=click.Path(path_type=Path), help="Write it.")
@click.option("--after", type=Number(), help="Propose frames later than that anew, s; else missing ones.")
@click.option(
    "--blur",
    type=Number(0.5, 50),
    default=4.0,
    show_default=True,
    help="Blur images by so many pixels: how far an edge is seen, and how fine it is.",
)
@JSON
def vowels_trace(contours: Path, images: tuple[Path, ...], **options: Any) -> int:
    """Proposes the contours of a film from its IMAGES (needs the extra images); its CONTOURS are kept.

    Each frame begins as the one before, and is drawn to the edges of its image. Correct what is wrong in the
    file, and have the frames after it proposed anew.
    """
    from voxpath.cli.actions import vowels as action

    return action.trace(contours, images, **options)


@vowels.command(
    "accuracy",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels accuracy --method dap
""",
)
@_formant_options
@JSON
def vowels_accuracy(**options: Any) -> int:
    """Tells how far F1 to F3 are off at vowels with known resonances, with these settings."""
    from voxpath.cli.actions import vowels as action

    return action.accuracy(action.Finding(**options))
