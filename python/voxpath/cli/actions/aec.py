"""What `voxpath aec` does: it cancels the echo of a recording, or of a stream of blocks as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal

import click
import numpy as np

from voxpath._engine import format_span, parse_span
from voxpath.cli.actions.common import print_json
from voxpath.terminal import Progress, console
from voxpath.voice.aec.align import delay, shifted
from voxpath.voice.aec.filters import long_room, widely_linear
from voxpath.voice.aec.measures import erle
from voxpath.voice.aec.sound import SoundError, read, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from voxpath.voice.aec.filters import Canceller
    from voxpath.voice.aec.samples import Samples

_EARLY_S = 0.005
"""The echo is looked for from so much before the delay that was found: the loudest way is not the first."""

_GUARD_S = 0.0625
"""Memory of the guard's scale."""

_REGULARISATION = 0.1
"""ε: some hundred times the power of speech in parts of full scale."""

_LONG = 512
"""Longer paths, in samples, are learnt in bands where nothing else is asked for."""

_LONGEST = 2**16
"""Samples of paths that are learnt in bands."""

_MEMORY, _REUSE = 64.0, 1
"""What nobody has asked for: K and N_it."""

_STREAM = 2**15
"""Full scale of a stream's samples, which have 16 bits."""


@dataclass(frozen=True)
class Options:
    """What is set.

    Attributes:
        length: Of the echo paths, with its unit.
        memory: K.
        reuse: N_it.
        delay: `auto`, or by how much the microphones lag.
        guard: Whether to guard against double-talk.
        form: Of the filter: one for all samples, or bands for long rooms; `auto` decides by the length.
        suppress: Whether what bands leave of the echo is suppressed.
    """

    length: str
    memory: float
    reuse: int
    delay: str
    guard: bool
    form: Literal["auto", "samples", "rooms"] = "auto"
    suppress: bool = True

    def samples(self, text: str, what: str, rate: int) -> int:
        """A span in samples.

        Raises:
            click.BadParameter: It is none.
        """
        try:
            return round(parse_span(text) * rate / 1e9)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=what) from None

    def canceller(self, rate: int) -> Canceller:
        """The filter.

        Raises:
            click.BadParameter: It cannot be made.
        """
        length = self.samples(self.length, "--length", rate)
        guard = 1.0 - 1.0 / (_GUARD_S * rate) if self.guard else None
        of_samples = self.memory != _MEMORY or self.reuse != _REUSE or not self.guard
        if self.form == "rooms" and of_samples:
            raise click.UsageError("--memory, --reuse and --no-guard are of --form samples")
        rooms = self.form == "rooms" or (self.form == "auto" and length > _LONG and not of_samples)
        if not (rooms or self.suppress):
            raise click.UsageError("--no-suppress is of --form rooms")
        if rooms and length > _LONGEST:
            raise click.BadParameter(f"rooms are learnt to at most {_LONGEST} samples", param_hint="--length")
        try:
            if rooms:
                return long_room(length, rate, suppress=self.suppress)
            return widely_linear(
                length, memory=self.memory, reuse=self.reuse, regularisation=_REGULARISATION, guard=guard
            )
        except ValueError as error:
            raise click.UsageError(f"{error} ({length} samples at {rate} Hz)") from None


def cancel_files(
    far_path: Path, mic_path: Path, out_path: Path, options: Options, *, as_json: bool = False
) -> int:
    """Cancels a recording; 0.

    With `as_json` what came of it is told as docs/json.md says, and remarks go to standard error.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    try:
        far, near = read(far_path), read(mic_path)
    except SoundError as error:
        raise click.ClickException(str(error)) from None
    if far.rate != near.rate:
        raise click.ClickException(
            f"{far_path} has {far.rate} samples a second, {mic_path} {near.rate}: convert one of them first"
        )
    canceller = options.canceller(near.rate)
    late = canceller.delay
    count = near.samples.shape[1]
    loud = np.zeros_like(near.samples)
    shared = min(count, far.samples.shape[1])
    loud[:, :shared] = far.samples[:, :shared]
    told = console(stderr=as_json)
    if shared < count:
        told.print(f"{far_path} ends {(count - shared) / far.rate:.3f} s sooner: silence from then on")
    lag, known = _lag(loud, near.samples, near.rate, options, told.print)
    loud = shifted(loud, lag)
    block = max(1, near.rate // 10)
    starts = range(0, count + late, block)
    loud, heard = (np.pad(samples, ((0, 0), (0, late))) for samples in (loud, near.samples))
    out = np.empty_like(heard)
    with Progress("aec", len(starts)) as progress:
        for start in starts:
            part = slice(start, start + block)
            out[:, part] = canceller.process(loud[:, part], heard[:, part])
            progress.advance()
    out = out[:, late:]
    try:
        clipped = write(out_path, out, near)
    except OSError as error:
        raise click.ClickException(f"{out_path}: {error.strerror}") from None
    if clipped:
        told.print(
            f"{clipped} samples were clipped: at first a filter that knows nothing may add to the echo"
        )
    half, gain = count // 2, None
    if np.any(out[:, half:]) and np.any(near.samples[:, half:]):
        gain = erle(near.samples[:, half:], out[:, half:])
        told.print(f"second half: {gain:.1f} dB less than at the microphones, near-end speech included")
    if as_json:
        print_json(
            {
                "command": "aec",
                "output": str(out_path),
                "rate_hz": near.rate,
                "channels": near.channels,
                "duration_s": count / near.rate,
                "delay_s": known,
                "clipped": clipped,
                "second_half_db": gain,
            }
        )
    return 0


def _lag(
    far: Samples, near: Samples, rate: int, options: Options, tell: Callable[[str], None]
) -> tuple[int, float | None]:
    """How many samples later the loudspeakers' are put, and the delay in seconds; none if none was found."""
    if options.delay != "auto":
        given = options.samples(options.delay, "--delay", rate)
        return given, given / rate
    found = delay(far, near, rate)
    if found is None:
        tell("delay: nothing found that could be an echo; 0 ms")
        return 0, None
    tell(f"delay: {1e3 * found / rate:.1f} ms")
    return found - round(_EARLY_S * rate), found / rate


def cancel_stream(source: BinaryIO, sink: BinaryIO, rate: int, block: str, options: Options) -> int:
    """Cancels as it comes; 0 at the end of the stream.

    Frames of four samples of 16 bits, low octet first: loudspeakers left and right, microphones left and
    right; out come frames of two.

    Raises:
        click.ClickException: Bad input.
    """
    if options.delay == "auto":
        raise click.UsageError("a stream's delay has to be given (--delay): what is to come is not known")
    canceller = options.canceller(rate)
    size = options.samples(block, "--block", rate)
    if size < 1:
        raise click.BadParameter(f"{format_span(0)} is less than a sample", param_hint="--block")
    lag = options.samples(options.delay, "--delay", rate)
    if lag < 0:
        raise click.BadParameter("the echo of a stream cannot come before it", param_hint="--delay")
    if canceller.delay:
        console(stderr=True).print(f"what goes out is {1e3 * canceller.delay / rate:g} ms late")
    waiting = np.zeros((2, lag))
    rest = b""
    while octets := source.read(8 * size - len(rest)):
        rest += octets
        whole = len(rest) // 8 * 8
        frames = np.frombuffer(rest[:whole], dtype="<i2").reshape(-1, 4).T / _STREAM
        rest = rest[whole:]
        loud = np.concatenate([waiting, frames[:2]], axis=1)
        far, waiting = loud[:, : frames.shape[1]], loud[:, frames.shape[1] :]
        out = canceller.process(far, frames[2:])
        scaled = np.clip(np.rint(out * _STREAM), -_STREAM, _STREAM - 1)
        sink.write(scaled.astype("<i2").T.tobytes())
        sink.flush()
    if rest:
        raise click.ClickException(f"the stream ends within a frame: {len(rest)} octets are left over")
    return 0
