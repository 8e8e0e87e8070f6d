"""Workers that have started, and what it takes to be one of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from voxpath.sweeps.shards import Courier


@dataclass(frozen=True)
class Crew:
    """Workers that have started.

    Attributes:
        pool: Hands tasks to them.
        width: How many tasks they perform at once, asked again and again: workers join and leave.
        marks: What a worker must see before it makes a run.
        look: Called again and again while there is nothing but to wait.
        stop: Ends the runs of workers that are threads of this process.
        courier: Brings the runs of workers that do not see the stores.
        queued: How many tasks each worker has at a time: with two, none waits for its next.
    """

    pool: Executor
    width: Callable[[], int]
    marks: tuple[Path, ...] = ()
    look: Callable[[], None] = lambda: None
    stop: _engine.Stop | None = None
    courier: Courier | None = None
    queued: int = 2


def unfit(build: str, marks: Sequence[Path]) -> str | None:
    """Why this process cannot make runs for another one, if it cannot.

    Args:
        build: The engine that is needed.
        marks: Folders that the other one made, one in each store (`Store.marked`).
    """
    if build != _engine.BUILD:
        return f"has the engine {_engine.BUILD}, but {build} is needed"
    for mark in marks:
        try:
            with tempfile.TemporaryFile(dir=mark):
                pass
        except (FileNotFoundError, NotADirectoryError):
            return f"does not see the store {mark.parent}: it needs that folder under the same path"
        except OSError as error:
            return f"cannot write to the store {mark.parent}: {error.strerror or error}"
    return None
