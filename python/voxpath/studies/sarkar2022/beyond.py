"""Beyond the publication: today's TCP on its channel, and the map of loss, round trip and window."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, TypeVar

from voxpath.document import Axis, Check, Checks, Curve, Map, Panel, Plot, Section, Table, Text
from voxpath.extras import install
from voxpath.results.decisions import above, all_of, below
from voxpath.results.intervals import summarise
from voxpath.studies.base import shown
from voxpath.studies.sarkar2022.questions import SLOW_CELLS, TODAY, Cell, map_cell, udp_cell
from voxpath.studies.sarkar2022.scenario import LOSSES, SEGMENT, probability
from voxpath.studies.sarkar2022.tables import NOT_ASKED
from voxpath.studies.sarkar2022.verdicts import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voxpath.document import Part
    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.sarkar2022.questions import Found

_TIME = "completion_s"
_QUIC_NAME = "QUIC over UDP: aioquic, CUBIC"

Entry = TypeVar("Entry")

ACK_DELAY = 200
"""Milliseconds that riverbed16 delays an acknowledgment at most (Table 2)."""

ESTIMATORS = ("cardwell", "pftk_full", "pftk_short")
"""Formulas of TCP under loss that the map is held against. None of them is of a path without loss."""

LIMIT = "window_limit"
"""The formula of a path without loss."""


def today(found: Found) -> Section:
    """The published channel under newer stacks."""
    title = "Beyond: today's TCP on the same channel"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    rows = [
        [name, *(shown(found.summary(cell._replace(loss=loss), _TIME)) for loss in LOSSES)]
        for name, cell in TODAY.items()
    ]
    over_udp = [over_udp_s(found, loss) for loss in LOSSES]
    rows.append(["CoAP over UDP, 1024 bytes at a time", *(shown(one) for one in over_udp)])
    rows.append([_QUIC_NAME, *(shown(over_quic_s(found, loss)) for loss in LOSSES)])
    table = Table("Completion in seconds, mean and 95 % t-interval", ("transport", *LOSSES), rows)
    curves = [
        _curve(name, [found.summary(cell._replace(loss=loss), _TIME) for loss in LOSSES])
        for name, cell in TODAY.items()
    ]
    if found.over_quic:
        curves.append(_curve(_QUIC_NAME, [over_quic_s(found, loss) for loss in LOSSES]))
    plot = Plot(
        "Completion of the download",
        "Means with 95 % intervals. A logarithmic axis has no 0 %: the table has it.",
        Axis("loss", "%", "log"),
        Axis("completion", "s", "log"),
        curves,
    )
    checks = [*today_checks(found), *quic_checks(found)]
    parts: list[Part] = [table, plot, Checks("Checks", checks)]
    if not found.over_quic:
        parts.append(Text((f"QUIC was not run: it needs aioquic ({install('quic')}).",)))
    return Section(title, parts)


def over_udp_s(found: Found, loss: str) -> Summary | None:
    """How long the file takes over UDP with CoAP, in seconds."""
    delay = found.summary(udp_cell(loss), "coap_delivery_p50_ns")
    return None if delay is None else delay.scaled(1e-9)


def over_quic_s(found: Found, loss: str) -> Summary | None:
    """How long the file takes over QUIC, in seconds."""
    times = found.over_quic.get(loss)
    return summarise(times) if times else None


def _curve(name: str, summaries: Sequence[Summary | None]) -> Curve:
    means: list[float | None] = []
    lows: list[float | None] = []
    highs: list[float | None] = []
    for summary in summaries:
        low, high = (None, None) if summary is None else summary.interval or (summary.mean, summary.mean)
        means.append(None if summary is None else summary.mean)
        lows.append(low)
        highs.append(high)
    return Curve(name, [100 * probability(loss) for loss in LOSSES], means, lows, highs)


def today_checks(found: Found) -> list[Check]:
    """What is said of today's TCP."""
    riverbed, reno, sack, newest, bbr = TODAY.values()
    free = found.summary(newest._replace(loss="0 %"), _TIME)
    light = {loss: found.summary(newest._replace(loss=loss), _TIME) for loss in LOSSES[1:3]}
    saved = found.slower(sack._replace(loss="1 %"), reno._replace(loss="1 %"))
    high = [found.summary(cell._replace(loss="10 %"), _TIME) for cell in (riverbed, newest)]
    small = found.summary(reno._replace(loss="1 %"), _TIME)
    large = found.summary(newest._replace(loss="1 %"), _TIME)
    if not free or not saved or not small or not large or not all((*light.values(), *high)):
        return []
    old, new = (item for item in high if item)
    optimised = {loss: found.summary(bbr._replace(loss=loss), _TIME) for loss in LOSSES[3:]}
    unharmed = found.summary(bbr._replace(loss="0 %"), _TIME)
    cubic = {"1 %": large, "10 %": new}
    udp = {loss: over_udp_s(found, loss) for loss in LOSSES[3:]}
    slowest = max((item for item in light.values() if item), key=lambda item: item.mean)
    return [
        Check(
            "Up to 0.1 % loss costs today's TCP less than a tenth.",
            all_of(below(item, free.scaled(1.1)) for item in light.values()),
            f"{shown(slowest)} s at most, {shown(free)} s without loss",
        ),
        Check(
            "At 1 % today's TCP takes less than half of the time of Reno with six segments.",
            below(large, small.scaled(0.5)),
            f"{shown(large)} s against {shown(small)} s",
        ),
        Check(
            "SACK alone gains less than a twentieth for six segments at 1 %.",
            found.as_slow(sack._replace(loss="1 %"), reno._replace(loss="1 %"), 0.05),
            f"{shown(saved)} s of {shown(small)} s",
        ),
        Check(
            "At 10 % both ways today's TCP still takes more than ten times its time without loss, less "
            "than a fifth of riverbed16's.",
            all_of([above(new, free.scaled(10)), below(new, old.scaled(0.2))]),
            f"{shown(new)} s, {new.mean / free.mean:.1f} times {free.mean:.2f} s; riverbed16 {shown(old)} s",
        ),
        Check(
            f"'{published()['recommendations']['optimised']}' BBR takes less than half of CUBIC's time at 1 "
            "and 10 %.",
            all_of(below(item, cubic[loss].scaled(0.5)) for loss, item in optimised.items()),
            "; ".join(
                f"{loss}: {shown(item)} s against {shown(cubic[loss])} s" for loss, item in optimised.items()
            ),
        ),
        Check(
            f"'{published()['recommendations']['application']}' CoAP, which acknowledges block by block, "
            "takes less time than riverbed16 at 10 %, and more than today's TCP.",
            all_of([below(udp["10 %"], old), above(udp["10 %"], new)]),
            f"{shown(udp['10 %'])} s, {shown(old)} s and {shown(new)} s; at 1 % {shown(udp['1 %'])} s",
        ),
        Check(
            f"'{published()['recommendations']['avoid']}' BBR too takes more than twice its time without "
            "loss at 10 %.",
            above(optimised["10 %"], unharmed.scaled(2)) if unharmed is not None else None,
            f"{shown(optimised['10 %'])} s against {shown(unharmed)} s",
        ),
    ]


def quic_checks(found: Found) -> list[Check]:
    """What is said of QUIC, where it was run."""
    over_quic = over_quic_s(found, "10 %")
    riverbed, *_, newest, _ = TODAY.values()
    over_tcp = [found.summary(cell._replace(loss="10 %"), _TIME) for cell in (riverbed, newest)]
    if over_quic is None or not all(over_tcp):
        return []
    return [
        Check(
            f"'{published()['recommendations']['application']}' QUIC takes less time than riverbed16 and "
            "today's TCP at 10 %.",
            all_of(below(over_quic, one) for one in over_tcp if one),
            f"{shown(over_quic)} s against {' and '.join(shown(one) for one in over_tcp)} s",
        )
    ]


def maps(found: Found) -> Section:
    """Completion over loss, round trip and window, and how far the formulas are from it."""
    effort = found.effort
    parts: list[Part] = []
    if found.simulated:
        caption = (
            f"Seconds for 10 MB with riverbed16, data alone lost; means of {effort.map_replications} "
            "replications with 95 % t-intervals. Colours are logarithmic."
        )
        value = Axis("completion", "s", "log")
        parts.append(
            _map(
                found, "Completion time", caption, value, _simulated, _simulated_detail, _simulated_half_width
            )
        )
        for estimator in (LIMIT, *ESTIMATORS):
            caption = (
                f"The estimate of {estimator} over the simulator's mean, less one. Empty where the formula "
                "declines, with its reason."
            )
            parts.append(
                _map(
                    found,
                    f"Error of {estimator}",
                    caption,
                    Axis("error", "%"),
                    _error_of(estimator),
                    _detail_of(estimator),
                    _half_width_of(estimator),
                )
            )
        parts += [_errors(found), Checks("Checks", _map_checks(found))]
    else:
        parts.append(NOT_ASKED)
    return Section("Beyond: the map of loss, round trip and window", parts)


def _map(
    found: Found,
    title: str,
    caption: str,
    value: Axis,
    of: Callable[[Found, Cell], float | None],
    detail: Callable[[Found, Cell], str],
    half_width: Callable[[Found, Cell], float | None],
) -> Map:
    effort = found.effort

    def grid(entry: Callable[[Found, Cell], Entry], window: int) -> list[list[Entry]]:
        return [
            [entry(found, map_cell(loss, round_trip, window)) for round_trip in effort.map_round_trips]
            for loss in effort.map_losses
        ]

    return Map(
        title,
        caption,
        Axis("propagation both ways"),
        Axis("loss of data"),
        value,
        [f"{round_trip} ms" for round_trip in effort.map_round_trips],
        list(effort.map_losses),
        [
            Panel(
                f"window of {window} segments ({window * SEGMENT:,} bytes)",
                grid(of, window),
                grid(detail, window),
                grid(half_width, window),
            )
            for window in effort.map_windows
        ],
    )


def _simulated(found: Found, cell: Cell) -> float | None:
    summary = found.summary(cell, _TIME)
    return None if summary is None else summary.mean


def _simulated_detail(found: Found, cell: Cell) -> str:
    return f"{shown(found.summary(cell, _TIME))} s"


def _simulated_half_width(found: Found, cell: Cell) -> float | None:
    summary = found.summary(cell, _TIME)
    return None if summary is None else summary.half_width


def estimate(found: Found, cell: Cell, estimator: str) -> tuple[float | None, str]:
    """An estimate, or why there is none."""
    row = found.row(cell, _TIME, estimator)
    if row is None:
        return None, "not asked"
    return row.value, row.reason


def _error(found: Found, cell: Cell, estimator: str) -> float | None:
    value, _ = estimate(found, cell, estimator)
    simulated = _simulated(found, cell)
    return None if value is None or simulated is None else 100 * (value / simulated - 1)


def _error_of(estimator: str) -> Callable[[Found, Cell], float | None]:
    return lambda found, cell: _error(found, cell, estimator)


def _half_width_of(estimator: str) -> Callable[[Found, Cell], float | None]:
    """A form has no spread: that of its error is the simulator's, to first order."""

    def half_width(found: Found, cell: Cell) -> float | None:
        value, _ = estimate(found, cell, estimator)
        summary = found.summary(cell, _TIME)
        if value is None or summary is None or summary.half_width is None:
            return None
        return 100 * value * summary.half_width / summary.mean**2

    return half_width


def _detail_of(estimator: str) -> Callable[[Found, Cell], str]:
    def detail(found: Found, cell: Cell) -> str:
        value, reason = estimate(found, cell, estimator)
        simulated = _simulated_detail(found, cell)
        return (
            f"{reason}; simulated {simulated}" if value is None else f"{value:.5g} s; simulated {simulated}"
        )

    return detail


def _cells(found: Found, loss: str) -> list[Cell]:
    effort = found.effort
    return [
        map_cell(loss, round_trip, window)
        for window in effort.map_windows
        for round_trip in effort.map_round_trips
    ]


def _known_errors(found: Found, loss: str, estimator: str) -> list[float]:
    errors = (_error(found, cell, estimator) for cell in _cells(found, loss))
    return [error for error in errors if error is not None]


def _too_fast(found: Found, loss: str, estimator: str) -> Iterator[Decision]:
    """Of each cell for which a formula has an estimate, whether the simulator surely takes longer."""
    for cell in _cells(found, loss):
        value, _ = estimate(found, cell, estimator)
        if value is not None:
            yield above(found.summary(cell, _TIME), value)


def _errors(found: Found) -> Table:
    rows = []
    for estimator in (LIMIT, *ESTIMATORS):
        row = [estimator]
        for loss in found.effort.map_losses:
            errors = _known_errors(found, loss, estimator)
            many = f"{len(errors)} of {len(_cells(found, loss))}"
            row.append(
                f"{statistics.median(errors):+.1f} ({min(errors):+.1f} to {max(errors):+.1f}; {many})"
                if errors
                else f"none ({many})"
            )
        rows.append(row)
    return Table(
        "Error of the formulas in per cent: median (range; cells where it applies)",
        ("formula", *found.effort.map_losses),
        rows,
    )


def _map_checks(found: Found) -> list[Check]:
    effort = found.effort
    fast = [
        _error(found, map_cell("0 %", round_trip, window), LIMIT)
        for round_trip in effort.map_round_trips
        for window in effort.map_windows
        if round_trip <= ACK_DELAY
    ]
    none = [abs(error) for error in fast if error is not None]
    high = _known_errors(found, "10 %", ESTIMATORS[0])
    delayed, prompt = (_error(found, cell, LIMIT) for cell in SLOW_CELLS)
    if not none or not high or delayed is None or prompt is None:
        return []
    return [
        Check(
            "Without loss the window limit is the simulator's time to one per cent, up to a round trip of "
            "200 ms.",
            max(none) < 1,
            f"largest error of {len(none)} cells: {max(none):.2f} %",
        ),
        Check(
            "Beyond, what the window limit lacks is the wait for delayed acknowledgments: without them it is "
            "right.",
            delayed < -5 and abs(prompt) < 1,
            f"6 segments each 400 ms: {delayed:.1f} % off, without delayed acknowledgments {prompt:.2f} %",
        ),
        Check(
            "At 10 % Cardwell's model is too fast in every cell.",
            all_of(_too_fast(found, "10 %", ESTIMATORS[0])),
            f"errors of {len(high)} cells from {min(high):.0f} to {max(high):.0f} %",
        ),
    ]
