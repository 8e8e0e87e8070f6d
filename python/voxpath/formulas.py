"""For formulas of your own: what one is made of, and a file of them.

A file for `voxpath run --formulas FILE` is Python, and lists formulas as `backends/formula/backend.py` lists
those of the literature: `TRANSFER_FORMULAS`, `STREAM_FORMULAS` or both. In Python a `Formulas` does the same.
docs/tutorial/3-own-formula.md writes one.
"""

from __future__ import annotations

import traceback
import types
from pathlib import Path

from voxpath import files
from voxpath.backends.formula.backend import BUILT_IN
from voxpath.backends.formula.base import Formula, Formulas
from voxpath.backends.formula.problems import FormulaError, NotApplicableError
from voxpath.backends.formula.stream import Stream
from voxpath.backends.formula.transfer import (
    Transfer,
    data_loss,
    need_free_slow_start,
    need_idle_medium,
    need_losses,
    need_no_loss,
    need_order,
    need_reno,
    need_room,
)

__all__ = [
    "Formula",
    "FormulaError",
    "Formulas",
    "NotApplicableError",
    "Stream",
    "Transfer",
    "data_loss",
    "load",
    "need_free_slow_start",
    "need_idle_medium",
    "need_losses",
    "need_no_loss",
    "need_order",
    "need_reno",
    "need_room",
]

_LISTS = ("TRANSFER_FORMULAS", "STREAM_FORMULAS")


def load(path: Path | str) -> Formulas:
    """The formulas of a file; the file is executed.

    Raises:
        FormulaError: It cannot be read or executed, lists no formula, or uses a name that is taken.
    """
    path = Path(path)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        # Not imported: that would keep a cache beside the file, and believe it right after an edit.
        exec(compile(files.read(path), str(path), "exec"), module.__dict__)  # noqa: S102 - asked for
    except OSError as error:
        raise FormulaError(f"{path} cannot be read: {error.strerror or error}") from None
    except SyntaxError as error:
        raise FormulaError(f"{path}:{error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise FormulaError(f"{_place(error, path)}: {_said(error)}") from error
    lists = [module.__dict__.get(name, ()) for name in _LISTS]
    for name, found in zip(_LISTS, lists, strict=True):
        if not isinstance(found, (list, tuple)) or not all(isinstance(item, Formula) for item in found):
            raise FormulaError(f"{path}: {name} is a list of Formula")
    if not any(lists):
        raise FormulaError(f"{path} lists no formula: it sets {' or '.join(_LISTS)}, a list of Formula")
    try:
        own = Formulas(*lists)
        _ = BUILT_IN + own
    except FormulaError as error:
        raise FormulaError(f"{path}: {error}") from None
    return own


def _place(error: BaseException, path: Path) -> str:
    """The line of the file that was executed when it went wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((f"{path}:{frame.lineno}" for frame in frames if frame.filename == str(path)), str(path))


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, FormulaError) else f"{type(error).__name__}: {error}"
