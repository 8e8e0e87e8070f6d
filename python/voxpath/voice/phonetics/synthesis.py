"""A vocal tract whose truth is known: Praat's articulatory synthesiser (Boersma 1998).

Muscles in; sound, area function and contours out. The contours are Praat's own drawing, read back from the
PostScript that the program writes, because no command tells them as numbers.
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.phonetics import praat
from voxpath.voice.phonetics.contours import Frame
from voxpath.voice.phonetics.problems import PhoneticsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voxpath.voice.phonetics.geometry import Points

Muscles = dict[str, float]
"""Activity by Praat's name of the muscle; those that are not named are at rest."""

RATE_HZ = 22050
SECTION_M = 0.001
"""Of the area functions that Praat gives."""

_VOICED = {"Interarytenoid": 0.5, "LevatorPalatini": 1.0}
"""The glottis is closed for voicing, the velum for an oral vowel."""
_BREATH = ((0.0, 0.1), (0.03, 0.0))
"""Times in seconds and volumes of the lungs, which collapse and blow."""

_PX_PER_MM = 24.0
"""Of the drawing: 100 mm on the inner 80 % of a viewport of 5 inches with 600 dots each."""
_ARC_POINTS = 25


@dataclass(frozen=True)
class Speaker:
    """One of Praat's speakers.

    Attributes:
        kind: `Male`, `Female` or `Child`.
        tubes: Of the glottis: 1, 2 or 10 masses.
    """

    kind: str = "Male"
    tubes: int = 2

    def make(self) -> Any:
        """The object of Praat."""
        return praat.call("Create Speaker...", "speaker", self.kind, str(self.tubes))


def areas(speaker: Speaker, muscles: Muscles) -> NDArray[np.float64]:
    """The area function, from the glottis to the lips, in m² for each mm."""
    word = praat.call("Create Artword...", "posture", 1.0)
    for muscle, value in muscles.items():
        praat.call(word, "Set target...", 0.0, value, muscle)
        praat.call(word, "Set target...", 1.0, value, muscle)
    posture = praat.call(word, "To Art (slice)...", 0.5)
    tract = praat.call([speaker.make(), posture], "To VocalTract")
    found: NDArray[np.float64] = np.asarray(praat.call(tract, "To Matrix").values[0], float)
    return found


def sound(speaker: Speaker, muscles: Muscles, duration_s: float, end: Muscles | None = None) -> Any:
    """A vowel, as a Praat sound.

    Args:
        speaker: Whose tract.
        muscles: Its posture.
        duration_s: How long.
        end: The posture at the end, if it moves there evenly.
    """
    word = praat.call("Create Artword...", "vowel", duration_s)
    for time, volume in (*_BREATH, (duration_s, 0.0)):
        praat.call(word, "Set target...", time, volume, "Lungs")
    last = end if end is not None else muscles
    for muscle in sorted({*muscles, *last, *_VOICED}):
        for time, posture in ((0.0, muscles), (duration_s, last)):
            praat.call(word, "Set target...", time, ({**_VOICED, **posture}).get(muscle, 0.0), muscle)
    found = praat.call([speaker.make(), word], "To Sound...", RATE_HZ, 25, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    return found[0] if isinstance(found, list) else found


def contours(speaker: Speaker, postures: Sequence[Muscles], rate_hz: float) -> list[Frame]:
    """The contours of postures, as frames one after the other.

    Raises:
        PhoneticsError: Praat is not installed, or does not draw what is known.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "draw.praat")
        script.write_text(_script(speaker, postures, Path(folder)), "utf-8")
        done = subprocess.run(  # noqa: S603
            [praat.program(), "--run", str(script)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise PhoneticsError(f"praat cannot draw the tract: {done.stderr.strip()}")
        return [
            Frame(index / rate_hz, read_drawing(Path(folder, f"{index}.eps").read_text("latin-1")))
            for index in range(len(postures))
        ]


def _script(speaker: Speaker, postures: Sequence[Mapping[str, float]], folder: Path) -> str:
    lines = [f'speaker = Create Speaker: "speaker", "{speaker.kind}", "{speaker.tubes}"']
    for index, muscles in enumerate(postures):
        lines.append('word = Create Artword: "posture", 1')
        for muscle, value in muscles.items():
            lines += [f'Set target: {time}, {value:.9g}, "{muscle}"' for time in (0, 1)]
        lines += [
            "posture = To Art (slice): 0.5",
            "selectObject: speaker, posture",
            "Erase all",
            "Select outer viewport: 0, 5, 0, 5",
            "Draw",
            f'Save as EPS file: "{folder / f"{index}.eps"}"',
            "removeObject: word, posture",
        ]
    return "\n".join(lines) + "\n"


_STROKE = re.compile(
    r"N (?P<x>\S+) (?P<y>\S+) moveto\s+(?P<dx>\S+) (?P<dy>\S+) L\s+stroke"
    r"|N (?P<cx>\S+) (?P<cy>\S+) (?P<r>\S+) (?P<a>\S+) (?P<b>\S+) arc stroke"
)

_STROKES = 25
"""Of a drawing: 5 lines and the arc of the tongue's body, 9 lines to the chin and back; 5 lines, the palate's
arc, 4 lines."""


def read_drawing(text: str) -> dict[str, Points]:
    """The contours of a drawing, in mm from the centre of the palate's arc, forward and upward.

    Raises:
        PhoneticsError: It is not the drawing of a tract.
    """
    strokes = [_stroke(found) for found in _STROKE.finditer(text)]
    arcs = [index for index, points in enumerate(strokes) if len(points) > 2]
    if len(strokes) != _STROKES or arcs != [5, 20]:
        raise PhoneticsError("this version of praat draws the tract in another way")
    # Arcs are drawn from the front to the back.
    inner, outer = strokes[:15], strokes[15:]
    origin = _centre(text)
    tongue = [inner[3][0], inner[4][0], *inner[5][::-1], inner[6][1]]
    palate = [outer[6][1], *outer[5]]
    wall = [outer[4][0], outer[3][0], outer[2][0], outer[1][0]]
    found = {
        "tongue": tongue,
        "palate": palate,
        "pharynx_wall": wall,
        "upper_incisor": [outer[6][1]],
        "upper_lip": [outer[7][0], outer[7][1], outer[8][1], outer[9][1]],
        "lower_lip": [inner[10][0], inner[10][1], inner[11][1], inner[12][1]],
        # From the floor of the mouth to the edge of the lower incisor.
        "jaw": [inner[7][1], inner[8][1], inner[9][1]],
        # The line of the glottis.
        "larynx": [inner[0][0], outer[0][0]],
        "hyoid": [inner[3][0]],
    }
    return {name: (np.asarray(points, float) - origin) / _PX_PER_MM for name, points in found.items()}


def _stroke(found: re.Match[str]) -> list[tuple[float, float]]:
    if found["x"] is not None:
        x, y, dx, dy = (float(found[name]) for name in ("x", "y", "dx", "dy"))
        return [(x, y), (x + dx, y + dy)]
    x, y, radius, first, last = (float(found[name]) for name in ("cx", "cy", "r", "a", "b"))
    angles = np.radians(np.linspace(first, last if last > first else last + 360, _ARC_POINTS))
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


def _centre(text: str) -> NDArray[np.float64]:
    """Of the palate's arc, which is the last of the drawing."""
    last = [found for found in _STROKE.finditer(text) if found["cx"] is not None][-1]
    return np.asarray([float(last["cx"]), float(last["cy"])])
