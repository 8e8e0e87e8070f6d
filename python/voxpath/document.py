"""What a report holds, as values: studies and sweeps make it, `html.py` draws it; neither knows the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Scale = Literal["linear", "log"]

Style = Literal["line", "steps", "points"]
"""How a curve's points are joined; `steps` keeps each value until the next one."""

Fate = Literal["delivered", "lost", "retransmission"]
"""A lost segment never arrives; a retransmission does, and carries what was sent before."""

Mark = Literal["good", "bad", "open"]
"""How a cell is meant: it agrees or holds, it differs or fails, or it cannot be said."""


@dataclass(frozen=True)
class Text:
    """Paragraphs of plain words; a line break inside a paragraph means nothing."""

    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """Names and what they are, such as the parameters of a set-up."""

    title: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text.

    Attributes:
        text: What it shows.
        mark: How it is meant, if it is a verdict.
        reason: What lies behind it, for who asks.
    """

    text: str
    mark: Mark | None = None
    reason: str = ""

    def __str__(self) -> str:
        """What it shows, for a terminal."""
        return self.text


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: Above it.
        columns: Its head.
        rows: Its cells, each row as long as the head.
        notes: What must be known to read it.
        spare: Columns that a narrow terminal leaves out, the least important first.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    notes: Sequence[str] = ()
    spare: Sequence[str] = ()


@dataclass(frozen=True)
class Check:
    """A claim that could have failed.

    Attributes:
        claim: A sentence.
        holds: Whether it does; None where the data cannot decide (`results/decisions.py`).
        evidence: The numbers that decided.
        set_aside: Why it does not count, whatever it says; empty where it counts.
    """

    claim: str
    holds: bool | None
    evidence: str
    set_aside: str = ""

    def __post_init__(self) -> None:
        # Comparisons of numpy's values give a type of its own, which is neither True nor False to `is`.
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))

    @property
    def verdict(self) -> str:
        """In words."""
        return "undecided" if self.holds is None else "holds" if self.holds else "does not hold"

    @property
    def mark(self) -> Mark:
        """How it is meant; what does not count is neither good nor bad."""
        return "open" if self.holds is None or self.set_aside else "good" if self.holds else "bad"

    @property
    def cell(self) -> Cell:
        """In a table: the verdict, what decided behind it."""
        evidence = f"{self.evidence}; not counted: {self.set_aside}" if self.set_aside else self.evidence
        return Cell(self.verdict, self.mark, evidence)


@dataclass(frozen=True)
class Checks:
    """Claims that belong together."""

    title: str
    checks: Sequence[Check]


@dataclass(frozen=True)
class Axis:
    """What is drawn along a direction.

    Attributes:
        label: Without the unit.
        unit: Of the values; empty for a pure number.
        scale: On `log`, values that are not positive are left out of the drawing; the plot says so.
        names: What stands at 0, 1, 2 … in place of numbers, for a direction that has none.
        span: What is shown at least, so that plots side by side can be compared.
    """

    label: str
    unit: str = ""
    scale: Scale = "linear"
    names: Sequence[str] = ()
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A curve of a plot.

    Attributes:
        name: In the legend.
        x: Ascending, in the unit of the axis.
        y: As long as `x`; none where there is no value.
        low: Lower end of the interval at each `x`; empty without intervals.
        high: Its upper end.
        style: How the points are joined.
        group: Curves of one group share a colour and differ by their dashes, such as an estimate beside a
            measurement; without one, a curve has a colour of its own.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    style: Style = "line"
    group: str = ""


@dataclass(frozen=True)
class Plot:
    """Curves over a common axis.

    Attributes:
        title: Above it.
        caption: What is seen, in a sentence or two.
        x: The horizontal axis.
        y: The vertical axis.
        curves: Drawn in this order.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]


@dataclass(frozen=True)
class Together:
    """Plots over one horizontal axis, one below the other: what is read or zoomed in one is so in all.

    Attributes:
        title: Above them.
        caption: What is seen.
        plots: From the top; their horizontal axes span the same values.
    """

    title: str
    caption: str
    plots: Sequence[Plot]


@dataclass(frozen=True)
class Segment:
    """An arrow of a ladder diagram.

    Attributes:
        sent_s: When it leaves, in seconds.
        received_s: When it arrives; none if it is lost.
        rightward: From the left host to the right one.
        label: Beside the arrow.
        fate: How it is drawn.
    """

    sent_s: float
    received_s: float | None
    rightward: bool
    label: str
    fate: Fate = "delivered"


@dataclass(frozen=True)
class Ladder:
    """Segments between two hosts, time downwards."""

    title: str
    caption: str
    left: str
    right: str
    segments: Sequence[Segment]


@dataclass(frozen=True)
class Panel:
    """A grid of values.

    Attributes:
        name: What is special to it, such as the value of a third axis.
        values: By row (`Map.ys`) and column (`Map.xs`); none where there is no value.
        details: What a cell says of itself beyond its value, in the shape of `values`; or empty.
        half_widths: Of the values' intervals, which stand below them, likewise.
    """

    name: str
    values: Sequence[Sequence[float | None]]
    details: Sequence[Sequence[str]] = ()
    half_widths: Sequence[Sequence[float | None]] = ()


@dataclass(frozen=True)
class Map:
    """A value over two axes, and over a third as panels; all panels share one colour scale.

    Attributes:
        title: Above it.
        caption: What is seen.
        x: The horizontal axis; its values are `xs`, as texts with their unit.
        y: The vertical axis, upwards; its values are `ys`.
        value: What the colour shows. A linear scale that goes through 0 diverges around it.
        xs: Names of the columns.
        ys: Names of the rows.
        panels: The grids.
        limit: A value of interest: lines part the cells on both sides of it. None without one.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    value: Axis
    xs: Sequence[str]
    ys: Sequence[str]
    panels: Sequence[Panel]
    limit: float | None = None


@dataclass(frozen=True)
class Cloud:
    """Points that belong together.

    Attributes:
        name: In the legend.
        points: In the axes' units.
        details: What each point says of itself beyond its place; or empty.
        ellipse: Where one standard deviation of them lies, as a closed line; or empty.
    """

    name: str
    points: Sequence[tuple[float, float]]
    details: Sequence[str] = ()
    ellipse: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Scatter:
    """Clouds of points in a plane.

    Attributes:
        title: Above it.
        caption: What is seen.
        x: The horizontal axis.
        y: The vertical axis.
        clouds: Drawn in this order.
        reversed: Whether both axes run the other way, as those of the vowel space do.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    clouds: Sequence[Cloud]
    reversed: bool = False


@dataclass(frozen=True)
class Outline:
    """A line of a drawing to scale.

    Attributes:
        name: What it is.
        points: In the drawing's unit; one point is drawn as a dot.
        group: Outlines of one group share a colour and an entry in the legend; without one, it is drawn
            in the colour of the text.
        label: Beside it; or empty.
    """

    name: str
    points: Sequence[tuple[float, float]]
    group: str = ""
    label: str = ""


@dataclass(frozen=True)
class Outlines:
    """A drawing to scale, y upward.

    Attributes:
        title: Above it.
        caption: What is seen.
        unit: Of the points.
        outlines: Drawn in this order.
    """

    title: str
    caption: str
    unit: str
    outlines: Sequence[Outline]


@dataclass(frozen=True)
class Spectrogram:
    """Levels over time and frequency, with curves on top.

    Attributes:
        title: Above it.
        caption: What is seen.
        x: Time.
        y: Frequency.
        levels: A row for each frequency, lowest first, a column for each time, between 0 and 1.
        ends: The times of the left and right edge, the frequencies of the lower and upper one.
        tracks: Points that lie on top, such as formants.
        spans: Beginning, end and label of stretches of time.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    levels: Sequence[Sequence[float]]
    ends: tuple[float, float, float, float]
    tracks: Sequence[Curve]
    spans: Sequence[tuple[float, float, str]] = ()


@dataclass(frozen=True)
class Sound:
    """Something to hear.

    Attributes:
        name: What it is.
        text: What is said in it, or what to listen for.
        rate: Samples in a second.
        channels: Their samples, within ±1; one channel, or left and right.
    """

    name: str
    text: str
    rate: int
    channels: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Sounds:
    """Sounds to be compared; they stand in the page itself, so let them be a few seconds at 8 or 16 kHz.

    Attributes:
        title: Above them.
        caption: What they have in common.
        sounds: In this order.
    """

    title: str
    caption: str
    sounds: Sequence[Sound]


@dataclass(frozen=True)
class Node:
    """A place of a network.

    Attributes:
        name: Beside it.
        host: Whether it is an end, and no router.
        details: What it says of itself.
    """

    name: str
    host: bool
    details: str = ""


@dataclass(frozen=True)
class Edge:
    """A link of a network.

    Attributes:
        ends: Indices of two nodes.
        label: Beside it: what it does to packets, a line for each direction where they differ.
        name: What it is called.
    """

    ends: tuple[int, int]
    label: Sequence[str]
    name: str


@dataclass(frozen=True)
class Network:
    """A network, drawn from left to right.

    Attributes:
        title: Above it.
        caption: What is seen.
        nodes: Its places.
        edges: Its links.
        left: Indices of the nodes that stand on the left, from which the others are placed by their distance.
    """

    title: str
    caption: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    left: Sequence[int]


VoiceFate = Literal["recovered", "late", "lost"]
"""A frame that was not played from its own packet: another one had a copy, it came too late, or never."""


@dataclass(frozen=True)
class VoiceMark:
    """A stretch of a voice in which frames were missing.

    Attributes:
        begin_s: On the axis of the sounds.
        end_s: Likewise.
        fate: Of its frames.
        told: What is to be known of it.
    """

    begin_s: float
    end_s: float
    fate: VoiceFate
    told: str


@dataclass(frozen=True)
class VoiceFrame:
    """A frame that was sent.

    Attributes:
        at_s: When it is heard, on the axis of the sounds.
        network_ms: How long it took; none if it never came.
        wait_ms: From its capture to when it was due.
    """

    at_s: float
    network_ms: float | None
    wait_ms: float


@dataclass(frozen=True)
class VoicePath:
    """What became of a voice: its waveform with what was missing, delays on the same axis, and the sounds.

    Attributes:
        title: Above it.
        caption: What is seen.
        sounds: Of one length and one rate; the first one is selected.
        heard: Which of them the waveform is.
        marks: In the order of time.
        frames: In the order of time.
    """

    title: str
    caption: str
    sounds: Sequence[Sound]
    heard: int
    marks: Sequence[VoiceMark]
    frames: Sequence[VoiceFrame]


@dataclass(frozen=True)
class Verbatim:
    """A text as it is, such as a scenario; folded until it is asked for."""

    title: str
    text: str


Part = (
    Text
    | Facts
    | Table
    | Checks
    | Plot
    | Together
    | Ladder
    | Map
    | Scatter
    | Outlines
    | Spectrogram
    | Sounds
    | VoicePath
    | Network
    | Verbatim
)


@dataclass(frozen=True)
class Lead:
    """What a page begins with.

    Attributes:
        sentence: The answer in one plain sentence.
        picture: What shows it; none where there is nothing to be seen.
        claim: What a publication says, where the answer is about one.
    """

    sentence: str
    picture: Part | None = None
    claim: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes:
        title: Its heading.
        question: What it answers.
        answer: The answer in a few sentences, numbers included.
        sections: In reading order; the set-up comes first.
        origin: The command that makes it again, the engine's build, whatever else says where it comes from.
            Nothing that changes from one making to the next, such as a date.
        lead: One sentence and one picture, before all else; without it the answer stands there.
    """

    title: str
    question: str
    answer: Sequence[str]
    sections: Sequence[Section]
    origin: Sequence[tuple[str, str]]
    lead: Lead | None = None
