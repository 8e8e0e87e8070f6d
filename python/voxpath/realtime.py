"""Real hosts from Python: a scenario's network runs in real time while a `with` block does."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from voxpath.backends.real.entered import Entered
from voxpath.backends.real.network import Network
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.programs import LISTENING_S, end
from voxpath.names import did_you_mean
from voxpath.results.problems import StoreError
from voxpath.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import polars as pl

    from voxpath.results.identity import Observe
    from voxpath.results.outcome import Found
    from voxpath.scenario import Document

_STEP_S = 0.01

_PAUSE_S = 0.01


@dataclass(frozen=True)
class RealResult(Result):
    """What a run on real hosts gave.

    Attributes:
        valid: Whether the network was what the scenario says, packets in time.
        problems: Why it was not.
        tables: All tables as frames: `flows`, `elements`, and what was observed.
        captures: pcapng by host.
        fidelity: How late packets were, and what devices counted.
        kept_up: Whether the machine had time for all of it; else the same run may be valid another time.
    """

    valid: bool
    problems: Sequence[str]
    tables: Mapping[str, pl.DataFrame]
    captures: Mapping[str, bytes]
    fidelity: Mapping[str, Any]
    kept_up: bool = True

    def table(self, name: str) -> pl.DataFrame:
        """A table of the run, kept or not: `run`, which is empty unless it is kept, then its columns.

        Raises:
            StoreError: The run has no such table.
        """
        import polars as pl

        if name not in self.tables:
            raise StoreError(f"the run has no table {name!r}; {did_you_mean(name, sorted(self.tables))}")
        run = self.folders[0].name if self.folders else ""
        return self.tables[name].select(pl.lit(run).alias("run"), pl.all())


class RealHost:
    """A real host, on which programs are started."""

    def __init__(self, network: RealNetwork, name: str, index: int, addresses: tuple[str, ...]) -> None:
        self._network = network
        self._index = index
        self.name = name
        self.addresses = addresses

    def popen(self, command: Sequence[str], **options: Any) -> Entered:
        """Starts a program here; what still runs at the end of the `with` block is ended.

        Its exit code is the program's; where a signal ended that, 128 and the signal's number, as of a shell.

        Args:
            command: The program and its arguments.
            options: As of `subprocess.Popen`.

        Raises:
            TypeError: `shell` and `preexec_fn` would run outside of the host.
            ValueError: The command is empty.
            RealError: The network is over.
        """
        return self._network._start(self._index, command, options)

    def run(
        self, command: Sequence[str], *, check: bool = False, timeout: float | None = None, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Runs a program here until it ends.

        Args:
            command: The program and its arguments.
            check: Whether an exit code other than 0 is an error.
            timeout: After how many seconds it is killed.
            options: As of `subprocess.run`.

        Raises:
            CalledProcessError: It failed, and `check` says that this matters.
            TimeoutExpired: It was killed.
        """
        given = options.pop("input", None)
        if options.pop("capture_output", False):
            options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if given is not None:
            options["stdin"] = subprocess.PIPE
        process = self.popen(command, **options)
        try:
            out, err = process.communicate(given, timeout)
        except BaseException:
            self._network._kill(process)
            process.communicate()
            raise
        done = subprocess.CompletedProcess(list(command), process.returncode, out, err)
        if check:
            done.check_returncode()
        return done

    def wait_for_port(self, port: int, timeout: float = LISTENING_S) -> None:
        """Waits until somebody listens at a TCP port.

        Raises:
            TimeoutError: Nobody did in time.
        """
        deadline = time.monotonic() + timeout
        while not self._network._listens(self._index, port):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody listens at port {port} of {self.name!r} after {timeout:g} s")
            time.sleep(_PAUSE_S)


class RealNetwork:
    """A scenario's network, as a context: see `voxpath.real`."""

    def __init__(self, document: Document, replication: int, observe: Observe, out: Path | None) -> None:
        self._document = document
        self._replication = replication
        self._observe = observe
        self._out = out
        self._network = Network(document, replication, observe)
        self._started: list[Entered] = []
        self._over = threading.Event()
        self._finished = False
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        """Starts it; time zero is now.

        Raises:
            RealError: The machine does not let us.
        """
        self._network.__enter__()
        # Programs of the scenario start at their times, whatever the block does meanwhile.
        self._steps = threading.Thread(target=self._step, name="voxpath-real", daemon=True)
        self._steps.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends everything that still runs, keeps the run if it is to be kept, and removes the hosts."""
        try:
            if error is None and self._out is not None and not self._finished:
                self.finish()
        finally:
            self._end(kind, error, traceback)

    def _end(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finished = True
        self._end_steps()
        self._end_programs()
        self._network.__exit__(kind, error, traceback)

    @property
    def now(self) -> float:
        """Seconds since the network was started."""
        return self._network.session.look()[0] / 1e9

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        """Addresses of all hosts, simulated ones too, by name."""
        nodes = self._document.plan.data["nodes"]
        return {node["name"]: tuple(node["addresses"]) for node in nodes if node["kind"] == "host"}

    def host(self, name: str) -> RealHost:
        """A real host.

        Raises:
            ValueError: There is no such host, or it is not real.
        """
        return RealHost(self, name, self._network.session.host(name), self.addresses[name])

    def wait(self) -> None:
        """Waits until the flows and programs of the scenario have ended, or its duration has.

        Raises:
            RealError: A device or a socket failed.
        """
        self._steps.join()
        if self._error is not None:
            raise self._error

    def finish(self) -> RealResult:
        """Ends the network, and tells what the flows of the scenario got.

        Raises:
            RealError: A device or a socket failed while it ran.
            StoreError: The run is to be kept, and cannot be written.
        """
        import io

        import polars as pl

        from voxpath.backends.sim import rows

        self._finished = True
        self._end_steps()
        self._end_programs()
        found = self._network.finish()
        frames = {
            name.removesuffix(".parquet"): pl.read_parquet(io.BytesIO(data))
            for name, data in found.files.items()
            if name.endswith(".parquet")
        }
        flows = frames["flows"].select(pl.lit(self._replication).alias("replication"), pl.all())
        verdict = json.loads(found.verdict)
        return RealResult(
            flows,
            rows(flows, "real"),
            [] if self._out is None else [self._keep(self._out, found)],
            verdict["valid"],
            verdict["problems"],
            frames,
            {Path(name).stem: data for name, data in found.files.items() if name.startswith("captures/")},
            json.loads(found.files["fidelity.json"]),
            verdict["kept_up"],
        )

    def _keep(self, out: Path, found: Found) -> Path:
        from voxpath import _engine
        from voxpath.results.identity import Identity, machine
        from voxpath.sweeps.runs import keep

        plan = self._document.plan.json
        identity = Identity(
            plan, "real", self._replication, _engine.BUILD_REAL, self._observe, machine=machine()
        )
        return keep(out, identity, self._document.written, self._replication, found).folder

    def _start(self, index: int, command: Sequence[str], options: dict[str, Any]) -> Entered:
        if self._finished:
            raise RealError(
                "the network is over: programs are started inside of the `with` block, before `finish`"
            )
        if not command:
            raise ValueError("the command is empty: give a program and its arguments")
        for key in ("shell", "preexec_fn", "executable"):
            if options.get(key):
                raise TypeError(
                    f"{key} would not apply to the host: give a command, such as ['sh', '-c', ...]"
                )
        session = self._network.session
        directory = options.pop("cwd", None)
        process = Entered(
            session,
            index,
            command,
            directory=None if directory is None else str(directory),
            **{"start_new_session": True, **options},
        )
        self._started.append(process)
        return process

    def _kill(self, process: Entered) -> None:
        end([process], grace_s=0)

    def _listens(self, index: int, port: int) -> bool:
        return port in self._network.session.listening(index)

    def _step(self) -> None:
        try:
            while not self._over.is_set() and not self._network.step():
                self._over.wait(_STEP_S)
        except BaseException as error:  # noqa: BLE001 - told by `wait`
            self._error = error

    def _end_steps(self) -> None:
        self._over.set()
        self._steps.join()

    def _end_programs(self) -> None:
        end(self._started)
