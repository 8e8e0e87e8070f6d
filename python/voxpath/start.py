"""Where the command line begins: nothing is imported here that takes long."""

import os
import signal

from voxpath.interrupts import INTERRUPTED


def main() -> None:
    """The entry point of the console script."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from voxpath import halts
    from voxpath.cli import main as command_line

    halts.reached("start.imported")
    signal.signal(signal.SIGINT, handler)
    command_line.main()


def _end(*_: object) -> None:
    """There is nothing to be put away yet, and imports may take an interrupt for a fault of their own."""
    os.write(2, b"voxpath: interrupted\n")
    os._exit(INTERRUPTED)
