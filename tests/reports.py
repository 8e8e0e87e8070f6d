"""A report with every kind of part, and what a reader sees of a page."""

from __future__ import annotations

import html
import re

from voxpath.document import (
    Axis,
    Cell,
    Check,
    Checks,
    Curve,
    Edge,
    Facts,
    Ladder,
    Map,
    Network,
    Node,
    Panel,
    Plot,
    Report,
    Section,
    Segment,
    Sound,
    Sounds,
    Table,
    Text,
    Together,
    Verbatim,
)

LOSS = [0.01, 0.1, 1.0, 10.0]
PLOT = Plot(
    title="Goodput over loss",
    caption="Falls.",
    x=Axis("loss", "%", "log"),
    y=Axis("goodput", "Mbit/s", "log"),
    curves=[
        Curve("sim", LOSS, [30, 10, 3, 1], [20, 9, 2, 0.5], [40, 11, 4, 1.5], group="download"),
        Curve("mathis", LOSS, [32, 10.1, None, 0], group="download"),
        Curve("published", [0.05, 1], [14, 3.2], [13, 3], [15, 3.4], style="points"),
    ],
)
STEPS = Plot(
    "Window",
    "",
    Axis("time", "s"),
    Axis("cwnd", "B"),
    [
        Curve("server", [0, 1, 1, 3], [1460, 2920, 1460, 4380], style="steps"),
        Curve("client", [0.5, 2.5], [5000, 6000], style="steps"),
    ],
)
NAMED = Plot(
    "By algorithm",
    "",
    Axis("algorithm", names=("reno", "cubic")),
    Axis("completion", "s"),
    [Curve("download", [0, 1], [1.5, 1.2], [1.4, 1.1], [1.6, 1.3], style="points")],
)
LADDER = Ladder(
    "Handshake",
    "",
    "client",
    "server",
    [
        Segment(0, 0.02, True, "SYN"),
        Segment(0.02, 0.04, False, "SYN, ACK"),
        Segment(0.04, None, True, "request", "lost"),
        Segment(0.04, 0.06, True, "ACK"),
        Segment(1.04, 1.06, True, "request", "retransmission"),
    ],
)
MAP = Map(
    "Completion",
    "",
    Axis("loss"),
    Axis("delay"),
    Axis("completion", "s", "log"),
    ["0 %", "1 %"],
    ["10 ms", "50 ms"],
    [
        Panel(
            "rate 1 Mbit/s",
            [[0.1, 1.0], [10.0, None]],
            [["n = 3", ""], ["", ""]],
            [[0.021, None], [1.2, None]],
        )
    ],
)
TABLE = Table(
    "Published and ours",
    ["case", "ours", "verdict"],
    [
        ["0 %", "50.1 ± 0.2", Cell("agrees", "good", "50.0 against [49, 51]")],
        ["1 %", "", Cell("differs", "bad")],
    ],
    ["A note."],
)
CHECKS = Checks(
    "Checks",
    [Check("More loss, less goodput", True, "30 > 1"), Check("Never", False, "2 < 1")],
)
SOUNDS = Sounds(
    "Listening",
    "A tone.",
    [
        Sound("before", "It hums.", 8_000, [[0.5, -0.5] * 800]),
        Sound("after", "It is quiet.", 16_000, [[0.0] * 1_600, [0.25, -0.25] * 800]),
    ],
)
TIMES = [0.0, 1.0, 2.0, 3.0]
TOGETHER = Together(
    "Two of one time",
    "Of one run.",
    [
        Plot(
            "rate",
            "",
            Axis("time", "s", span=(0, 3)),
            Axis("rate", "Mbit/s"),
            [Curve("a", TIMES, [1, 2, 3, 1])],
        ),
        Plot(
            "delay",
            "",
            Axis("time", "s", span=(0, 3)),
            Axis("delay", "ms"),
            [Curve("a", TIMES, [9, 8, 7, 9])],
        ),
    ],
)
NETWORK = Network(
    "The network",
    "Small.",
    [Node("client", True, "10.0.0.1"), Node("r", False), Node("server", True)],
    [Edge((0, 1), ["1 Mbit/s"], "access"), Edge((1, 2), ["to server: 5 ms", "to r: 9 ms"], "core")],
    [0],
)
LONG = Table("Many", ["number", "square"], [[str(n), str(n * n)] for n in range(30)])
REPORT = Report(
    title="A report",
    question="What does loss do?",
    answer=["It takes 1.5 s."],
    sections=[
        Section("Set-up", [Text(["A pipe."]), Facts("Parameters", [("rate", "10 Mbit/s")])]),
        Section(
            "Results",
            [
                TABLE,
                Checks(
                    "Checks",
                    [
                        Check("More loss, less goodput", True, "30 > 1"),
                        Check("Never", False, "2 < 1"),
                        Check("Perhaps", None, "1 ± 2"),
                        Check("Late", True, "3 < 4", "the machine slept"),
                    ],
                ),
                PLOT,
                STEPS,
                NAMED,
                LADDER,
                MAP,
                SOUNDS,
                Verbatim("the scenario", 'name = "x"'),
            ],
        ),
    ],
    origin=[("command", "voxpath report x.toml")],
)


def text_of(page: str) -> str:
    """What a reader sees: the page without its elements."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())
