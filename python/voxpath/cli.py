"""The command line.

Exit codes: 0 done, 1 a run failed, 2 bad input (nothing has been written), 130 interrupted.
What a command needs is imported where it runs, so that `voxpath --help` is there at once.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from voxpath.interrupts import INTERRUPTED
from voxpath.speech.cli import speech

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

_Decorated = TypeVar("_Decorated", bound="Callable[..., Any]")


FAILED, BAD_INPUT = 1, 2
DEFAULT_OUT = Path("runs")


def main() -> None:
    """Runs the command line of this process, and ends it."""
    code = run_command(sys.argv[1:])
    if code == INTERRUPTED:
        # Everything has been put away; taking the interpreter down would take longer than that.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command line and returns the exit code."""
    try:
        result = cli.main(list(arguments), prog_name="voxpath", standalone_mode=False)
    except click.ClickException as error:
        from voxpath import terminal

        told = io.StringIO()
        error.show(told)
        click.echo(terminal.safe(told.getvalue()), err=True, nl=False)
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("voxpath: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain of it again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.filename is not None:
            raise
        # Standard output, such as a full disk; what is left in its buffer would be tried again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"Error: cannot write the output: {error.strerror or error}", err=True)
        return FAILED
    return result if isinstance(result, int) else 0


class Group(click.Group):
    """Commands whose help keeps the layout of its examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are."""
        _verbatim(self.epilog, formatter)
        del ctx


class Command(click.Command):
    """A command whose help keeps the layout of its examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are."""
        _verbatim(self.epilog, formatter)
        del ctx


class StudyCommand(Command):
    """The command of studies, whose help lists those that are there."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what the command does, and what its argument can be."""
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"NAME: {', '.join(_studies())}.")


def _verbatim(text: str | None, formatter: click.HelpFormatter) -> None:
    if text:
        formatter.write_paragraph()
        formatter.write(text.strip("\n") + "\n")


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from voxpath import _engine

        click.echo(f"voxpath {_engine.BUILD}")
        context.exit()


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""
Examples:
  voxpath run scenarios/lossy-download.toml
  voxpath sweep scenarios/loss-and-delay.toml
  voxpath report scenarios/loss-and-delay.toml
  voxpath study sarkar2022 --quick
  voxpath schema > scenario.schema.json
  voxpath doctor
""",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Version and build."
)
def cli() -> None:
    """Tells what a network does to an application, with a given transport."""


cli.add_command(speech)


def _names(known: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Completes the last of some names with commas between; they are looked up when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        del context, parameter
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return complete


def _known() -> ModuleType:
    from voxpath import commands

    return commands


def _metrics() -> Iterable[str]:
    from voxpath.backends.sim import METRICS

    return dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics)


def _studies() -> Iterable[str]:
    from voxpath import studies

    return studies.NAMES


class _Directory(click.Path):
    """A directory's path; an empty text, which would be the current directory, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses an empty text."""
        if not value:
            self.fail("is empty: it names a directory", param, ctx)
        return super().convert(value, param, ctx)


_out = click.option(
    "--out",
    type=_Directory(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Directory of the runs; a finished run that is there already is not repeated.",
)
_jobs = click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=None,
    help="Worker processes; by default one per processor. The results do not depend on it. With the backend "
    "real, runs that go on at the same time; by default one.",
)
_dask = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on a Dask cluster: a scheduler's address, or local:2 for two processes here.",
)
_replications = click.option(
    "--replications", type=click.IntRange(1, 1_000_000), help="How many; overrides the scenario's [sweep]."
)
_formulas = click.option(
    "--formulas",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A Python file with formulas of your own, asked beside those of the literature.",
)
_force = click.option("--force", is_flag=True, help="Make runs anew that are there already.")


def _save(what: str, *, formats: bool = True) -> Callable[[_Decorated], _Decorated]:
    suffix = ": .csv, .json or .parquet" if formats else ""
    return click.option("--save", type=click.Path(path_type=Path), help=f"Write {what} to a file{suffix}.")


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath run scenarios/lossy-download.toml
  voxpath run scenarios/lossy-download.toml --replications 20 --jobs 2
  voxpath run scenarios/lossy-download.toml --replication 7 --observe tcp --capture client
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--replication", type=click.IntRange(0, 2**63 - 1), help="Make this replication alone.")
@_replications
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=_names(lambda: _known().BACKENDS),
    help="Who answers, with commas between.",
)
@_formulas
@click.option(
    "--observe",
    default="",
    shell_complete=_names(lambda: _known().OBSERVABLE),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@_out
@_jobs
@_force
def run(scenario: Path, **options: Any) -> int:
    """Runs a SCENARIO and prints what its flows got."""
    from voxpath import commands

    return commands.run(scenario, commands.RunOptions(**options))


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath sweep scenarios/loss-and-delay.toml
  voxpath sweep scenarios/loss-and-delay.toml --replications 3 --jobs 2 --save flows.csv
  voxpath sweep scenarios/loss-and-delay.toml --dask local:2
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@_replications
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=_names(lambda: _known().BACKENDS),
    help="Who answers, with commas between.",
)
@_formulas
@click.option(
    "--observe",
    default="",
    shell_complete=_names(lambda: _known().OBSERVABLE),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@_save("the flows of all runs, with a column for each axis")
@_out
@_jobs
@_dask
@_force
def sweep(scenario: Path, **options: Any) -> int:
    """Runs every cell of the [sweep] of a SCENARIO, and goes on where it was interrupted.

    Each key of [sweep] with a list is an axis: a dotted key of the scenario and the values that it takes.
    The same replication has the same random streams in every cell.
    """
    from voxpath import commands

    return commands.sweep(scenario, commands.SweepOptions(**options))


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath compare scenarios/loss-and-delay.toml --replications 3
  voxpath compare scenarios/lossy-download.toml scenarios/window-limit.toml --metric completion_s
""",
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@_replications
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=_names(lambda: _known().BACKENDS),
    help="Who answers, with commas between.",
)
@_formulas
@click.option(
    "--metric",
    multiple=True,
    shell_complete=_names(_metrics),
    help="What to compare; may be repeated.",
)
@_save("the summary")
@_out
@_jobs
@_dask
@_force
def compare(sources: tuple[Path, ...], **options: Any) -> int:
    """Lays SOURCES side by side: scenarios, the cells of their sweeps, and folders of runs.

    What has not been run yet is run. Differences are to the first of a kind, with intervals of paired
    differences where both have the same replications.
    """
    from voxpath import commands

    return commands.compare(sources, commands.CompareOptions(**options))


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath report scenarios/loss-and-delay.toml
  voxpath report scenarios/loss-and-delay.toml --replications 3 --metric completion_s --save page.html
  voxpath report scenarios/lossy-download.toml --observe tcp
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@_replications
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=_names(lambda: _known().BACKENDS),
    help="Who answers, with commas between.",
)
@click.option(
    "--metric",
    multiple=True,
    shell_complete=_names(_metrics),
    help="What to show; may be repeated.",
)
@click.option(
    "--observe",
    default="",
    shell_complete=_names(lambda: _known().OBSERVABLE),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@click.option(
    "-o",
    "--save",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; by default the scenario's name with .html, in the current directory.",
)
@_formulas
@_out
@_jobs
@_dask
@_force
def report(scenario: Path, **options: Any) -> int:
    """Writes one HTML page about a SCENARIO or its sweep: tables, figures, formulas beside the simulator.

    The page needs nothing else to be read. What has not been run yet is run.
    """
    from voxpath import commands

    return commands.report(scenario, commands.ReportOptions(**options))


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath show 3f2a
  voxpath show 3f2a --table requests --save requests.csv
  voxpath show 3f2a --series cwnd_bytes --series srtt_ns
  voxpath show 3f2a --series cwnd_bytes --save cwnd.svg
""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--table", help="This table alone, such as flows, connections, requests, elements.")
@click.option("--series", multiple=True, help="A series over time, such as cwnd_bytes; may be repeated.")
@_save("the table (.csv, .json, .parquet) or the plot (.svg, .txt)", formats=False)
@click.option(
    "--out",
    type=_Directory(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Directory of the runs, where RUN is not a folder.",
)
def show(run: Path, **options: Any) -> int:
    """Shows what one RUN found: its folder, or the beginning of its name."""
    from voxpath import commands

    return commands.show(run, commands.ShowOptions(**options))


@cli.command(
    cls=StudyCommand,
    epilog="""
Examples:
  voxpath study sarkar2022 --quick
  voxpath study sarkar2022 --quick --backend formula --report formulas.html
""",
)
@click.argument("name", shell_complete=_names(_studies))
@click.option("--quick", is_flag=True, help="Fewer replications: wider intervals, sooner.")
@click.option(
    "--backend",
    default=None,
    shell_complete=_names(lambda: _known().BACKENDS),
    help="Who answers, with commas between; by default the study's own, real only where it is one of these.",
)
@click.option(
    "--report",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; by default the study's name with .html, in the current directory.",
)
@_out
@_jobs
@_force
def study(name: str, **options: Any) -> int:
    """Reproduces a publication: our numbers beside the published ones, in a table and on an HTML page."""
    from voxpath import commands

    return commands.study(name, commands.StudyOptions(**options))


def _link_options(function: _Decorated) -> _Decorated:
    """Options for a link's keys: of both directions, and those that may differ of each."""
    helps = {
        "rate": "Of the link, such as '5 Mbit/s'.",
        "delay": "One way, such as '20 ms'.",
        "queue": "Before the link, such as '100 packets' or '64 KiB', unlimited without it;"
        " or the kind of a discipline, such as fq_codel.",
        "loss": "Of packets, such as '1 %'.",
        "corrupt": "Of packets that arrive damaged, such as '0.1 %'.",
        "duplicate": "Of packets that arrive twice, such as '0.1 %'.",
        "reorder": "Packets held back, and by how much, such as '1 % by 5 ms'.",
    }
    for key in reversed(helps):
        for direction, words in (("down", "towards the command"), ("up", "from the command")):
            name, text = f"--{direction}-{key}", f"Only {words}."
            function = click.option(name, metavar=key.upper(), help=text, hidden=key in _RARE)(function)
        function = click.option(f"--{key}", metavar=key.upper(), help=helps[key])(function)
    return function


_RARE = ("corrupt", "duplicate", "reorder")


@cli.command(
    "exec",
    cls=Command,
    context_settings={"allow_interspersed_args": False},
    epilog="""
Examples:
  voxpath exec --delay "20 ms" --rate "5 Mbit/s" -- ping -c 1 machine
  voxpath exec --delay "20 ms" --loss "1 %" --reach 8000 -- curl http://machine:8000/
  voxpath exec --up-rate "1 Mbit/s" --down-rate "10 Mbit/s" --publish 9000:8000 -- python3 -m http.server 8000
  voxpath exec --delay "20 ms" -- voxpath exec --loss "1 %" -- bash
""",
)
@_link_options
@click.option(
    "--reach",
    multiple=True,
    metavar="[LISTEN:]PORT",
    help="Reach a port of this machine's loopback as machine:PORT; '/udp' behind it for datagrams.",
)
@click.option(
    "--publish",
    multiple=True,
    metavar="[LISTEN:]PORT",
    help="Make a port of the command reachable at this machine's loopback; '/udp' likewise.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of what the link does at random.")
@click.option("--capture", is_flag=True, help="Capture the command's packets; needs --out.")
@click.option("--out", type=_Directory(path_type=Path), help="Keep the run in this directory.")
@click.option("-v", "--verbose", is_flag=True, help="Say that the run was valid, too.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(command: tuple[str, ...], **options: Any) -> int:
    """Runs a COMMAND on the real Linux stack behind one emulated link; its exit code is ours.

    The command reaches nothing but the host `machine` at the other end, which stands for this machine: what
    --reach names. Ctrl-C is the command's; a second one within a second kills it.
    """
    interactive = _interactive()
    given = {key: _link_values(options, key) for key in ("", "up", "down")}
    link = given[""] | {key: values for key, values in given.items() if key and values}
    chosen = {key: options[key] for key in ("reach", "publish", "seed", "capture", "out", "verbose")}
    if chosen["capture"] and chosen["out"] is None:
        raise click.UsageError("--capture needs --out, where the capture is kept")
    return int(interactive.run_behind_link(command, interactive.ExecOptions(link, **chosen)))


def _interactive() -> ModuleType:
    """Its imports start threads, which are not to take signals that are for a command."""
    from voxpath import interrupts

    with interrupts.blocked():
        from voxpath import interactive
    return interactive


def _link_values(options: dict[str, Any], direction: str) -> dict[str, Any]:
    """A link's keys as they were given for one direction, or for both."""
    keys = ("rate", "delay", "queue", "loss", "corrupt", "duplicate", "reorder")
    prefix = f"{direction}_" if direction else ""
    given = {key: options[prefix + key] for key in keys if options[prefix + key] is not None}
    if given.get("queue", "").isidentifier():
        given["queue"] = {"kind": given["queue"]}
    if "reorder" in given:
        probability, by, span = given["reorder"].partition(" by ")
        if not by:
            option = f"--{prefix.replace('_', '-')}reorder"
            raise click.BadParameter("write '1 % by 5 ms': how many, and by how much", param_hint=option)
        given["reorder"] = {"probability": probability, "by": span}
    return given


@cli.command(
    cls=Command,
    context_settings={"allow_interspersed_args": True, "ignore_unknown_options": False},
    epilog="""
Examples:
  voxpath shell scenarios/real-web.toml --host client1
  voxpath shell scenarios/real-web.toml --host client1 -- ping -c 1 server1
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--host", required=True, help="Where; it is made a real host.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(scenario: Path, host: str, command: tuple[str, ...]) -> int:
    """Opens a shell, or runs a COMMAND, on a host while the network of a SCENARIO runs."""
    interactive = _interactive()
    from voxpath import commands

    return int(interactive.shell(commands.read_scenario(scenario), host, command))


@cli.command(
    cls=Command,
    epilog="""
Examples:
  voxpath aec --far far.wav --mic mic.wav -o out.wav
  voxpath aec --far far.wav --mic mic.wav -o out.wav --length "64 ms" --form samples --reuse 3
  voxpath aec --far far.wav --mic mic.wav -o out.wav --length "128 ms"
  capture | voxpath aec --live --rate 16000 --delay "40 ms" | send
""",
)
@click.option(
    "--far", type=click.Path(path_type=Path), metavar="FILE.wav", help="What the loudspeakers played."
)
@click.option(
    "--mic", type=click.Path(path_type=Path), metavar="FILE.wav", help="What the microphones heard."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.wav", help="Without the echo.")
@click.option("--length", default="32 ms", show_default=True, help="Of the echo paths that are learnt.")
@click.option(
    "--memory",
    type=click.FloatRange(1.0, 10_000.0),
    default=64.0,
    show_default=True,
    help="Of the filter, in lengths: shorter follows faster, longer is more exact.",
)
@click.option(
    "--reuse",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often each sample is used: more follows faster, at the price of exactness.",
)
@click.option(
    "--delay",
    default="auto",
    show_default=True,
    help="By how much the echo lags behind the loudspeakers' samples, such as '40 ms'.",
)
@click.option("--guard/--no-guard", default=True, show_default=True, help="Against double-talk.")
@click.option(
    "--form",
    type=click.Choice(["auto", "samples", "rooms"]),
    default="auto",
    show_default=True,
    help="Of the filter: one for all samples, or bands for long rooms; auto: bands beyond 512 samples.",
)
@click.option(
    "--suppress/--no-suppress", default=True, show_default=True, help="Of rooms: what it leaves of the echo."
)
@click.option("--live", is_flag=True, help="From standard input to standard output, block by block.")
@click.option("--rate", type=click.IntRange(1_000, 192_000), default=None, help="Of --live, in Hz.")
@click.option("--block", default="10 ms", show_default=True, help="Of --live.")
def aec(
    far: Path | None,
    mic: Path | None,
    output: Path | None,
    live: bool,
    rate: int | None,
    block: str,
    **options: Any,
) -> int:
    """Cancels the echo of loudspeakers in a recording of microphones, mono or stereo.

    With --live, frames of four 16-bit samples (low octet first: loudspeakers left and right, microphones left
    and right) become frames of two.
    """
    from voxpath.aec.command import Options, cancel_files, cancel_stream

    chosen = Options(**options)
    files = {"--far": far, "--mic": mic, "--output": output}
    if live:
        if given := [name for name, path in files.items() if path]:
            raise click.UsageError(f"--live reads and writes streams, so it takes no {given[0]}")
        if rate is None:
            raise click.UsageError("--live needs --rate")
        return cancel_stream(sys.stdin.buffer, sys.stdout.buffer, rate, block, chosen)
    if rate is not None:
        raise click.UsageError("--rate is of --live; files say it themselves")
    if far is None or mic is None or output is None:
        missing = next(name for name, path in files.items() if path is None)
        raise click.UsageError(f"{missing} is missing, or --live")
    return cancel_files(far, mic, output, chosen)


@cli.command(cls=Command)
def schema() -> None:
    """Prints the JSON Schema of scenarios, for editors."""
    from voxpath.scenario.schema import schema_json

    click.echo(schema_json())


@cli.command(cls=Command)
def doctor() -> int:
    """Tells what works on this machine, and why the rest does not."""
    from voxpath import commands

    return commands.doctor()


@cli.group(cls=Group)
def vowels() -> None:
    """Formants and articulation of vowels, measured by Praat (needs the extra vowels)."""


def _formant_options(function: _Decorated) -> _Decorated:
    options = [
        click.option(
            "--method",
            type=click.Choice(["burg", "dap"]),
            default="burg",
            show_default=True,
            help="Burg's linear prediction, or resonances fitted to the harmonics of a voice.",
        ),
        click.option(
            "--ceiling",
            type=click.FloatRange(1000, 20000),
            default=5000.0,
            show_default=True,
            help="Formants are looked for below it, Hz: 5000 for men, 5500 for women.",
        ),
        click.option(
            "--formants",
            type=click.IntRange(4, 8),
            default=5,
            show_default=True,
            help="How many there are below the ceiling: one a kHz of a man's; 4 below 4000 Hz.",
        ),
        click.option(
            "--window",
            type=click.FloatRange(5, 200),
            default=25.0,
            show_default=True,
            help="Effective length of the window, ms.",
        ),
        click.option("--step", type=click.FloatRange(0.5, 50), help="Between frames, ms; a quarter window."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _vowel_options(function: _Decorated) -> _Decorated:
    options = [
        click.option("--tier", help="The tier of the vowels; needed where the TextGrid has several."),
        click.option("--contexts", metavar="TIER", help="The tier whose labels are the vowels' contexts."),
        _formant_options,
        click.option("--report", metavar="FILE.html", type=click.Path(path_type=Path), help="Write a page."),
        _save("a row for each vowel"),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@vowels.command(
    "measure",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels measure speech.wav speech.TextGrid --report vowels.html
  voxpath vowels measure film.wav film.TextGrid film.contours.json --contexts context --reference plain
""",
)
@click.argument("audio", type=click.Path(path_type=Path))
@click.argument("textgrid", type=click.Path(path_type=Path))
@click.argument("contours", required=False, type=click.Path(path_type=Path))
@_vowel_options
@click.option("--reference", metavar="CONTEXT", help="What others are compared with; the first otherwise.")
def vowels_measure(audio: Path, textgrid: Path, contours: Path | None, **options: Any) -> int:
    """Measures F1 to F4 of the vowels that a TEXTGRID marks in an AUDIO file, and gestures from CONTOURS."""
    from voxpath.phonetics import commands

    return commands.measure(audio, textgrid, contours, commands.Options(**options))


@vowels.command(
    "compare",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels compare speech.wav decoded.wav speech.TextGrid --report shifts.html
""",
)
@click.argument("reference", type=click.Path(path_type=Path))
@click.argument("degraded", type=click.Path(path_type=Path))
@click.argument("textgrid", type=click.Path(path_type=Path))
@_vowel_options
def vowels_compare(reference: Path, degraded: Path, textgrid: Path, **options: Any) -> int:
    """Tells how far the formants of a REFERENCE move in a DEGRADED version of it."""
    from voxpath.phonetics import commands

    return commands.compare(reference, degraded, textgrid, commands.Options(**options))


@vowels.command(
    "accuracy",
    cls=Command,
    epilog="""
Examples:
  voxpath vowels accuracy --method dap
""",
)
@_formant_options
def vowels_accuracy(**options: Any) -> int:
    """Tells how far F1 to F3 are off at vowels with known resonances, with these settings."""
    from voxpath.phonetics import commands

    return commands.accuracy(commands.Finding(**options))


@cli.command(
    "tcp-script",
    cls=Command,
    epilog="""
Examples:
  voxpath tcp-script tests/scripts/newreno.pkt
  voxpath tcp-script tests/scripts/zero-window.pkt --stack linux --ladder
""",
)
@click.argument("scripts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--stack",
    default="",
    help="Where: rfc, linux, riverbed16, kernel, with commas between; else all of a script's but the kernel.",
)
@click.option("--ladder", is_flag=True, help="Print what left and what arrived, also where all holds.")
def tcp_script(scripts: tuple[Path, ...], stack: str, ladder: bool) -> int:
    """Runs conformance SCRIPTS of TCP: in virtual time, or on the live kernel.

    What a script is stands in docs/tcp-scripts.md.
    """
    from voxpath import scripts as module

    return module.command(scripts, stack, ladder)
