"""The process that holds a run's namespaces and its network, and ends with whoever started it.

It is a process of its own because the kernel lets none with threads into a new user namespace, and because
its end, however it comes, ends everything that runs in there. It reads requests from its standard input and
answers each on its standard output, both pickled; at the end of its input it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.backends.real.configuration import HostConfiguration
    from voxpath.backends.real.relays import Relay


@dataclass(frozen=True)
class Prepare:
    """Makes the hosts.

    Attributes:
        hosts: By index in the plan.
        edge: How hosts that do not say so are joined to the network, "tun", "veth" or "tap"; none is TUN
            where that can be used.
        files: Contents of files that programs see instead of the machine's, by path.
        relays: Between the hosts and the machine.
    """

    hosts: Mapping[int, HostConfiguration]
    edge: str | None
    files: Mapping[str, str]
    relays: Sequence[Relay]


@dataclass(frozen=True)
class Prepared:
    """The answer to `Prepare`: where programs are to be started.

    Attributes:
        process: Of the runner, as /proc numbers it.
        first_process: Of the PID namespace, likewise.
        rootless: Whether there is a user namespace to be entered.
        namespaces: File descriptors of the runner, by index of the host.
        mounts: Likewise, of what programs see mounted.
    """

    process: int
    first_process: int
    rootless: bool
    namespaces: Mapping[int, int]
    mounts: Mapping[int, int]


@dataclass(frozen=True)
class Listening:
    """Asks for the TCP ports at which somebody listens on a host; answered by a list."""

    host: int


@dataclass(frozen=True)
class Start:
    """Starts the network; answered by none. Only the links of one that is steered can be changed by hand."""

    plan: str
    replication: int
    observe: str
    steered: bool


@dataclass(frozen=True)
class Look:
    """Asks how far it is; answered by the time in nanoseconds and whether all flows are done."""


@dataclass(frozen=True)
class Links:
    """Asks for a look at the links; answered by the one before (`RealRun.links`), if there was one."""


@dataclass(frozen=True)
class ChangeLinks:
    """Changes links now; answered by when that was in nanoseconds.

    Attributes:
        changes: JSON of what events of a plan change.
    """

    changes: str


@dataclass(frozen=True)
class Unanswered:
    """Asks how often each relay found nobody at its target; answered by a list."""


@dataclass(frozen=True)
class Finish:
    """Ends the network; answered by tables, verdict, captures and fidelity."""


@dataclass(frozen=True)
class Failure:
    """The answer where something failed; the runner goes on.

    Attributes:
        reason: Why.
        is_bug: Whether it is a fault of ours and not of the machine or the plan.
    """

    reason: str
    is_bug: bool = False


@dataclass
class _Runner:
    isolation: _engine.Isolation
    hosts: dict[int, _engine.RealHost] = field(default_factory=dict)
    relays: list[_engine.Relay] = field(default_factory=list)
    run: _engine.RealRun | None = None

    def answer(self, request: object) -> object:
        match request:
            case Prepare(hosts=hosts, edge=edge, files=files, relays=relays):
                process, first_process = _in_proc(self.isolation.first_process)
                for path, text in files.items():
                    self.isolation.replace_file(path, text)
                for index, asked in hosts.items():
                    host = _engine.RealHost(asked.port, asked.edge or edge)
                    if asked.edge is None:
                        # What one cannot have the others do not try.
                        edge = host.edge
                    host.sysctl(asked.sysctl)
                    host.ip(asked.ip)
                    self.hosts[index] = host
                self.relays = [_relay(relay, self.hosts[relay.host]) for relay in relays]
                return Prepared(
                    process,
                    first_process,
                    self.isolation.rootless,
                    {index: host.descriptor for index, host in self.hosts.items()},
                    {index: self.isolation.mounts(host) for index, host in self.hosts.items()},
                )
            case Listening(host=index):
                return self.hosts[index].listening() if self.run is None else self.run.listening(index)
            case Start(plan=plan, replication=replication, observe=observe, steered=steered):
                self.run = _engine.RealRun(plan, replication, observe, self.hosts, steered)
                return None
            case Look() if self.run is not None:
                return self.run.now_ns, self.run.is_done
            case Links() if self.run is not None:
                return self.run.links()
            case ChangeLinks(changes=changes) if self.run is not None:
                return self.run.change(changes)
            case Unanswered():
                return [relay.refused for relay in self.relays]
            case Finish() if self.run is not None:
                run, self.run = self.run, None
                return run.finish()
        raise RuntimeError(f"{request} is not to be asked now")


def main() -> None:
    """Serves requests until there are no more."""
    # Who started it decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        # Who asked is gone. Python would try once more to write what is left of the answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    try:
        runner = _Runner(_engine.Isolation())
    except OSError as error:
        _put(answers, Failure(str(error)))
        return
    _put(answers, None)
    while True:
        try:
            request = pickle.load(requests)  # noqa: S301 - the process that started this one
        except EOFError:
            return
        answer: Any
        try:
            answer = runner.answer(request)
        except (OSError, ValueError) as error:
            answer = Failure(str(error))
        except Exception as error:  # noqa: BLE001 - told where it can be dealt with
            answer = Failure(f"{type(error).__name__}: {error}", is_bug=True)
        _put(answers, answer)


def _relay(relay: Relay, host: _engine.RealHost) -> _engine.Relay:
    start = host.reach if relay.to_machine else host.publish
    return start("mptcp" if relay.multipath else relay.transport, relay.place, relay.target)


def _in_proc(first_process: int) -> tuple[int, int]:
    """This process and its only child as /proc numbers them, which may be that of an outer PID namespace."""
    own = int(os.readlink("/proc/self"))  # noqa: PTH115 - a number
    if own == os.getpid():
        return own, first_process
    (child,) = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return own, int(child)


def _put(answers: BinaryIO, answer: object) -> None:
    pickle.dump(answer, answers)
    answers.flush()
