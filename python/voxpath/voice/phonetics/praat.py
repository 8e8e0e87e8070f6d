"""Praat, where it is installed: as a library for sound, as a program for what it only draws.

Praat is under the GPL. Nothing else of voxpath imports it, and this module does so when it is asked.
"""

from __future__ import annotations

import shutil
import warnings
from typing import TYPE_CHECKING, Any

from voxpath import files
from voxpath.extras import install
from voxpath.voice.phonetics.problems import PhoneticsError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


class PraatMissingError(PhoneticsError):
    """Praat is not installed."""


def library() -> ModuleType:
    """Praat as a Python module (praat-parselmouth).

    Raises:
        PraatMissingError: It is not installed.
    """
    try:
        import parselmouth
    except ImportError:
        raise PraatMissingError(
            f"vowels are measured by Praat, which is not installed: {install('vowels')}"
        ) from None
    return parselmouth  # type: ignore[no-any-return]


def call(*arguments: Any) -> Any:
    """A command of Praat, with the objects that it acts on before its name and its settings behind it."""
    library()
    from parselmouth.praat import call as praat_call

    return praat_call(*arguments)


def program() -> str:
    """The path of the program `praat`.

    Raises:
        PraatMissingError: It is not installed.
    """
    found = shutil.which("praat")
    if found is None:
        raise PraatMissingError(
            "contours of the synthesiser are drawn by the program praat, which is not installed: "
            "apt-get install praat"
        )
    return found


def version() -> str:
    """Of the library, for reports."""
    module = library()
    return f"Praat {module.PRAAT_VERSION} (praat-parselmouth {module.VERSION})"


def read_sound(path: Path | str) -> Any:
    """A recording as a Praat sound of one channel; several are averaged.

    Raises:
        PhoneticsError: There is no such file, or it is no recording.
    """
    try:
        # Praat opens it by its name.
        files.regular(path).close()
    except IsADirectoryError:
        raise PhoneticsError(f"{path}: is a folder, no recording") from None
    except FileNotFoundError:
        raise PhoneticsError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise PhoneticsError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    module = library()
    try:
        with warnings.catch_warnings(record=True) as said_too:
            warnings.simplefilter("always", module.PraatWarning)
            sound = module.Sound(str(path))
    except module.PraatError as error:
        said = " ".join(str(error).split("\n")[0].split())
        raise PhoneticsError(f"{path}: is no recording that Praat can read: {said}") from None
    if said_too:
        # Praat reads a file that is cut off, and only warns; the rest would be silence.
        told = " ".join(str(said_too[0].message).split())
        raise PhoneticsError(f"{path}: is not whole, or not what its header says: {told}")
    return sound.convert_to_mono() if sound.n_channels > 1 else sound
