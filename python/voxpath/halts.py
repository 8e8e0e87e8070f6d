"""Named points of the program at which a test can halt a process.

Set `VOXPATH_HALT_AT` to the name of a point, and a process stops itself whenever it reaches that point, as
`kill -STOP` would stop it. The test then kills or interrupts it exactly there, or lets it go on with SIGCONT
(`tests/processes.py`). Only tests set the variable. Stopping is all that it can do, and whoever can set it
could stop the process anyway.
"""

from __future__ import annotations

import os
import signal
from typing import Literal

VARIABLE = "VOXPATH_HALT_AT"

Point = Literal[
    "client.block-sent",
    "cluster.made",
    "entered.started",
    "foreground.waits",
    "launch.answered",
    "launch.begins",
    "launch.forked",
    "launch.told",
    "launch.unblocked",
    "network.begins",
    "packs.merged",
    "run.begins",
    "run.noted",
    "session.ends",
    "session.hosts-made",
    "session.runner-started",
    "start.imported",
    "store.folder-made",
    "store.half-written",
    "store.moved-away",
    "store.renamed",
    "store.written",
]
"""Those of `launch` are reached without this module."""

_HALT_AT = os.environ.get(VARIABLE)


def reached(point: Point) -> None:
    """Halts this process if a test wants it to halt here."""
    if point == _HALT_AT:
        # The signal goes to this very thread, which therefore takes no further step; the others stop with it.
        signal.raise_signal(signal.SIGSTOP)
