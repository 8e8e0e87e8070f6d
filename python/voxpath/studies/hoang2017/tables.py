"""Every printed number beside ours."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import polars as pl

from voxpath.document import Cell as Shown
from voxpath.document import Table
from voxpath.results.intervals import Summary, summarise
from voxpath.scenario.rates import RATES, control_of
from voxpath.studies.base import Comparison, Published, Tolerance, compare, contradiction, shown
from voxpath.studies.hoang2017.misprints import tfs_contradicts
from voxpath.studies.hoang2017.printed import (
    mean_estimate,
    published,
    settings,
    statuses,
    table3,
)
from voxpath.studies.hoang2017.questions import AT_RECEIVER, RRTCC, SEEN, TABLE8, Cell
from voxpath.studies.hoang2017.scenario import (
    DELAYS,
    LONG,
    ON_OFF,
    PACKET,
    VARIANT,
    length_s,
    random_network,
    shared,
)
from voxpath.studies.hoang2017.session import goodput, loss, mean_sent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from voxpath.studies.hoang2017.questions import Found

_MARKS = {
    "agrees": "good",
    "differs": "bad",
    "undecided": "open",
    "no answer": "open",
    "contradicts itself": "bad",
}


def comparisons(found: Found) -> list[Comparison]:
    """Every printed number, in the order of the publication."""
    return [
        *_settings("table2", _run_table2()),
        *_table3(found),
        *_settings("table6", _run_table6(found)),
        *_section3(found),
        *_settings("table7", _run_table7()),
        *_table8(),
        *_table9(),
        compare(mean_estimate(), _scaled(found.mean(Cell(TABLE8, RRTCC), mean_sent), 1e-6)),
    ]


def of_table(items: Sequence[Comparison], title: str) -> Table:
    """Some of them as a table."""
    return Table(
        title,
        ["table", "column", "row", "unit", "published", "ours", "verdict"],
        [
            [
                item.published.table,
                item.published.column,
                item.published.case,
                item.published.unit,
                f"{item.published.printed:.7g}",
                shown(item.ours),
                Shown(item.verdict, _MARKS[item.verdict], item.reason),  # type: ignore[arg-type]
            ]
            for item in items
        ],
        spare=["column", "unit"],
    )


def _scaled(summary: Summary | None, factor: float) -> Summary | None:
    return None if summary is None else summary.scaled(factor)


def _known(value: float) -> Summary:
    return Summary(1, value, None)


def _settings(table: str, ours: Mapping[str, float | str]) -> list[Comparison]:
    """Settings beside those of the plans that are run; a text is why there is none."""
    made = []
    for item in settings(table):
        value = ours[item.case]
        made.append(compare(item, None, value) if isinstance(value, str) else compare(item, _known(value)))
    return made


def _sends(plan: Mapping[str, Any]) -> dict[str, Any]:
    (app,) = (flow["app"] for flow in plan["flows"] if flow["name"] == "media")
    sends: dict[str, Any] = app["there"]
    return {**sends, "rtcp_interval_ns": app["rtcp_interval_ns"]}


def _run_table2() -> dict[str, float | str]:
    plan = shared(VARIANT, DELAYS[0], LONG).plan.data
    (bottleneck,) = (link for link in plan["links"] if link["name"] == "bottleneck")
    sends = _sends(plan)
    return {
        "Default queue size": bottleneck["ba"]["queue_packets"],
        "Codec start rate": sends["rate"]["start_bps"] / 1e3,
        "Max. end-to-end delay": sends["buffer"]["delay_ns"] / 1e6,
        "RTCP interval": sends["rtcp_interval_ns"] / 1e9,
    }


def _run_table6(found: Found) -> dict[str, float | str]:
    draft = RATES["gcc"](kind="gcc")
    variant = control_of("hoang2017")
    swapped, beta = variant.swapped_gains, variant.beta_095  # type: ignore[attr-defined]
    gains = (draft.k_up, draft.k_down)  # type: ignore[attr-defined]
    up, down = gains[::-1] if swapped else gains
    return {
        "del_val_th[1]": first_threshold_ms(found),
        "K_u": up,
        "K_d": down,
        "Beta": 0.95 if beta else draft.beta,  # type: ignore[attr-defined]
        "T": draft.rate_window / 1e9,  # type: ignore[attr-defined]
    }


def first_threshold_ms(found: Found) -> float:
    """What the detector of the run whose signals are recorded starts with: no key of a scenario says it."""
    (signals,) = found.table(Cell(TABLE8, RRTCC, SEEN), "signals")
    own = signals.filter(pl.col("signal").cast(pl.String) == "threshold_ms").sort("time_ns")
    return float(own.get_column("number")[0])


def _run_table7() -> dict[str, float | str]:
    plan = random_network(VARIANT, list(statuses().values())).plan.data
    up, sends = plan["links"][0]["ab"], _sends(plan)
    dwell = {state["dwell_ns"] for state in up["loss"]["capacity"]["states"]}
    return {
        "Initial sending rate": sends["rate"]["start_bps"],
        "Maximum sending rate": sends["rate"]["max_bps"],
        "Minimum sending rate": sends["rate"]["min_bps"],
        "Numbers of RTP packets": f"less than one report with {PACKET} octets each: {length_s()} s are run",
        "RTCP interval": sends["rtcp_interval_ns"] / 1e9,
        "Mean of network delay": up["delay_ns"] / 1e9,
        "Variance of network delay": up["delay_variation"]["deviation_ns"] / 1e9,
        "Network updating interval time": max(dwell) / 1e9,
    }


def _section3(found: Found) -> list[Comparison]:
    """The gains as section 3.4.3.1 has them, which Table 6 excludes."""
    made = []
    gains = _run_table6(found)
    for key, row in (("k_d", "K_d"), ("k_u", "K_u")):
        printed = float(published()["section3_4"][key])
        item = Published("Section 3.4.3.1", "value", row, "1/ms", printed, printed, Tolerance())
        ours = gains[row]
        made.append(
            contradiction(item, _known(float(ours)), f"Table 6 has {float(ours):g}: the two are swapped")
        )
    return made


def _table8() -> list[Comparison]:
    plan = random_network(VARIANT, list(statuses().values())).plan.data
    states = plan["links"][0]["ab"]["loss"]["capacity"]["states"]
    made = []
    for state, (name, rate) in zip(states, statuses().items(), strict=True):
        item = Published("Table 8", "Bandwidth", name, "bit/s", rate, rate, Tolerance())
        made.append(compare(item, _known(state["rate_bps"])))
    chances = dict(zip(statuses(), states[0]["next"], strict=True))
    for names, share in published()["table8"]["shares"]:
        item = Published(
            "Table 8", "Probability", " and ".join(names), "%", 100 * share, 100 * share, Tolerance(1e-9)
        )
        made.append(compare(item, _known(100 * sum(chances[name] for name in names))))
    return made


def _table9() -> list[Comparison]:
    made = []
    for number, rates in enumerate(published()["table9"]["configurations"], 1):
        states = random_network(VARIANT, rates).plan.data["links"][0]["ab"]["loss"]["capacity"]["states"]
        for state, name, rate in zip(states, statuses(), rates, strict=True):
            item = Published("Table 9", name, str(number), "bit/s", rate, rate, Tolerance())
            made.append(compare(item, _known(state["rate_bps"])))
    return made


def _table3(found: Found) -> list[Comparison]:
    """Beside the receiver's side of GCC, which ns-2 had, and TCP that is on and off (its "ON time")."""
    made: list[Comparison] = []
    flows = published()["table3"]["tcp_flows"] + 1
    for column, delay in enumerate(DELAYS):
        cell = Cell(delay, AT_RECEIVER, ON_OFF)
        tcp = found.tcp(cell)
        totals = found.carried(cell)
        values = {
            "goodput": [rate / 1e3 for rate in found.values(cell, goodput)],
            "loss": [100 * part for part in found.values(cell, loss)],
            "tcp": [rate / 1e3 for rate in tcp],
            "tfs": [100 * rate * flows / total for rate, total in zip(tcp, totals, strict=True)],
        }
        for row, ours in values.items():
            item, sigma = table3(row, column)
            summary = summarise(ours) if ours else None
            if row == "tfs":
                made.append(contradiction(item, summary, tfs_contradicts(column)))
            else:
                made.append(compare(item, summary))
            spread = Published("Table 3", f"{delay}, σ", item.case, item.unit, sigma, sigma, Tolerance())
            own = _known(statistics.stdev(ours)) if len(ours) > 1 else None
            made.append(
                Comparison(
                    spread, own, "no answer", "of what it is the deviation is not said; ours is over runs"
                )
            )
    return made
