"""What can be set in the same way on the command line and in Python, each declared once.

The commands take click's options made of these (`voxpath.cli.options`). The functions of `voxpath.api` have
their defaults, and `takes` documents them there and checks what is given.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, SupportsIndex, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from voxpath.backends.formula import Formulas

EMPTY = "is empty: it names a directory"

Value = TypeVar("Value")
_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")


@dataclass(frozen=True)
class Whole:
    """A whole number.

    Attributes:
        least: It is this or more.
        most: It is this or less.
    """

    least: int
    most: int


@dataclass(frozen=True)
class Text:
    """A text.

    Attributes:
        metavar: What help calls it.
    """

    metavar: str | None = None


class File:
    """A file's path."""


class Directory:
    """A directory's path; an empty text, which would be the current directory, is none."""


class Names:
    """Some of several names: in Python a list, on the command line with commas between."""


@dataclass(frozen=True)
class Each:
    """Any names: in Python a list, on the command line an option that may be repeated.

    Attributes:
        metavar: What help calls one of them.
    """

    metavar: str | None = None


class Flag:
    """Yes or no."""


Kind: TypeAlias = Whole | Text | File | Directory | Names | Each | Flag


@dataclass(frozen=True)
class Option(Generic[Value]):
    """Something that can be set.

    Attributes:
        name: Of the argument in Python.
        kind: What it can be.
        meaning: A sentence, which help and documentation begin with.
        default: In Python; on the command line too, unless a command has its own.
        flag: The option's name on the command line, where it is another one.
        in_python: What else is to be known in Python.
        in_shell: What else is to be known on the command line.
    """

    name: str
    kind: Kind
    meaning: str
    default: Value
    flag: str | None = None
    in_python: str = ""
    in_shell: str = ""

    def check(self, value: object) -> None:
        """Checks what Python gives; what is on a command line, click checks by the same kind.

        Names are looked up by who knows them.

        Raises:
            ValueError: It cannot be.
        """
        if value is None and self.default is None:
            return
        match self.kind:
            case Whole(least, most) if not (
                isinstance(value, SupportsIndex) and least <= value.__index__() <= most
            ):
                raise ValueError(f"{self.name} {value!r}: a whole number from {least} to {most} is expected")
            case Directory() if value == "":
                raise ValueError(f"{self.name} {EMPTY}")
            case Names() | Each() if isinstance(value, str):
                raise ValueError(f"{self.name} {value!r}: a list of names is expected, such as [{value!r}]")


REPLICATIONS: Option[int | None] = Option(
    "replications",
    Whole(1, 1_000_000),
    "How many runs of each cell; without it as many as the scenario's [sweep] says, else one.",
    None,
)
RUNS: Option[int] = Option(
    "replications", REPLICATIONS.kind, "How many runs, which differ in their random streams alone.", 1
)
REPLICATION: Option[int] = Option(
    "replication", Whole(0, 2**63 - 1), "Make this replication alone: random streams differ.", 0
)
OUT: Option[Path | str] = Option(
    "out",
    Directory(),
    "Directory of the runs; a finished run that is there already is not repeated.",
    "runs",
)
KEPT: Option[Path | str | None] = Option(
    "out",
    OUT.kind,
    "Directory of the runs, where this one is kept, by the end of the block; without it, nowhere.",
    None,
)
OBSERVE: Option[Collection[str]] = Option(
    "observe", Names(), "What to record besides the results: tcp, rtc, packets, capacity.", ()
)
CAPTURE: Option[Collection[str]] = Option("capture", Each("HOST"), "Hosts whose packets are captured.", ())
JOBS: Option[int] = Option(
    "jobs",
    Whole(1, 1024),
    "Workers, which are threads, and runs in real time that go on together. The results do not depend on it.",
    1,
    in_shell="By default one worker per processor, and one run in real time.",
)
DASK: Option[str | None] = Option(
    "dask",
    Text("ADDRESS"),
    "Run on a Dask cluster: a scheduler's address, or local:2 for two processes here.",
    None,
)
SHARDS: Option[str | None] = Option(
    "shards",
    Text("WHERE"),
    "How runs come from workers of a cluster that do not see the directory of the runs: 'return', with their "
    "answers, or through an object store, such as s3://bucket/sweep.",
    None,
)
FORCE: Option[bool] = Option("force", Flag(), "Make runs anew that are there already.", False)
FORMULAS: Option[Formulas | Path | str | None] = Option(
    "formulas",
    File(),
    "A Python file with formulas of your own, asked beside those of the literature.",
    None,
    in_python="Or the formulas themselves: see `voxpath.formulas`.",
)
BACKENDS: Option[Sequence[str]] = Option(
    "backends", Names(), "Who answers: sim, formula, real.", ("sim", "formula"), flag="backend"
)
METRICS: Option[Sequence[str]] = Option(
    "metrics", Each(), "What to show; the main metrics if none is named.", (), flag="metric"
)

LINK: tuple[Option[str | None], ...] = (
    Option("rate", Text("RATE"), "Of the link, such as '5 Mbit/s'.", None),
    Option(
        "trace",
        Text("FILE"),
        "In place of a rate: packet-delivery opportunities in Mahimahi's format, over and over.",
        None,
    ),
    Option("delay", Text("DELAY"), "One way, such as '20 ms'.", None),
    Option(
        "jitter",
        Text("JITTER"),
        "Standard deviation of a normal delay around --delay, such as '5 ms', and how far it is correlated "
        "from packet to packet, such as '5 ms, 25 %'. Packets do not overtake each other.",
        None,
    ),
    Option(
        "queue",
        Text("QUEUE"),
        "Before the link, such as '100 packets' or '64 KiB', unlimited without it; or the kind of a "
        "discipline, such as fq_codel, and its room: 'fq_codel, 1000 packets'.",
        None,
    ),
    Option("loss", Text("LOSS"), "Of packets, such as '1 %'.", None),
    Option(
        "burst", Text("BURST"), "Packets are lost in bursts of this mean length, such as '4 packets'.", None
    ),
    Option("corrupt", Text("CORRUPT"), "Of packets that arrive damaged, such as '0.1 %'.", None),
    Option("duplicate", Text("DUPLICATE"), "Of packets that arrive twice, such as '0.1 %'.", None),
    Option("reorder", Text("REORDER"), "Packets held back, and by how much, such as '1 % by 5 ms'.", None),
    Option(
        "framing", Text("FRAMING"), "Bytes that the rate counts: ip, or ethernet for 38 more a packet.", None
    ),
)
"""One link in one line: what it does to packets; each may differ by direction, and of a second link."""

MTU: Option[str | None] = Option("mtu", Text("SIZE"), "The largest IP packet that the link takes.", None)

PRESET: Option[str | None] = Option(
    "preset",
    Text("NAME"),
    "A link that somebody published; every other option changes it: 5g, dsl, geo-satellite, lte, wifi-cafe.",
    None,
)

MEASURES: Option[Sequence[str]] = Option(
    "measures",
    Names(),
    "How it is judged: all of them, or some of emodel, pesq, visqol, stoi, words, formants.",
    ("emodel", "pesq"),
)
CALL: tuple[Option[Any], ...] = (
    Option("over", Text("TRANSPORT"), "The transport: rtp, tcp, websocket, mptcp, mqtt.", "rtp"),
    Option("codec", Text("CODEC"), "The codec: opus, g711, pcm.", "opus"),
    Option("bitrate", Text("RATE"), "Of opus, such as '16 kbit/s'; 24 kbit/s without it.", None),
    Option("frame", Text("TIME"), "Length of a frame, such as '10 ms'; 20 ms without it.", None),
    Option(
        "fec",
        Flag(),
        "Whether packets of opus may carry a copy of the frame before; opus does unless told otherwise.",
        None,
        flag="fec/--no-fec",
    ),
    Option("dtx", Flag(), "Whether opus sends nothing while nobody speaks.", False),
    Option(
        "buffer",
        Text("TIME"),
        "The jitter buffer: how long the first frame waits, or adaptive.",
        "60 ms",
    ),
    Option(
        "backend",
        Text("NAME"),
        "sim, in virtual time; or real, the very packets over the kernel, as long as the recording takes.",
        "sim",
    ),
    Option("redundancy", Whole(0, 3), "So many earlier frames in each packet of RTP (RFC 2198).", 0),
    Option("nack", Flag(), "Whether lost packets of RTP are asked for again (RFC 4585, RFC 4588).", False),
    Option(
        "room",
        Text("NAME"),
        "Who answers has a loudspeaker in a room (booth, office, meeting-room), whose echo comes back.",
        None,
    ),
    Option(
        "echo_loss", Text("DB"), "From loudspeaker to microphone; '20 dB' without it.", None, flag="echo-loss"
    ),
    Option("cancel", Flag(), "Whether our echo canceller is beside the microphone.", False),
    MEASURES,
)
"""What becomes of a voice on its way."""


def takes(
    *options: Option[Any],
) -> Callable[[Callable[_Parameters, _Returned]], Callable[_Parameters, _Returned]]:
    """Checks these arguments of a function, and adds them to those that it documents itself."""
    lines = "\n".join(
        textwrap.fill(
            f"{one.name}: {' '.join(filter(None, (one.meaning, one.in_python)))}",
            110,
            initial_indent="    ",
            subsequent_indent="        ",
        )
        for one in options
    )

    def decorate(function: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
            given = signature.bind(*args, **kwargs).arguments
            for one in options:
                if one.name in given:
                    one.check(given[one.name])
            return function(*args, **kwargs)

        own = inspect.cleandoc(function.__doc__ or "")
        arguments = re.compile(r"^Args:\n(?:    .+\n)+", re.MULTILINE)
        checked.__doc__ = arguments.sub(lambda found: f"{found[0]}{lines}\n", own)
        return checked

    return decorate
