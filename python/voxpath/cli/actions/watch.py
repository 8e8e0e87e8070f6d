"""What the links did while a command ran: looked at four times a second, shown in a line, summed up."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from voxpath import live, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from voxpath.backends.real.network import Network

LOOKS = "links"
"""The table of what was seen."""

_SHOWN = 4
"""Directions of links in a summary, the busiest first."""

_SETTLES_S = 0.2
"""How long the last look is waited for."""


@dataclass(frozen=True)
class Look:
    """A direction of a link, as it was seen; counts are since the start.

    Attributes:
        time_ns: When, from the run's start.
        link: Its name and its ends.
        packets: That came.
        served_bytes: That left the serialiser.
        dropped: Packets for which the queue had no room, or that its discipline dropped.
        lost: Packets that were lost on the way.
        waiting: Packets that wait.
        delay_ns: How long a packet that comes now takes.
    """

    time_ns: int
    link: str
    packets: int
    served_bytes: int
    dropped: int
    lost: int
    waiting: int
    delay_ns: int


@dataclass
class Watch:
    """Looks at a network again and again.

    Attributes:
        network: Which.
        meter: Where a line shows it, if one does.
        looks: What was seen, in the order of time.
    """

    network: Network
    meter: Meter | None = None
    looks: list[Look] = field(default_factory=list)
    _next: float = 0.0
    _seen_ns: int = -1

    def __call__(self) -> None:
        """Takes a look, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + live.EVERY_S
        self._look()

    def finish(self) -> None:
        """Takes the last look, of what there is now."""
        asked = self._look()
        until = time.monotonic() + _SETTLES_S
        while self._look() == asked and time.monotonic() < until:
            time.sleep(0.005)

    def _look(self) -> int:
        """Asks for the links, and takes what was found since the last time; when that was."""
        seen = self.network.session.links()
        if seen is not None and seen[0] > self._seen_ns:
            self._seen_ns = seen[0]
            names = live.names(self.network.plan)
            self.looks += [
                Look(seen[0], name, *numbers) for name, numbers in zip(names, seen[1], strict=True)
            ]
            if self.meter is not None:
                self.meter.show(*(told(self.looks, len(names), brief=brief) for brief in (False, True)))
        return self._seen_ns

    def columns(self) -> dict[str, list[Any]]:
        """What was seen, as the columns of a table."""
        return {name: [getattr(look, name) for look in self.looks] for name in Look.__dataclass_fields__}


def told(looks: Sequence[Look], directions: int, *, brief: bool = False) -> str:
    """The last look in a line; a brief one has two directions in 80 columns, up from the command."""
    new, old = looks[-directions:], looks[-2 * directions : -directions]
    parts = [f"{'' if brief else 'voxpath '}{new[0].time_ns / 1e9:.1f} s"]
    several = len({look.link.partition(": ")[0] for look in new}) > 1
    rates = [(_rate(before, after), after) for before, after in zip(old or new, new, strict=True)]
    for rate, look in sorted(rates, key=lambda found: -found[0])[:2]:
        lost = f", {look.dropped + look.lost} lost" if look.dropped + look.lost else ""
        link, _, way = look.link.partition(": ")
        way = (brief and _BRIEFLY.get(way)) or way.replace(" ", "")
        called = f"{link} {way}" if several else way
        waiting = "" if brief and not look.waiting else f", {look.waiting} waiting"
        parts.append(f"{called} {rate / 1e6:.2f} Mbit/s, {look.delay_ns / 1e6:.0f} ms{waiting}{lost}")
    return ("  " if brief else "   ").join(parts)


_BRIEFLY = {"client → machine": "up", "machine → client": "down"}


def _rate(before: Look, after: Look) -> float:
    """Bits in a second between two looks."""
    span = after.time_ns - before.time_ns
    return 8e9 * (after.served_bytes - before.served_bytes) / span if span > 0 else 0.0


@dataclass(frozen=True)
class Direction:
    """What a direction of a link did in a whole run.

    Attributes:
        last: The last look at it.
        mean_bps: Over the run.
        peak_bps: Between two looks.
        delay_ns: The longest that a packet was to take, at a look.
    """

    last: Look
    mean_bps: float
    peak_bps: float
    delay_ns: int


def directions(looks: Sequence[Look]) -> list[Direction]:
    """What each direction did."""
    by_link: dict[str, list[Look]] = {}
    for look in looks:
        by_link.setdefault(look.link, []).append(look)
    return [
        Direction(
            seen[-1],
            8e9 * seen[-1].served_bytes / max(1, seen[-1].time_ns),
            max((_rate(before, after) for before, after in itertools.pairwise(seen)), default=0.0),
            max(look.delay_ns for look in seen),
        )
        for seen in by_link.values()
    ]


_HEADS = ("link", "packets", "Mbit/s", "peak", "dropped", "lost", "longest delay ms", "varies by")
_SPARE = ("packets", "peak")


def print_summary(looks: Sequence[Look], plan: Mapping[str, Any]) -> None:
    """A line for each of the busiest directions, on standard error.

    Args:
        looks: What was seen.
        plan: Of the links: it says how a delay varies, which no look sees.
    """
    found = directions(looks)
    varies = _variations(plan)
    busiest = sorted(range(len(found)), key=lambda index: -found[index].last.served_bytes)[:_SHOWN]
    lines = [
        [
            one.last.link,
            str(one.last.packets),
            f"{one.mean_bps / 1e6:.3f}",
            f"{one.peak_bps / 1e6:.3f}",
            str(one.last.dropped),
            str(one.last.lost),
            f"{one.delay_ns / 1e6:.1f}",
            varies[one.last.link],
        ]
        for one in (found[index] for index in sorted(busiest))
    ]
    used = len(_HEADS) if any(line[-1] for line in lines) else len(_HEADS) - 1
    if lines:
        from voxpath import terminal

        terminal.print_table(
            None, _HEADS[:used], [line[:used] for line in lines], _SPARE, terminal.console(stderr=True)
        )


def _variations(plan: Mapping[str, Any]) -> dict[str, str]:
    """By direction, how its delay varies around the one that a look sees: `± 20.0 ms` of a normal jitter."""
    ways = [link[way]["delay_variation"] for link in plan["links"] for way in ("ab", "ba")]
    return {
        name: ""
        if how is None
        else f"± {how['deviation_ns'] / 1e6:.1f} ms"
        if how["kind"] == "normal"
        else str(how["kind"])
        for name, how in zip(live.names(plan), ways, strict=True)
    }


class Meter:
    """The last line of a terminal, which the command does not get while this is in use.

    The terminal scrolls above it and is told to be one line shorter, so that programs that fill the screen
    leave it alone, too. Where there is no terminal, nothing is shown.
    """

    def __init__(self) -> None:
        self._tty: int | None = None
        self._size = (0, 0)

    def __enter__(self) -> Self:
        """Takes the line."""
        with contextlib.suppress(OSError):
            tty = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            if os.isatty(sys.stderr.fileno()):
                self._tty = tty
            else:
                os.close(tty)
        # Before the command looks how large its terminal is.
        self.show("voxpath")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Gives it back."""
        if self._tty is None:
            return
        rows, columns = self._size
        if rows:
            # All lines scroll again, the meter's is empty, and the cursor is where it was.
            self._write(f"\0337\033[r\033[{rows};1H\033[2K\0338")
            _resize(self._tty, rows, columns)
        os.close(self._tty)
        self._tty = None

    def show(self, *lines: str) -> None:
        """Shows the first line that there is room for; of the last one, what there is room for."""
        if self._tty is None:
            return
        rows, columns = os.get_terminal_size(self._tty).lines, os.get_terminal_size(self._tty).columns
        if (rows, columns) != (self._size[0] - 1, self._size[1]):
            # The first time, and whenever somebody has changed the window.
            if rows < 2:
                return
            self._size = (rows, columns)
            self._write(f"\n\0337\033[1;{rows - 1}r\0338\033[A")
            _resize(self._tty, rows - 1, columns)
        plain = list(map(texts.safe, lines))
        shown = next((line for line in plain if len(line) < columns), plain[-1])[: columns - 1]
        self._write(f"\0337\033[{self._size[0]};1H\033[2K\033[7m{shown:<{columns - 1}}\033[0m\0338")

    def _write(self, text: str) -> None:
        assert self._tty is not None  # noqa: S101 - asked only with a terminal
        with contextlib.suppress(OSError), _unstopped():
            os.write(self._tty, text.encode())


def _resize(tty: int, rows: int, columns: int) -> None:
    import fcntl
    import termios

    with contextlib.suppress(OSError), _unstopped():
        fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def _unstopped() -> Iterator[None]:
    """Writes to the terminal though the command is in its foreground."""
    import signal

    masked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
