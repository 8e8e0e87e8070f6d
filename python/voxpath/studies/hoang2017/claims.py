"""Each sentence of chapter 4 that can fail, and that of section 2.3 on TCP, as checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Check
from voxpath.results.decisions import above, all_of, below, minus, within
from voxpath.results.intervals import Summary, summarise
from voxpath.studies.base import shown
from voxpath.studies.hoang2017.printed import claim, published
from voxpath.studies.hoang2017.questions import (
    AS_UDP,
    AT_RECEIVER,
    AT_SENDER,
    RRTCC,
    TABLE8,
    TODAY,
    Cell,
    configurations,
    table9,
)
from voxpath.studies.hoang2017.scenario import DELAYS, LONG, ON_OFF, SHARED_S, report_s
from voxpath.studies.hoang2017.session import (
    goodput,
    loss,
    losses,
    mean_sent,
    share_below,
    steady_share,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.results.decisions import Decision
    from voxpath.studies.hoang2017.questions import Found
    from voxpath.studies.media import Media

NEAR = 0.1
"""Rates that are "approximate", "a little" lower or "quite the same" differ by less."""

MOSTLY = 0.5
"""What is so most of the time is so in more than this part of it."""

_UDP, _RRTCC = Cell(TABLE8, AS_UDP), Cell(TABLE8, RRTCC)


def of_chapter(found: Found) -> list[Check]:
    """Those of chapter 4."""
    return [
        _constant(found),
        _settles(found),
        _below20(found),
        _times(found),
        _stable(found),
        _little(found),
        _better(found),
        _approximate(found),
        _small(found),
        _closer(found),
        _trend(found),
        _same(found),
    ]


def _mbit(summary: Summary | None) -> str:
    return f"{shown(summary.scaled(1e-6))} Mbit/s" if summary else "no value"


def _percent(summary: Summary | None) -> str:
    return f"{shown(summary.scaled(100))} %" if summary else "no value"


def _constant(found: Found) -> Check:
    rate = found.mean(_UDP, mean_sent)
    printed = published()["section4_1"]["udp_bps"]
    return Check(claim("constant"), within(rate, 0.98 * printed, 1.02 * printed), _mbit(rate))


def _settles(found: Found) -> Check:
    """The loss of reports spreads more in the first quarter of a session than in its last half."""
    interval = round(report_s())

    def spread(media: Media) -> float:
        ratios = losses(media, interval)
        quarter = len(ratios) // 4
        return float(ratios[:quarter].std() - ratios[len(ratios) // 2 :].std())

    more = found.mean(_RRTCC, spread)
    told = f"the standard deviation of the first quarter's reports is larger by {_percent(more)}"
    return Check(claim("settles"), above(more), told)


def _below20(found: Found) -> Check:
    limit, interval = published()["section4_1"]["loss_limit"], round(report_s())
    share = found.mean(_RRTCC, lambda media: share_below(losses(media, interval), limit))
    udp = found.mean(_UDP, lambda media: share_below(losses(media, interval), limit))
    return Check(
        claim("below20"),
        above(share, MOSTLY),
        f"in {_percent(share)} of the reports, UDP's in {_percent(udp)}",
    )


def _times(found: Found) -> Check:
    low, high = published()["section4_1"]["loss_ratio_of_udp"]
    ratio = found.ratio(_UDP, _RRTCC, loss)
    both = [_percent(found.mean(cell, loss)) for cell in (_UDP, _RRTCC)]
    told = f"UDP loses {shown(ratio)} times as much: {both[0]} and {both[1]}"
    return Check(claim("times"), within(ratio, low, high), told)


def _stable(found: Found) -> Check:
    share = found.mean(_RRTCC, lambda media: steady_share(media, round(report_s()), NEAR))
    return Check(claim("stable"), above(share, MOSTLY), f"in {_percent(share)} of the steps")


def _little(found: Found) -> Check:
    rate, lost = found.ratio(_RRTCC, _UDP, mean_sent), found.ratio(_RRTCC, _UDP, loss)
    told = f"{_percent(rate)} of UDP's rate, {_percent(lost)} of its loss"
    return Check(claim("little"), all_of((within(rate, 1 - NEAR, 1.0), below(lost, 0.5))), told)


def _both(
    found: Found, number: int, value: Callable[[Media], float]
) -> tuple[Summary | None, Summary | None]:
    return (
        found.mean(Cell(table9(number), RRTCC), value),
        found.mean(Cell(table9(number), AS_UDP), value),
    )


def _each(
    found: Found,
    numbers: Sequence[int],
    value: Callable[[Media], float],
    decide: Callable[[int], Decision],
    show: Callable[[Summary | None], str],
) -> tuple[Decision, str]:
    told = []
    for number in numbers:
        ours, udp = _both(found, number, value)
        told.append(f"{number}: {show(ours)}, UDP {show(udp)}")
    return all_of(decide(number) for number in numbers), "; ".join(told)


def _better(found: Found) -> Check:
    def decide(number: int) -> Decision:
        return below(found.difference(Cell(table9(number), RRTCC), Cell(table9(number), AS_UDP), loss))

    return Check(claim("better"), *_each(found, (1, 2), loss, decide, _percent))


def _approximate(found: Found) -> Check:
    def decide(number: int) -> Decision:
        ratio = found.ratio(Cell(table9(number), RRTCC), Cell(table9(number), AS_UDP), mean_sent)
        return within(ratio, 1 - NEAR, 1 + NEAR)

    return Check(claim("approximate"), *_each(found, (3, 4), mean_sent, decide, _mbit))


def _small(found: Found) -> Check:
    def decide(number: int) -> Decision:
        return below(found.mean(Cell(table9(number), AS_UDP), loss), NEAR)

    return Check(claim("small"), *_each(found, (3, 4), loss, decide, _percent))


def _closer(found: Found) -> Check:
    decided: list[Decision] = []
    told: list[str] = []
    for number in range(1, len(configurations()) + 1):
        (rate, udp_rate), goods = _both(found, number, mean_sent), _both(found, number, goodput)
        told.append(
            f"{number}: rates {_mbit(rate)} and {_mbit(udp_rate)}, "
            f"goodputs {_mbit(goods[0])} and {_mbit(goods[1])}"
        )
        if rate is None or udp_rate is None:
            decided.append(None)
            continue
        decided += [below(good, minus(rate, 0.0).mean / 2 + udp_rate.mean / 2) for good in goods]
    return Check(claim("closer"), all_of(decided), "; ".join(told))


def _trend(found: Found) -> Check:
    decided: list[Decision] = []
    for value, sender in ((goodput, RRTCC), (goodput, AS_UDP), (mean_sent, RRTCC)):
        decided += [
            above(found.difference(Cell(table9(number + 1), sender), Cell(table9(number), sender), value))
            for number in range(1, len(configurations()))
        ]
    told = ", ".join(
        _mbit(_both(found, number, goodput)[0]) for number in range(1, len(configurations()) + 1)
    )
    return Check(claim("trend"), all_of(decided), f"RRTCC's goodput: {told}")


def _same(found: Found) -> Check:
    def decide(number: int) -> Decision:
        ratio = found.ratio(Cell(table9(number), AS_UDP), Cell(table9(number), RRTCC), goodput)
        return within(ratio, 1.0, 1 + NEAR)

    numbers = range(1, len(configurations()) + 1)
    return Check(claim("same"), *_each(found, numbers, goodput, decide, _mbit))


def shares(found: Found, cell: Cell) -> Summary | None:
    """What the media flow gets in the last half of a run, over a sixth of the bottleneck."""
    made = published()["table3"]
    equal = made["bottleneck_bps"] / (made["tcp_flows"] + 1)
    ratios = found.values(cell, lambda media: goodput(media.between(SHARED_S // 2, SHARED_S)) / equal)
    return summarise(ratios) if ratios else None


def dispute(found: Found) -> list[tuple[Cell, Check, Check]]:
    """Who is friendly, and who starves, beside the TCP flows of Table 3."""
    made = []
    for delay in DELAYS:
        for tcp in (LONG, ON_OFF):
            for sender in (RRTCC, AT_SENDER, AT_RECEIVER, TODAY):
                cell = Cell(delay, sender, tcp)
                share = shares(found, cell)
                told = f"{sender}, {tcp} TCP, {delay}: {shown(share)} of an equal share"
                made.append(
                    (
                        cell,
                        Check(claim("friendly"), within(share, 1 / 3, 3.0), told),
                        Check(claim("starves"), below(share, 1 / 3), told),
                    )
                )
    return made
