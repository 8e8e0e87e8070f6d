"""`voxpath aec`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from voxpath.cli.parts import JSON, Command, Integer, Number


@click.command(
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
    type=Number(1.0, 10_000.0),
    default=64.0,
    show_default=True,
    help="Of the filter, in lengths: shorter follows faster, longer is more exact.",
)
@click.option(
    "--reuse",
    type=Integer(1, 100),
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
@click.option("--rate", type=Integer(1_000, 192_000), default=None, help="Of --live, in Hz.")
@click.option("--block", default="10 ms", show_default=True, help="Of --live.")
@JSON
def aec(
    far: Path | None,
    mic: Path | None,
    output: Path | None,
    live: bool,
    rate: int | None,
    block: str,
    json: bool,
    **options: Any,
) -> int:
    """Cancels the echo of loudspeakers in a recording of microphones, mono or stereo.

    With --live, frames of four 16-bit samples (low octet first: loudspeakers left and right, microphones left
    and right) become frames of two.
    """
    from voxpath.cli.actions.aec import Options, cancel_files, cancel_stream

    chosen = Options(**options)
    files = {"--far": far, "--mic": mic, "--output": output}
    if live:
        if given := [name for name, path in files.items() if path]:
            raise click.UsageError(f"--live reads and writes streams, so it takes no {given[0]}")
        if rate is None:
            raise click.UsageError("--live needs --rate")
        if json:
            raise click.UsageError("--live writes samples to standard output, so it takes no --json")
        return cancel_stream(sys.stdin.buffer, sys.stdout.buffer, rate, block, chosen)
    if rate is not None:
        raise click.UsageError("--rate is of --live; files say it themselves")
    if far is None or mic is None or output is None:
        missing = next(name for name, path in files.items() if path is None)
        raise click.UsageError(f"{missing} is missing, or --live")
    return cancel_files(far, mic, output, chosen, as_json=json)
