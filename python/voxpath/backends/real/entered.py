"""A program on a host, as the process that started it sees it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import weakref
from typing import TYPE_CHECKING, Any

from voxpath import halts, interrupts
from voxpath.backends.real import launch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voxpath.backends.real.session import Session

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group: `struct ucred` of <sys/socket.h>."""

_LOOK_S = 0.05


class Entered(subprocess.Popen[Any]):
    """A program on a host, or what is about to become one.

    Our child is `nsenter`, its child is `launch`, and the program is the child of that. Signals are for the
    program; those that are sent too early wait for it. The exit code is the program's; where a signal ended
    the program, 128 and the signal's number, as of a shell.
    """

    def __init__(
        self,
        session: Session,
        host: int,
        command: Sequence[str],
        *,
        directory: str | None = None,
        held: bool = False,
        **options: Any,
    ) -> None:
        """Starts it.

        Args:
            session: The hosts.
            host: The index of one.
            command: The program and its arguments.
            directory: Where it starts; here without it.
            held: Whether it waits for `let_go`.
            options: As of `subprocess.Popen`.
        """
        self._program: int | None = None
        self._held = held
        self._channel, theirs = socket.socketpair()
        weakref.finalize(self, self._channel.close)
        # So the kernel says who writes, by its number in our namespace of processes.
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        options["pass_fds"] = (*options.get("pass_fds", ()), theirs.fileno())
        entering = session.entering(host, theirs.fileno(), command, directory or os.getcwd())  # noqa: PTH109 - as it is called, not as it resolves
        with theirs, interrupts.blocked():
            super().__init__(entering, **options)
        # What errors are to show.
        self.args = list(command)
        halts.reached("entered.started")
        if not held:
            self.let_go(())

    @property
    def is_held(self) -> bool:
        """Whether it waits for `let_go`."""
        return self._held

    @property
    def leads_group(self) -> bool:
        """Whether it has a process group of its own; not to be asked when it has ended."""
        return os.getpgid(self.pid) == self.pid

    def is_there(self, patience_s: float = 0.0) -> bool:
        """Whether the process is there that is, or becomes, the program: from then on no signal misses it."""
        if self._program is None and select.select([self._channel], [], [], patience_s)[0]:
            with contextlib.suppress(ConnectionError):
                said, known, *_ = self._channel.recvmsg(
                    len(launch.READY), socket.CMSG_SPACE(_CREDENTIALS.size)
                )
                if said:
                    self._hold(_CREDENTIALS.unpack(known[0][2])[0])
        return self._program is not None

    def let_go(self, came: Iterable[int]) -> None:
        """Lets the program begin.

        Args:
            came: Signals that came before it was there.
        """
        self._held = False
        with contextlib.suppress(ConnectionError):
            self._channel.sendall(launch.GO + bytes(came))

    def send_signal(self, sig: int) -> None:
        """Sends a signal to the program, once it is there; SIGKILL to all of its process group at once."""
        if sig == signal.SIGKILL:
            self._kill()
            return
        while self.poll() is None:
            if self.is_there(_LOOK_S):
                self._send(sig)
                return

    def send_to_group(self, sig: int) -> None:
        """Sends a signal to the program and what it has started, once it is there."""
        while self.poll() is None:
            if self.is_there(_LOOK_S):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, sig)
                return

    def end(self, sig: int) -> None:
        """Has it end by a signal; what shares our process group, or was never let go, is killed."""
        if self.leads_group and not self._held and sig != signal.SIGKILL:
            self.send_to_group(sig)
        else:
            self._kill()

    def _kill(self) -> None:
        if self.poll() is not None:
            return
        if self.leads_group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        elif self.is_there():
            self._send(signal.SIGKILL)
        else:
            # What it entered for ends with the hosts.
            super().send_signal(signal.SIGKILL)

    def _send(self, sig: int) -> None:
        if self._program is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._program, sig)

    def _hold(self, program: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._program = os.pidfd_open(program)
            weakref.finalize(self, os.close, self._program)
