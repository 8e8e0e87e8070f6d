"""Filters that learn the echo paths; the engine (`crates/dsp`) does the work, without Python's lock."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Literal

import numpy as np

from voxpath._engine import EchoFilter
from voxpath.voice.aec.paths import Paths

if TYPE_CHECKING:
    from voxpath.voice.aec.samples import Samples

Precision = Literal["single", "double"]

Reading = Literal["corrected", "printed sign", "printed error"]
"""How (12) and (13) of Ficiu et al. 2023 are read.

- corrected: as they follow from (10) and (11);
- printed sign: (12) with its plus, and (13) with the error that (12) gives;
- printed error: (13) as printed, which makes (12) irrelevant.
"""


@dataclass(frozen=True)
class Solver:
    """Parameters of the dichotomous coordinate descent, by default the publication's.

    Attributes:
        range: H: unknowns change by less than this at once.
        bits: M_b: how often the step may be halved.
        updates: N_u: changes in a call at most.
    """

    range: float = 1.0
    bits: int = 16
    updates: int = 4


@dataclass(frozen=True)
class Words:
    """Bits of the words of a filter in integers (`crates/dsp/src/fixed.rs`).

    Attributes:
        sample: Of loudspeakers' and microphones' samples.
        sum: Of correlation matrix and residual.
        tap: Of a coefficient of the paths.
    """

    sample: int = 16
    sum: int = 32
    tap: int = 24


class Canceller:
    """A filter that takes the echo of two loudspeakers from two microphones, and learns from what it hears.

    Made by `widely_linear`, `long_room`, `fixed_point`, `rls` and `nlms`, or by `restore`.
    """

    def __init__(self, engine: EchoFilter) -> None:
        self._engine = engine
        self._type = np.float64 if engine.precision == "double" else np.float32

    @property
    def length(self) -> int:
        """Samples of each path."""
        return self._engine.length

    @property
    def delay(self) -> int:
        """Samples by which what goes out is later than what came in."""
        return self._engine.delay

    @property
    def paths(self) -> Paths:
        """The paths as the filter knows them."""
        return Paths(*(np.frombuffer(octets) for octets in self._engine.paths()))

    def process(self, far: Samples, near: Samples) -> Samples:
        """Cancels a block and learns from it.

        Args:
            far: Samples of the loudspeakers, left and right in rows.
            near: Of the microphones, likewise.

        Returns:
            What is left of the microphones' samples, likewise.

        Raises:
            ValueError: A sample is no number or beyond ±10⁶, or the channels differ in length. The filter is
                then as it was before.
        """
        loud, heard = (np.ascontiguousarray(block, dtype=self._type) for block in (far, near))
        if loud.ndim != 2 or len(loud) != 2 or heard.shape != loud.shape:
            raise ValueError(f"blocks have two rows of one length, not {loud.shape} and {heard.shape}")
        out: Samples = np.empty_like(heard)
        self._engine.block(list(loud), list(heard), list(out))
        return out

    def save(self) -> bytes:
        """Everything that the filter knows."""
        return self._engine.save()

    @staticmethod
    def restore(state: bytes) -> Canceller:
        """The filter that was saved, which goes on as if nothing had been between.

        Raises:
            ValueError: These octets are no saved filter, or damaged.
        """
        return Canceller(EchoFilter.restore(state))


def widely_linear(
    length: int,
    *,
    memory: float = 64.0,
    reuse: int = 1,
    solver: Solver | None = None,
    regularisation: float = 1.0,
    reading: Reading = "corrected",
    guard: float | None = None,
    precision: Precision = "single",
) -> Canceller:
    """WL-DR-RLS-DCD of Ficiu et al. 2023.

    Args:
        length: L: samples of each path.
        memory: K: the filter's memory in path lengths, λ = 1 - 1/(K L).
        reuse: N_it: how often each sample is used.
        solver: Of the normal equations.
        regularisation: ε: what the correlation matrix begins with, in squared units of the samples.
        reading: Of (12) and (13).
        guard: Against double-talk: what the scale that errors are limited by keeps of itself at each sample
            (Gänsler et al. 2000), such as 0.999; samples have to be parts of full scale then.
        precision: Of the arithmetic.

    Raises:
        ValueError: A value is not allowed; the message says which one.
    """
    solver = solver or Solver()
    return Canceller(
        EchoFilter.widely_linear(
            precision,
            length,
            forgetting(length, memory),
            regularisation,
            reuse,
            solver.range,
            solver.bits,
            solver.updates,
            reading,
            guard,
        )
    )


def fixed_point(
    length: int,
    *,
    words: Words | None = None,
    memory: float = 64.0,
    reuse: int = 1,
    solver: Solver | None = None,
    regularisation: float = 1.0,
) -> Canceller:
    """WL-DR-RLS-DCD in integers, as hardware would have it; samples are parts of full scale.

    Args:
        length: L: samples of each path, at most 256.
        words: Their lengths.
        memory: K: the filter's memory in path lengths; K L has to be a power of two, so that λ is a shift.
        reuse: N_it: how often each sample is used.
        solver: Of the normal equations; its range is 1, and its bits are at most two fewer than a tap's.
        regularisation: ε: what the correlation matrix begins with, in squared full scales.

    Raises:
        ValueError: A value is not allowed; the message says which one.
    """
    words, solver = words or Words(), solver or Solver()
    memory_bits = log2(memory * length) if memory * length > 0 else 0.0
    if not memory_bits.is_integer():
        raise ValueError(f"memory times length has to be a power of two, not {memory * length:g}")
    return Canceller(
        EchoFilter.fixed_point(
            length,
            int(memory_bits),
            regularisation,
            reuse,
            solver.range,
            solver.bits,
            solver.updates,
            (words.sample, words.sum, words.tap),
        )
    )


def long_room(
    length: int,
    rate: float,
    *,
    window: int | None = None,
    memory: float = 2.0,
    suppress: bool = True,
    precision: Precision = "single",
) -> Canceller:
    """Weighted recursive least squares in the bands of a short-time spectrum, for the echo of long rooms.

    Args:
        length: Samples of each path, at most 32 windows.
        rate: Samples in a second.
        window: Samples of a window, a power of two, and the delay of what goes out; by default the shortest
            one from 256 samples that makes at most 16 frames of the length.
        memory: Seconds in which what was learnt comes to count 1/e.
        suppress: Whether what the filter leaves of the echo is suppressed.
        precision: Of the arithmetic.

    Raises:
        ValueError: A value is not allowed; the message says which one.
    """
    return Canceller(EchoFilter.rooms(precision, length, rate, window, memory, suppress))


def rls(
    length: int,
    *,
    memory: float = 64.0,
    reuse: int = 1,
    regularisation: float = 1.0,
    reading: Reading = "corrected",
    solve: bool = False,
    precision: Precision = "double",
) -> Canceller:
    """Exact recursive least squares with data reuse, for comparison: O(L²) for a sample.

    Args:
        length: L: samples of each path.
        memory: K: the filter's memory in path lengths.
        reuse: N_it: how often each sample is used.
        regularisation: ε: what the correlation matrix begins with.
        reading: Of (12) and (13).
        solve: Solve the normal equations anew for each sample, O(L³), in place of Woodbury's identity.
        precision: Of the arithmetic.

    Raises:
        ValueError: A value is not allowed; the message says which one.
    """
    return Canceller(
        EchoFilter.rls(precision, length, forgetting(length, memory), regularisation, reuse, reading, solve)
    )


def nlms(
    length: int, *, step: float = 0.5, regularisation: float = 1e-6, precision: Precision = "single"
) -> Canceller:
    """Normalised least mean squares, for comparison.

    Args:
        length: Samples of each path.
        step: μ, between 0 and 2.
        regularisation: δ, added to the samples' energy.
        precision: Of the arithmetic.

    Raises:
        ValueError: A value is not allowed; the message says which one.
    """
    return Canceller(EchoFilter.nlms(precision, length, step, regularisation))


def forgetting(length: int, memory: float) -> float:
    """λ = 1 - 1/(K L)."""
    if length < 1 or memory <= 0:
        raise ValueError(f"length and memory have to be above 0, not {length} and {memory}")
    return 1.0 - 1.0 / (memory * length)
