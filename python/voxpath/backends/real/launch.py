"""Between `nsenter` and a program: a process on a host that starts the program and tells how it ended.

A Python of its own executes this file for every program. It imports only what such a Python has loaded
already: `signal` would take as long as all the rest. `entered.Entered` starts it and holds the other end of
its channel.

No signal misses the program. The process that becomes the program blocks every signal from its first moment
on, says on the channel that it is there, and waits for the answer: the signals that came before, which only
`Entered` can know. It sends these to itself, and unblocks all right before `exec`. The kernel keeps one
blocked signal of each kind, so a signal that reached both processes counts once.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Sequence
    from typing import NoReturn
else:
    import _signal

READY = b"r"
"""What the channel says when the process is there that becomes the program."""

GO = b"g"
"""What it answers, with the numbers of signals behind it."""

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit codes as of `env` and `timeout`: there is no program, for these reasons."""

BY_SIGNAL = 128
"""A shell's exit code for what a signal has ended, without the signal's number."""

HALT_AT = "VOXPATH_HALT_AT"
"""As `halts.VARIABLE`."""

_OF_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ)
"""What Python ignores where nobody else does."""


def main(arguments: "Sequence[str]") -> "NoReturn":
    """Starts a program, waits for it, and ends as it did.

    Args:
        arguments: The channel's file descriptor; the signals that its parent blocked and the program is to
            have, with commas between; the directory; variables as NAME=VALUE; `--`; the command.
    """
    channel, unblocked, directory, *rest = arguments
    end = rest.index("--")
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    _reached("launch.begins")
    os.set_inheritable(int(channel), False)
    program = os.fork()
    if program == 0:
        mask = before - {int(number) for number in unblocked.split(",")}
        _become(int(channel), mask, directory, rest[:end], rest[end + 1 :])
    os.close(int(channel))
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    os._exit(BY_SIGNAL - code if code < 0 else code)


def _become(
    channel: int, mask: set[int], directory: str, assignments: "Sequence[str]", command: "Sequence[str]"
) -> "NoReturn":
    """Becomes the program."""
    _reached("launch.forked")
    os.write(channel, READY)
    _reached("launch.told")
    answer = os.read(channel, len(GO) + _signal.NSIG)
    if not answer:
        # Whoever started it is gone.
        os._exit(FAILED)
    for number in answer[len(GO) :]:
        os.kill(os.getpid(), number)
    for number in (_signal.SIGINT, *_OF_PYTHON):
        if number in _OF_PYTHON or _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)
    try:
        # Entering a mount namespace leads to its root directory.
        os.chdir(directory)
    except OSError as error:
        _fail(FAILED, f"cannot enter {directory}: {error.strerror}")
    environment = dict(os.environ)
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        environment[name] = value
    _reached("launch.answered")
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    _reached("launch.unblocked")
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606 - what the user says
    except (FileNotFoundError, NotADirectoryError) as error:
        _fail(NOT_FOUND, f"{command[0]}: {error.strerror}")
    except (OSError, ValueError) as error:
        _fail(NOT_EXECUTABLE, f"{command[0]}: {error.strerror if isinstance(error, OSError) else error}")


def _fail(code: int, message: str) -> "NoReturn":
    printed = "".join(character if character.isprintable() else "?" for character in message)
    os.write(2, f"voxpath: {printed}\n".encode(errors="replace"))
    os._exit(code)


def _reached(point: str) -> None:
    """As `halts.reached`."""
    if os.environ.get(HALT_AT) == point:
        _signal.raise_signal(_signal.SIGSTOP)


if __name__ == "__main__":
    main(sys.argv[1:])
