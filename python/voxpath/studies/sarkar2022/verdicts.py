"""Every published number beside ours, with its verdict.

Tables 4, 5, 6 and 8 are held against runs. Tables 1, 3 and 9 and the calculated column of Table 7 are
arithmetic of the publication, held against the arithmetic that its own definitions ask for.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from voxpath.backends.formula.recovery import congestion_avoidance
from voxpath.backends.formula.transmissions import transmissions
from voxpath.backends.formula.wire import packet_error_rate
from voxpath.results.intervals import Summary
from voxpath.studies.base import (
    Comparison,
    Published,
    Tolerance,
    compare,
    compare_row,
    contradiction,
)
from voxpath.studies.sarkar2022.questions import KERNEL, PACKETS, SIM, Cell
from voxpath.studies.sarkar2022.scenario import FILE, SEGMENT, bit_error_rate, probability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.studies.sarkar2022.questions import Found

SEGMENTS = FILE / SEGMENT
"""n of equation (8): the publication divides, and does not round up."""

DELAYED = 2
"""Segments that an acknowledgment covers (Table 2, Maximum ACK Segments)."""


@cache
def published() -> Mapping[str, Any]:
    """The contents of `published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def comparisons(found: Found) -> list[Comparison]:
    """Every published number of Tables 1, 3 and 4 to 9."""
    return [
        *_bit_errors(),
        *_channels(),
        *_times("table4", found),
        *_counts("table5", found),
        *_counts("table6", found),
        *_retransmissions(found),
        *_times("table8", found),
        *_windows(),
    ]


def losses_of(loss: str) -> float:
    """Segments of the file that are to be expected to get lost, those that are sent again too."""
    p = probability(loss)
    return SEGMENTS * p / (1 - p)


def tolerance(name: str, key: str = "tolerance") -> Tolerance:
    """A tolerance of a published table."""
    return Tolerance(**published()[name][key])


def printed(table: str, loss: str) -> float:
    """What a table has for a loss."""
    return next(float(row["printed"]) for row in published()[table]["rows"] if row["loss"] == loss)


def source(table: str, found: Found) -> str:
    """Whose runs a published table is held against."""
    asked = {SIM: found.simulated, KERNEL: found.tested}
    backends: Sequence[str] = published()[table].get("backends", (SIM,))
    return next((name for name in backends if asked[name]), SIM)


def rounded_to(name: str) -> float:
    """The last digit that a table's percentages are printed with."""
    return tolerance(name, "percent_rounding").absolute


def _exact(value: float) -> Summary:
    return Summary(1, value, None)


def _bit_errors() -> Iterator[Comparison]:
    table = published()["table1"]
    for row in table["rows"]:
        for size in PACKETS:
            printed = row[f"per_{size}"]
            number = Published(
                "Table 1",
                f"PER, L = {size} bytes",
                f"BER {row['ber']:g}",
                "",
                printed,
                printed,
                tolerance("table1"),
            )
            ours = _exact(packet_error_rate(row["ber"], size))
            if printed >= 1:
                what = "is no probability" if printed > 1 else "is certainty, which no BER below 1 gives"
                yield contradiction(
                    number, ours, f"{printed:g} {what}: 1 - (1 - BER)^(8 L) = {ours.mean:.4g}"
                )
            else:
                yield compare(number, ours)


def _channels() -> Iterator[Comparison]:
    for row in published()["table3"]["rows"]:
        rate = row["rate"]
        number = Published("Table 3", "bit error rate", row["loss"], "", rate, rate, tolerance("table3"))
        ours = _exact(bit_error_rate(row["loss"]))
        if ours.mean == 0:
            yield Comparison(number, ours, "no answer", "no bit errors lose nothing by definition")
        else:
            yield compare(number, ours)


def _times(name: str, found: Found) -> Iterator[Comparison]:
    table = published()[name]
    title = name.replace("table", "Table ")
    offset = table.get("offset", 0)
    slack = tolerance(name)
    base = table["rows"][0]["printed"]
    by = source(name, found)
    no_loss = found.summary(Cell(table["variant"], "0 %"), table["metric"], by)
    for row in table["rows"]:
        value = row["printed"] - offset
        number = Published(
            title,
            "response time",
            row["loss"],
            "s",
            row["printed"],
            value,
            slack,
            "without the 10 s before the transfer" if offset else "",
        )
        yield _judged(number, found, Cell(table["variant"], row["loss"]), table["metric"], by)
        difference = 100 * (value / (base - offset) - 1)
        number = Published(
            title,
            "difference",
            row["loss"],
            "%",
            row["difference_percent"],
            difference,
            # A ratio of two times, to which the relative tolerance of the times applies.
            Tolerance(absolute=slack.relative * (100 + difference)),
            "of the times without the 10 s" if offset else "",
        )
        own = 100 * (row["printed"] / base - 1)
        ours = found.summary(Cell(table["variant"], row["loss"]), table["metric"], by)
        change = None if ours is None or no_loss is None else _percent(ours, no_loss.mean)
        if abs(own - row["difference_percent"]) > rounded_to(name):
            reason = f"{row['printed']:g} s against {base:g} s is {own:.2f} %"
            yield contradiction(number, change, reason)
        else:
            yield compare(number, change)


def _judged(number: Published, found: Found, cell: Cell, metric: str, by: str) -> Comparison:
    answer = found.row(cell, metric, by)
    if answer is None and by == KERNEL:
        return compare(number, None, "not asked of the kernel, or no run was on time")
    return compare_row(number, answer)


def _percent(ours: Summary, base: float) -> Summary:
    scaled = ours.scaled(100 / base)
    return replace(scaled, mean=scaled.mean - 100)


def _counts(name: str, found: Found) -> Iterator[Comparison]:
    table = published()[name]
    offset = table.get("offset", 0)
    column = {"table5": "retransmissions", "table6": "frames sent"}[name]
    for row in table["rows"]:
        number = Published(
            name.replace("table", "Table "),
            column,
            row["loss"],
            "",
            row["printed"],
            row["printed"] - offset,
            tolerance(name),
            "without the ARP request" if offset else "",
        )
        answer = found.row(Cell(table["variant"], row["loss"]), table["metric"])
        yield compare_row(number, answer)


def _retransmissions(found: Found) -> Iterator[Comparison]:
    table = published()["table7"]
    exact = tolerance("table5")
    for row in table["rows"]:
        loss = row["loss"]
        p = probability(loss)
        needed = transmissions(SEGMENTS, p) - SEGMENTS
        calculated = Published(
            "Table 7",
            "calculated",
            loss,
            "",
            row["calculated"],
            row["calculated"],
            tolerance("table7"),
        )
        judged = compare(calculated, _exact(needed))
        if judged.verdict == "differs":
            reason = (
                f"n p = {SEGMENTS * p:.2f} leaves out that retransmissions are lost too, with the same p: "
                f"n p / (1 - p) = {needed:.2f}"
            )
            judged = contradiction(calculated, _exact(needed), reason)
        yield judged
        answer = found.row(Cell("riverbed16", loss), "server_retransmissions")
        yield compare_row(
            Published("Table 7", "simulated", loss, "", row["simulated"], row["simulated"], exact), answer
        )
        if "difference_percent" in row:
            value = 100 * (row["simulated"] / needed - 1)
            number = Published(
                "Table 7",
                "difference",
                loss,
                "%",
                row["difference_percent"],
                value,
                tolerance("table7", "percent_rounding"),
                "of the simulated from n p / (1 - p)",
            )
            own = 100 * (row["simulated"] / row["calculated"] - 1)
            ours = found.summary(Cell("riverbed16", loss), "server_retransmissions")
            change = None if ours is None else _percent(ours, needed)
            if abs(own - row["difference_percent"]) > rounded_to("table7"):
                reason = f"{row['simulated']} against {row['calculated']} is {own:.2f} %"
                yield contradiction(number, change, reason)
            else:
                yield compare(number, change)


def _windows() -> Iterator[Comparison]:
    rows = published()["table9"]["rows"]
    windows = list(islice(congestion_avoidance(rows[0]["cwnd"], SEGMENT, DELAYED), len(rows)))
    for index, (row, window) in enumerate(zip(rows, windows, strict=True)):
        before = windows[max(index - 1, 0)]
        rtt = f"RTT {row['rtt']}"
        for column, unit, key, value in (
            ("cwnd", "B", "tolerance", window),
            ("segments", "", "segments_tolerance", float(window // SEGMENT)),
        ):
            printed = row[column]
            number = Published("Table 9", column, rtt, unit, printed, printed, tolerance("table9", key))
            judged = compare(number, _exact(value))
            if judged.verdict == "differs":
                reason = (
                    f"equation (17) is of every acknowledgment, and the {before / SEGMENT:.2f} segments of "
                    f"the round trip before have {before / SEGMENT / DELAYED:.2f}, not one: {value:.6g}"
                )
                judged = contradiction(number, _exact(value), reason)
            yield judged
