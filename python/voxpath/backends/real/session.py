"""A run's real hosts, as a context: made on entry, gone on exit, and gone too if this process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar, cast

from voxpath import halts, interrupts
from voxpath.backends.real import internet, launch, runner
from voxpath.backends.real.configuration import configurations, files
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.relays import environment, relays
from voxpath.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from voxpath.results.frames import Tables

__all__ = ["EDGE_VARIABLE", "Found", "Session"]

_Answer = TypeVar("_Answer")

EDGE_VARIABLE = "VOXPATH_EDGE"
"""In the environment: joins hosts to the network by "tun" or "veth" devices, whatever else would do."""

_ENDING_S = 5.0
"""How long the runner may take to put everything away."""

Found = tuple[tuple["Tables", str, "Mapping[str, bytes]"], str]
"""Tables, verdict and captures as of the simulator; and as JSON how faithful the run was."""


class Session:
    """Real hosts on a network that runs on the wall clock."""

    def __init__(self, plan: str) -> None:
        """Prepares nothing yet.

        Args:
            plan: JSON of the plan.

        Raises:
            UnanswerableError: The kernel cannot be what the plan asks for.
            RealError: What this host is told of the machine's ports cannot be.
        """
        self._plan = plan
        self._data = json.loads(plan)
        self._names = [node["name"] for node in self._data["nodes"]]
        self._configurations = configurations(self._data)
        self._relays = relays(self._data)
        self._asking = threading.Lock()

    def __enter__(self) -> Self:
        """Makes the hosts.

        Raises:
            RealError: The machine does not let us.
        """
        # Not by `-m`, which would give what it answers other names.
        code = f"from {runner.__name__} import main; main()"
        # Its own session: what a terminal sends is for this process, which ends the other one.
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        try:
            self._answer(type(None))
            halts.reached("session.runner-started")
            edge = os.environ.get(EDGE_VARIABLE)
            self._prepared = self._ask(
                runner.Prepare(self._configurations, edge, files(self._data), self._relays), runner.Prepared
            )
        except BaseException:
            self._end()
            raise
        self._internet = contextlib.ExitStack()
        self._outside: Callable[[], int | None] = lambda: None
        if (gateway := internet.gateway(self._data)) is not None:
            made = self._prepared
            place = (made.process, made.namespaces[gateway])
            try:
                self._outside = self._internet.enter_context(internet.joined(*place, rootless=made.rootless))
            except BaseException:
                self._end()
                raise
        halts.reached("session.hosts-made")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends everything that still runs on the hosts, and removes them."""
        try:
            self._internet.close()
        finally:
            self._end()

    def entering(self, host: int, channel: int, command: Sequence[str], directory: str) -> list[str]:
        """What `Entered` starts so that a command runs on a host."""
        entered = self._prepared
        proc = f"/proc/{entered.process}"
        user = [f"--user={proc}/ns/user", "--preserve-credentials"] if entered.rootless else []
        return [
            "nsenter",
            *user,
            f"--mount={proc}/fd/{entered.mounts[host]}",
            f"--pid=/proc/{entered.first_process}/ns/pid",
            f"--net={proc}/fd/{entered.namespaces[host]}",
            "--",
            *(sys.executable, "-I", "-S", launch.__file__, str(channel)),
            ",".join(str(int(number)) for number in interrupts.ENDING),
            directory,
            *(f"{name}={value}" for name, value in environment(self._data, host).items()),
            "--",
            *command,
        ]

    def host(self, name: str) -> int:
        """The index of a real host.

        Raises:
            ValueError: There is no real host of that name.
        """
        for index in self._configurations:
            if self._names[index] == name:
                return index
        if name in self._names:
            raise ValueError(
                f"{name!r} is no real host, since nothing runs there: [hosts.{name}] real = true makes it one"
            )
        known = [self._names[index] for index in self._configurations]
        raise ValueError(f"{name!r} is no host; {did_you_mean(name, known)}")

    @property
    def place(self) -> tuple[int, Mapping[int, int]]:
        """The process that holds the hosts, and its file descriptors of their namespaces, by host."""
        return self._prepared.process, self._prepared.namespaces

    def listening(self, host: int) -> list[int]:
        """TCP ports at which somebody listens on a host."""
        return self._ask(runner.Listening(host), list)

    def start(self, replication: int, observe: str, *, steered: bool = False) -> None:
        """Starts the network and the flows; time zero is now. `steered` links can be changed.

        Raises:
            RealError: A socket of the plan cannot be opened.
        """
        self._ask(runner.Start(self._plan, replication, observe, steered), type(None))

    def look(self) -> tuple[int, bool]:
        """The time in nanoseconds, and whether all flows are done."""
        return self._ask(runner.Look(), tuple)

    def links(self) -> tuple[int, list[tuple[int, ...]]] | None:
        """The links as they were when they were last asked for, if they were: `RealRun.links`."""
        return self._ask(runner.Links(), object)  # type: ignore[return-value]

    def change(self, changes: Sequence[Mapping[str, Any]]) -> int:
        """Changes links as events of a plan do, but now; when that was in nanoseconds.

        Raises:
            RealError: One cannot be, or the network did not take them.
        """
        return self._ask(runner.ChangeLinks(json.dumps(changes)), int)

    def unanswered(self) -> list[str]:
        """Places to which relays lead and where nobody answered."""
        refused = self._ask(runner.Unanswered(), list)
        places = [
            f"port {relay.target[1]} of {'this machine, ' if relay.to_machine else ''}{relay.target[0]}"
            for relay, count in zip(self._relays, refused, strict=True)
            if count
        ]
        return list(dict.fromkeys(places))

    def problems(self) -> list[str]:
        """What failed beside the network."""
        code = self._outside()
        return [] if code is None else [f"slirp4netns ended before the run, with {code}: no Internet"]

    def finish(self) -> Found:
        """Ends the network and closes its books.

        Raises:
            RealError: A device or a socket failed while it ran.
        """
        return self._ask(runner.Finish(), tuple)

    def _ask(self, request: object, kind: type[_Answer]) -> _Answer:
        with self._asking:
            try:
                pickle.dump(request, self._requests)
                self._requests.flush()
            except OSError:
                raise RealError(self._died()) from None
            return self._answer(kind)

    def _answer(self, kind: type[_Answer]) -> _Answer:
        try:
            answer: Any = pickle.load(self._answers)  # noqa: S301 - our own child
        except (EOFError, pickle.UnpicklingError):
            raise RealError(self._died()) from None
        if isinstance(answer, runner.Failure):
            if answer.is_bug:
                raise RuntimeError(answer.reason)
            raise RealError(answer.reason)
        if not isinstance(answer, kind):
            raise RuntimeError(f"the runner answered {answer!r}")
        return answer

    def _died(self) -> str:
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process that holds the hosts has ended ({how})"

    def _end(self) -> None:
        halts.reached("session.ends")
        # Its input ends, hence it does, and with it everything that it holds.
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        self._answers.close()
        # A process that was waited for is one no more, as where it has died.
        if self._process.poll() is not None:
            return
        # `Popen.wait` with a bound looks again and again, up to 50 ms apart.
        ended, waiting = os.pidfd_open(self._process.pid), select.poll()
        waiting.register(ended, select.POLLIN)
        try:
            if not waiting.poll(_ENDING_S * 1000):
                self._process.kill()
        finally:
            os.close(ended)
            self._process.wait()
