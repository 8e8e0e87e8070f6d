"""Misprints and contradictions of the publication, each with the computation or the run that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voxpath.backends.formula.limits import medium_rate
from voxpath.backends.formula.transmissions import transmissions
from voxpath.backends.formula.wire import packet_error_rate
from voxpath.document import Check, Checks, Section
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import summarise
from voxpath.studies.base import in_reach, shown
from voxpath.studies.sarkar2022.figures import cause_and_effect
from voxpath.studies.sarkar2022.questions import ONE_LOSS, PACKETS, Cell, noise_cell
from voxpath.studies.sarkar2022.scenario import DATAGRAMS, FILE, NOISE, SEGMENT, WINDOW, probability
from voxpath.studies.sarkar2022.tables import computed
from voxpath.studies.sarkar2022.traces import trace
from voxpath.studies.sarkar2022.verdicts import SEGMENTS, published, rounded_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voxpath.document import Part
    from voxpath.results.decisions import Decision
    from voxpath.studies.base import Comparison, Key
    from voxpath.studies.sarkar2022.questions import Found

ETHERNET = {"preamble": 8, "header": 14, "checksum": 4, "gap": 12}
"""What Ethernet adds to an IP packet, in bytes (IEEE 802.3)."""


def section(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """All of them."""
    arithmetic = [
        bit_errors(),
        linear(),
        per_cent(),
        mashed(),
        wrong_difference(),
        calculated(),
        mixed_base(),
        table_9(items),
        overhead(),
        unit(),
    ]
    parts: list[Part] = [computed("Computed from the publication's own numbers", arithmetic)]
    if found.simulated:
        shown = [*_noise(found), *_lost(found), *_flight(found), *_received(found), *_cause_and_effect(found)]
        parts.append(Checks("Shown by runs", shown))
    return Section("Misprints and contradictions", parts)


def bit_errors() -> Check:
    """Equation (3)."""
    rows = published()["table1"]["rows"]
    above = sum(row[f"per_{size}"] > 1 for row in rows for size in PACKETS)
    exact = [100 * packet_error_rate(NOISE, size) for size in PACKETS]
    return Check(
        f"Equation (3), PER = BER × L, is no probability: a BER of {NOISE:g} loses {exact[0]:.0f} to "
        f"{exact[1]:.0f} % of the packets, not all.",
        above > 0 and max(exact) < 100,
        f"{above} entries of Table 1 are above 1; 1 - (1 - BER)^(8 L) at {NOISE:g}: "
        + ", ".join(f"{value:.1f} % of {size} bytes" for value, size in zip(exact, PACKETS, strict=True)),
    )


def linear() -> Check:
    """What Table 1 is made by."""
    rows = published()["table1"]["rows"]
    off = [abs(8 * size * row["ber"] / row[f"per_{size}"] - 1) for row in rows for size in PACKETS]
    return Check(
        "Table 1 is 8 L BER, the first term of 1 - (1 - BER)^(8 L): every entry is, to the digit.",
        max(off) < 1e-9,
        f"largest distance of {len(off)} entries: {max(off):.1g}",
    )


def _noise(found: Found) -> Iterator[Check]:
    said: list[str] = []
    hold: list[Decision] = []
    for size in PACKETS:
        lost = found.summary(noise_cell(size), "datagrams_lost")
        if lost is None:
            continue
        known = DATAGRAMS * packet_error_rate(NOISE, size)
        reached = None if lost.prediction is None else in_reach(known, *lost.prediction, 0.0)
        hold.append(all_of([reached, below(lost, DATAGRAMS)]))
        said.append(f"{shown(lost)} of {DATAGRAMS} packets of {size} bytes")
    yield Check(
        f"Packets do get through at a BER of {NOISE:g}: the simulator's wrong bits lose what the exact form "
        "says.",
        all_of(hold) if len(hold) == len(PACKETS) else None,
        "; ".join(said),
    )


def per_cent() -> Check:
    """The third column of Table 4."""
    rows = published()["table4"]["rows"]
    base = rows[0]["printed"]
    off = max(abs(100 * (row["printed"] / base - 1) - row["difference_percent"]) for row in rows)
    seconds = sum(abs(row["printed"] - base - row["difference_percent"]) < 0.005 for row in rows[1:])
    return Check(
        "The third column of Table 4, headed 'Response Time (s) Difference', is per cent.",
        off <= rounded_to("table4") and seconds == 0,
        f"as per cent it is off by {off:.3f} at most; as seconds {seconds} of {len(rows) - 1} are right",
    )


def splits(printed: str, base: float) -> list[tuple[float, float]]:
    """Every way to read a mashed cell as a time and its difference to a base in per cent that fits it."""
    found = []
    for cut in range(1, len(printed)):
        try:
            time, percent = float(printed[:cut]), float(printed[cut:])
        except ValueError:
            continue
        if abs(100 * (time / base - 1) - percent) <= rounded_to("table8"):
            found.append((time, percent))
    return found


def mashed() -> Check:
    """The last row of Table 8."""
    rows = published()["table8"]["rows"]
    printed = published()["table8"]["last_row"]
    time, percent = rows[-1]["printed"], rows[-1]["difference_percent"]
    found = splits(printed, rows[0]["printed"])
    return Check(
        f"The last row of Table 8, printed as {printed}, is {time} s and {percent} %.",
        found == [(time, percent)],
        "readings that fit the row of 0 %: " + ", ".join(f"{time} s and {more} %" for time, more in found),
    )


def wrong_difference() -> Check:
    """The difference at 1 % in Table 8."""
    rows = {row["loss"]: row for row in published()["table8"]["rows"]}
    own = 100 * (rows["1 %"]["printed"] / rows["0 %"]["printed"] - 1)
    printed = rows["1 %"]["difference_percent"]
    return Check(
        f"The {printed} % of Table 8 are {own:.2f} %.",
        abs(own - printed) > rounded_to("table8"),
        f"{rows['1 %']['printed']} s against {rows['0 %']['printed']} s is {own:.2f} %, printed {printed} %",
    )


def calculated() -> Check:
    """The calculated column of Table 7."""
    row = published()["table7"]["rows"][-1]
    loss, printed = probability(row["loss"]), row["calculated"]
    needed = transmissions(SEGMENTS, loss) - SEGMENTS
    return Check(
        "The calculated retransmissions of Table 7 are n p, where n p / (1 - p) are needed.",
        abs(SEGMENTS * loss - printed) < 0.01 and needed - printed > 1,
        f"at {row['loss']}: n p = {SEGMENTS * loss:.2f} as printed, n p / (1 - p) = {needed:.2f}",
    )


def _lost(found: Found) -> Iterator[Check]:
    cell = Cell("riverbed16", "10 %", traced=True)
    place = (pl.col("place") == "bottleneck ba") & (pl.col("element") == "loss")
    lost = [
        int(frame.filter(place).get_column("packets_dropped").item())
        for frame in found.trace(cell, "elements")
    ]
    printed = published()["table7"]["rows"][-1]["calculated"]
    sent = found.values(cell, "server_packets_sent")
    share = summarise([one / of for one, of in zip(lost, sent, strict=True)])
    runs = "one traced run" if len(lost) == 1 else f"each of {len(lost)} traced runs"
    yield Check(
        "What is lost is a tenth of all that is sent, retransmissions included, and so more than n p.",
        all_of([within(share, 0.09, 0.11), above(summarise(lost), printed)]),
        f"{shown(summarise(lost))} packets lost in {runs}, {shown(share.scaled(100))} % of those sent; "
        f"n p = {printed}",
    )


def mixed_base() -> Check:
    """The argument of section 5."""
    frames = published()["table6"]["rows"][0]["printed"]
    printed = published()["table4"]["rows"][0]["printed"]
    base = printed - published()["table4"]["offset"]
    text = published()["section5"]
    wrong, again = text["simulation_base_s"], text["retransmissions"]
    held_against = published()["table4"]["rows"][3]["printed"] - published()["table4"]["offset"]
    return Check(
        f"Section 5 divides by {wrong} s, printed as {printed} s in Table 4, and compares a sum with the ten "
        f"seconds to a time without: the consistent base is {base:.2f} s, {frames / base:.1f} packets/s.",
        round(frames / wrong, 3) == text["packets_per_s"] and printed != wrong,
        f"{frames} / {wrong} s = {frames / wrong:.3f} packets/s as printed; {frames} / {base:.2f} s = "
        f"{frames / base:.1f}; {again} packets then take {again * base / frames:.3f} s, and the sum is "
        f"{base + again * base / frames:.2f} s, not {text['sum_s']} s, to hold against "
        f"{held_against:.2f} s",
    )


def table_9(items: Mapping[Key, Comparison]) -> Check:
    """Table 9 against its equation."""
    rows = published()["table9"]["rows"]
    cwnd, off = float(rows[0]["cwnd"]), 0.0
    for row in rows:
        off = max(off, abs(cwnd - row["cwnd"]))
        cwnd += SEGMENT * SEGMENT / cwnd
    wrong = [
        row["rtt"]
        for row in rows
        if items["Table 9", "cwnd", f"RTT {row['rtt']}"].verdict == "contradicts itself"
    ]
    return Check(
        "Table 9 adds MSS²/cwnd once per round trip; equation (17) is of every acknowledgment.",
        off < 2 and bool(wrong),
        f"once per round trip every entry is met to {off:.1f} bytes; with an acknowledgment for two "
        f"segments the entries from RTT {min(wrong, default=0)} on are too small",
    )


def _flight(found: Found) -> Iterator[Check]:
    run = trace(found, Cell("riverbed16", "0 %", ONE_LOSS, traced=True))
    again = run.server("retransmissions").reaches(1)
    if again is None:
        return
    flight = run.server("flight_bytes").just_before(again)
    window = run.server("cwnd_bytes").just_before(again)
    threshold = run.server("ssthresh_bytes").just_before(again + 1e-9)
    yield Check(
        "ssthresh is half of what is in flight (RFC 5681 equation 4), not of the congestion window.",
        threshold == max(flight // 2, 2 * SEGMENT) and threshold < window / 4,
        f"{threshold:.0f} bytes of {flight:.0f} in flight at a window of {window:.0f}",
    )


def overhead() -> Check:
    """The Ethernet overhead of section 4.3.2."""
    text = published()["section4_3_2"]
    total = sum(ETHERNET.values())
    rate = medium_rate(text["ethernet"] // 8, SEGMENT, text["headers"] + total)
    header, checksum = ETHERNET["header"], ETHERNET["checksum"]
    return Check(
        f"The {text['checksum']} bytes of 'CRC' in section 4.3.2 are {header} of header and {checksum} of "
        f"checksum; the sum of {text['overhead']} is right.",
        header + checksum == text["checksum"]
        and total == text["overhead"]
        and abs(rate - text["throughput"]) < 0.01,
        f"{' + '.join(f'{size} {name}' for name, size in ETHERNET.items())} = {total}; the throughput is "
        f"then {rate:,.2f} bytes/s as published",
    )


def unit() -> Check:
    """The unit of equation (7)."""
    text = published()["section4_3_1"]
    span = text["to_s"] - text["from_s"]
    rate = FILE / span
    limit = WINDOW / published()["section4_3_3"]["round_trip_s"]
    return Check(
        "Equation (7) is in bytes/s, not bytes.",
        rate == text["throughput"] and 0.8 < rate / limit < 1,
        f"{FILE:,} bytes in {span} s are {rate:,.0f} bytes/s, beside the {limit:,.0f} bytes/s of equation "
        "(11)",
    )


def _received(found: Found) -> Iterator[Check]:
    times = found.values(Cell("riverbed16", "10 %"), "completion_s")
    wanted = found.effort.replications
    printed = published()["table4"]["rows"][-1]["printed"]
    yield Check(
        "'No traffics received at all' at 10 % (section 3.7) contradicts Table 4, where the download "
        "completes.",
        len(times) == wanted and printed > 0,
        f"{len(times)} of {wanted} runs complete, after {min(times):.0f} to {max(times):.0f} s; Table 4 "
        f"has {printed} s",
    )


def _cause_and_effect(found: Found) -> Iterator[Check]:
    yield cause_and_effect(trace(found, Cell("riverbed16", "0 %", ONE_LOSS, traced=True)))
