"""The command line as a whole: which commands there are, and how one is run.

Exit codes: 0 done, 1 a run failed, 2 bad input (nothing has been written), 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING

import click

from voxpath import interrupts
from voxpath.cli.about import doctor, schema
from voxpath.cli.aec import aec
from voxpath.cli.call import call
from voxpath.cli.measure import measure
from voxpath.cli.new import new
from voxpath.cli.parts import BAD_INPUT, FAILED, Group
from voxpath.cli.real import exec_, shell
from voxpath.cli.runs import compare, report, run, sweep
from voxpath.cli.show import show
from voxpath.cli.speech import speech
from voxpath.cli.store import gc, list_, replay, site
from voxpath.cli.study import study
from voxpath.cli.tcp_script import tcp_script
from voxpath.cli.vowels import vowels
from voxpath.cli.webrtc import webrtc
from voxpath.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    new,
    run,
    sweep,
    compare,
    report,
    call,
    show,
    list_,
    gc,
    site,
    replay,
    study,
    exec_,
    shell,
    aec,
    vowels,
    speech,
    webrtc,
    measure,
    tcp_script,
    schema,
    doctor,
)

_LEAVE_AT_ONCE = ([exec_.name], [shell.name])


def main() -> None:
    """Runs the command line of this process, and ends it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal of another alphabet, or a name that is no text: a question mark is better than no answer.
        sys.stdout.reconfigure(errors="replace")
    code = run_command(sys.argv[1:])
    if code == INTERRUPTED or sys.argv[1:2] in _LEAVE_AT_ONCE:
        # Everything has been put away; taking the interpreter down would take longer than that.
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command line and returns the exit code."""
    try:
        return _told(arguments)
    except OSError as error:
        # What was to be told of a failure had nobody to hear it.
        if _is_of_output(error):
            return FAILED
        raise


def _told(arguments: Sequence[str]) -> int:
    """The same, with what a command failed with told in words."""
    try:
        result = cli.main(list(arguments), prog_name="voxpath", standalone_mode=False)
    except click.ClickException as error:
        from voxpath import texts

        told = io.StringIO()
        error.show(told)
        click.echo(texts.safe(told.getvalue()), err=True, nl=False)
        return BAD_INPUT
    except BaseException as error:
        if interrupts.behind(error) or isinstance(error, click.Abort):
            click.echo("voxpath: interrupted", err=True)
            return INTERRUPTED
        if isinstance(error, OSError) and _is_of_output(error):
            return FAILED
        if _is_of_file(error):
            return FAILED
        raise
    return result if isinstance(result, int) else 0


def _is_of_output(error: OSError) -> bool:
    """Whether standard output cannot be written; then it is said, where anybody is left to hear it."""
    if error.filename is not None or error.errno not in _OF_OUTPUT:
        return False
    gone = isinstance(error, BrokenPipeError)
    if not gone:
        click.echo(f"Error: cannot write the output: {error.strerror or error}", err=True)
    # What is left in a buffer would be tried again at the exit. A pipe may be that of both.
    for stream in filter(None, (sys.stdout, sys.stderr) if gone else (sys.stdout,)):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return True


_OF_OUTPUT = {errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF}
"""What comes of writing where nothing can be written."""


def _is_of_file(error: BaseException) -> bool:
    """Whether a file cannot be had, of which no command has said it; then it is said."""
    from voxpath import terminal
    from voxpath.files import WriteError

    if isinstance(error, OSError):
        named = "" if error.filename is None else f"{error.filename}: "
        terminal.complain(f"{named}{error.strerror or error}")
    elif isinstance(error, WriteError):
        terminal.complain(str(error))
    else:
        return False
    return True


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
  voxpath new
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


for _command in COMMANDS:
    cli.add_command(_command)
