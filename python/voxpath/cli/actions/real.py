"""What `voxpath exec` and `voxpath shell` do: commands on real hosts that have our terminal."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voxpath import _engine, interrupts, texts
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real import foreground
from voxpath.backends.real.internet import gateway
from voxpath.backends.real.network import Network
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.relays import reached
from voxpath.backends.real.steering import Steering
from voxpath.cli.actions import behind_link
from voxpath.cli.actions.behind_link import HERE, THERE, Behind
from voxpath.cli.actions.watch import LOOKS, Meter, Watch, print_summary
from voxpath.files import check_page, save_page
from voxpath.packages import missing
from voxpath.results.identity import Identity, Observe, machine
from voxpath.results.problems import StoreError
from voxpath.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voxpath.backends.real.books import Books
    from voxpath.backends.real.entered import Entered
    from voxpath.scenario import Document

__all__ = ["Behind", "RunOptions", "run_behind_link", "run_in_scenario"]

_NOT_FOUND = 127


@dataclass(frozen=True)
class RunOptions:
    """What is done with a run, as `cli.real` describes it.

    Attributes:
        seed: Root of the random streams.
        capture: Whether the command's packets are captured.
        out: Where the run is kept, if it is.
        report: The page, if one is to be written.
        live: Whether a page shows and changes the links.
        meter: Whether the terminal's last line shows what the links do.
        verbose: Whether a summary is worth its lines wherever it goes.
        quiet: Whether it is not even on a terminal.
    """

    seed: int | None = None
    capture: bool = False
    out: Path | None = None
    report: Path | None = None
    live: bool = False
    meter: bool = False
    verbose: bool = False
    quiet: bool = False

    def observe(self, *hosts: str) -> Observe:
        """What is recorded, packets at these hosts."""
        return Observe(tcp=self.report is not None, capture=hosts if self.capture else ())

    @property
    def sums_up(self) -> bool:
        """Whether it is said what the links did."""
        return self.verbose or (not self.quiet and sys.stderr.isatty())


def run_behind_link(command: Sequence[str], behind: Behind, options: RunOptions) -> int:
    """Runs a command, or a shell, behind emulated links; its exit code.

    Raises:
        click.ClickException: Bad input; nothing has been run.
    """
    _check(options)
    with _shell(HERE) if not command else contextlib.nullcontext(command) as chosen:
        document = behind_link.document(chosen, behind, options.seed, reached())
        if (code := _not_there(chosen)) is not None:
            return code
        return _run(document, HERE, None, options)


def run_in_scenario(document: Document, host: str, command: Sequence[str], options: RunOptions) -> int:
    """Runs a command, or a shell, on a host while a scenario's network runs; its exit code.

    Raises:
        click.ClickException: Bad input; nothing has been run.
    """
    names = [node["name"] for node in document.plan.data["nodes"] if node["kind"] == "host"]
    if host not in names:
        from voxpath.names import did_you_mean

        raise click.BadParameter(f"{host!r} is no host; {did_you_mean(host, names)}", param_hint="--host")
    _check(options)
    if command and (code := _not_there(command)) is not None:
        return code
    if options.seed is not None:
        document = document.with_seed(options.seed)
    try:
        document = document.with_real(host)
    except ScenarioError as error:
        raise click.BadParameter(
            "; ".join(problem.message for problem in error.problems), param_hint="--host"
        ) from None
    with _shell(host) if not command else contextlib.nullcontext(command) as chosen:
        return _run(document, host, chosen, options)


def _run(document: Document, host: str, command: Sequence[str] | None, options: RunOptions) -> int:
    """Runs a network with a command in the foreground: its host's program, or one that is started there."""
    if gateway(document.plan.data) is not None:
        _say(
            "internet: the command reaches what this machine does, but for its loopback, by IPv4, and this "
            "machine's name servers"
        )
    # What comes to the command left the other end before, which only a capture there has.
    observe = options.observe(host, *([THERE] if command is None else []))
    own = host if command is None else None
    try:
        with (
            foreground.Signals() as signals,
            Network(document, 0, observe, foreground=own, steered=options.live) as network,
            Meter() if options.meter else contextlib.nullcontext() as meter,
            contextlib.ExitStack() as live,
        ):
            watch = Watch(network, meter)
            steering = Steering(document, network.session)
            if options.live:
                with interrupts.blocked():
                    from voxpath.cli.actions import live_page

                address = live.enter_context(live_page.served(live_page.Live(watch, steering)))
                _say(f"live: {address}")

            def looks() -> None:
                network.step()
                watch()

            if command is None:
                start: Callable[[], Entered | None] = lambda: network.programs.foreground  # noqa: E731
            else:
                node = network.session.host(host)
                start = functools.cache(lambda: foreground.attach(network.session, node, command))
            code = foreground.wait(start, signals, looks)
            live.close()
            watch.finish()
            unanswered = network.session.unanswered()
            books = network.close()
    except UnanswerableError as error:
        raise click.ClickException(str(error)) from None
    except RealError as error:
        return _failed(error)
    except foreground.Ended as ended:
        return _ended(ended)
    # What was changed by hand happens by itself in the scenario that is kept.
    document = steering.document
    if steering.events and options.out is None:
        count = len(steering.events)
        _say(f"{count} change{'s' if count > 1 else ''} by hand: --out keeps a run with them")
    for place in unanswered:
        _say(f"nobody answered at {place}")
    _judge(books, watch, summing=options.sums_up)
    try:
        return _kept(document, observe, books, watch, options) or code
    except StoreError as error:
        return _failed(error)


def _kept(document: Document, observe: Observe, books: Books, watch: Watch, options: RunOptions) -> int:
    """Keeps the run and writes the page, where these are asked for; 0, or what failed."""
    if options.out is None and options.report is None:
        return 0
    import polars as pl

    from voxpath.results.frames import parquet
    from voxpath.sweeps.runs import keep

    found = books.found()
    files = {**found.files, f"{LOOKS}.parquet": parquet(pl.DataFrame(watch.columns()))}
    identity = Identity(document.plan.json, "real", 0, _engine.BUILD_REAL, observe, machine=machine())
    with contextlib.ExitStack() as stack:
        out = options.out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voxpath-")))
        folder = keep(out, identity, document.written, 0, replace(found, files=files)).folder
        if options.out is not None:
            _say(f"results: {folder}")
        if options.report is not None:
            from voxpath.report.html import render
            from voxpath.report.real_run import report_of_run

            try:
                save_page(render(report_of_run(document, folder)), options.report)
            except ValueError as error:
                return _failed(error)
            _say(f"report: {options.report}")
    return 0


def _check(options: RunOptions) -> None:
    """Refuses a page or a directory that cannot be written, before anything is run."""
    if options.report is not None:
        try:
            check_page(options.report)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--report") from None
    if options.out is not None:
        from voxpath.cli.actions.common import check_store

        check_store(options.out, ["real"])


def _not_there(command: Sequence[str]) -> int | None:
    """Says what to do about a command that is not installed; its exit code, as of a shell."""
    # A path is looked up on the host, which sees some files of its own.
    problem = None if "/" in command[0] else missing(command[0])
    if problem is None:
        return None
    _say(f"nothing was run: {problem}")
    return _NOT_FOUND


@contextlib.contextmanager
def _shell(host: str) -> Iterator[list[str]]:
    """The user's shell, with the host's name in its prompt."""
    program = os.environ.get("SHELL", "/bin/sh")
    if Path(program).name != "bash":
        # Others take the prompt from here, unless their start-up files say otherwise.
        yield ["env", f"PS1=({host}) $ ", program]
        return
    with tempfile.NamedTemporaryFile("w", prefix="voxpath-", suffix=".bashrc") as file:
        file.write(f'[ -f ~/.bashrc ] && . ~/.bashrc\nPS1="({host}) ${{PS1-}}"\n')
        file.flush()
        yield [program, "--rcfile", file.name]


def _judge(books: Books, watch: Watch, *, summing: bool) -> None:
    """Says what was wrong with the network; and what its links did, if that is asked for."""
    verdict, faithful = books.verdict, books.fidelity
    for problem in verdict["problems"]:
        _say(f"invalid: {problem}")
    if not summing:
        return
    if verdict["valid"]:
        late = faithful["deliveries"]["p99_ns"] / 1e6
        _say(
            f"valid: {faithful['packets_out']} packets delivered in {verdict['ended_ns'] / 1e9:.3g} s, 99 % "
            f"of them less than {late:.3g} ms late ({faithful['limit_ns'] / 1e6:.3g} ms are allowed)"
        )
    print_summary(watch.looks, watch.network.plan)
    from voxpath.real_tables import connections_told

    if sentence := connections_told(books.connections()):
        _say(sentence)


def _failed(error: Exception) -> int:
    _say(str(error))
    return foreground.NOT_STARTED


def _ended(ended: foreground.Ended) -> int:
    _say(f"{ended.number.name} came before the command began")
    return ended.code


def _say(text: str) -> None:
    click.echo(f"voxpath: {texts.safe(text)}", err=True)
