"""Studies: published work reproduced with today's parts, one package per publication, all of one shape.

`README.md` tells the question, the set-up and our reading of it, `scenario.py` builds the scenarios,
`published.toml` holds every published number and its tolerance, `compare.py` asks for everything at once,
lays ours beside theirs and makes the report, `figures.py` draws; beside them one file for each further idea.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voxpath.studies.base import Study

NAMES = tuple(sorted(found.name for found in iter_modules(__path__) if found.ispkg))
"""Every study: each folder here is one."""


def load(name: str) -> Study:
    """The study of a name.

    Raises:
        KeyError: There is no such study.
    """
    if name not in NAMES:
        raise KeyError(name)
    study: Study = import_module(f"voxpath.studies.{name}").STUDY
    return study
