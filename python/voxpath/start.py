"""Where the command line begins: nothing is imported here that takes long."""

import gc
import os
import signal
import sys

from voxpath.interrupts import INTERRUPTED

_OBJECTS_UNTIL_COLLECTED = 200_000
"""Importing makes half of them."""


def main() -> None:
    """The entry point of the console script."""
    # What is imported stays. To look through it for garbage takes 2 % of a short command.
    gc.set_threshold(_OBJECTS_UNTIL_COLLECTED)
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    _open_streams()
    from voxpath import halts
    from voxpath.cli import main as command_line

    halts.reached("start.imported")
    try:
        signal.signal(signal.SIGINT, handler)
        command_line.main()
    except KeyboardInterrupt:
        # The command has ended already, or had not begun.
        _end()


def _open_streams() -> None:
    """Opens standard streams that are closed: else the next file that is opened would be one of them.

    Nothing is read from the input then, and what is written to the output fails as it would.
    """
    for number, mode in enumerate((os.O_RDWR, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _end(*_: object) -> None:
    """There is nothing to be put away, and imports may take an interrupt for a fault of their own."""
    os.write(2, b"voxpath: interrupted\n")
    os._exit(INTERRUPTED)
