"""What is computed of a flow from the rows of what it consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import voxpath
from voxpath.results.metrics import dictionary
from voxpath.results.summaries import of_kinds, summarised
from voxpath.scenario.apps import APPS

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


def flows(*apps: tuple[str, str]) -> pl.DataFrame:
    """A flow for each application and transport, called by their numbers."""
    return pl.DataFrame(
        [
            {"flow": str(number), "app": app, "transport": over, "start_ns": 0, "completed_ns": 2_500 * MS}
            for number, (app, over) in enumerate(apps)
        ]
    )


def requests(delays_ms: list[int | None], flow: str = "0") -> pl.DataFrame:
    rows = [
        {"flow": flow, "last_byte_sent_ns": MS, "completed_ns": None if delay is None else (1 + delay) * MS}
        for delay in delays_ms
    ]
    times = {"last_byte_sent_ns": pl.UInt64, "completed_ns": pl.UInt64}
    return pl.DataFrame(rows, schema={"flow": pl.String, **times})


@pytest.mark.parametrize(
    ("delays", "p50", "p95"),
    [([7], 7, 7), ([3, 1, 2], 2, 3), ([*range(1, 21)], 10, 19), ([*range(1, 22)], 11, 20)],
)
def test_a_quantile_is_the_least_that_so_many_do_not_exceed(delays: list[int], p50: int, p95: int):
    found = summarised({"flows": flows(("download", "tcp")), "requests": requests([*delays, None])})
    (row,) = found.to_dicts()
    assert row["completion_s"] == 2.5
    assert row["requests_answered"] == len(delays), "one is not over"
    assert (row["response_p50_ns"], row["response_p95_ns"]) == (p50 * MS, p95 * MS)
    assert row["response_max_ns"] == max(delays) * MS
    assert row["response_mean_ns"] == sum(delays) * MS // len(delays)


def test_a_flow_without_a_row_has_a_count_of_zero_and_no_delay():
    both = flows(("download", "tcp"), ("download", "tcp"), ("bulk", "tcp"))
    found = summarised({"flows": both, "requests": requests([5], flow="1")})
    assert found["requests_answered"].to_list() == [0, 1, None]
    assert found["response_p50_ns"].to_list() == [None, 5 * MS, None]


def test_rows_of_one_table_are_summarised_by_the_application_that_has_them():
    rows = [("0", 1), ("1", 2), ("1", 3)]
    messages = pl.DataFrame(
        [{"flow": flow, "ready_ns": 0, "received_ns": delay * MS} for flow, delay in rows],
        schema={"flow": pl.String, "ready_ns": pl.UInt64, "received_ns": pl.UInt64},
    )
    found = summarised({"flows": flows(("voice", "tcp"), ("push", "tcp")), "messages": messages})
    assert found["partials_received"].to_list() == [1, None]
    assert found["updates_received"].to_list() == [None, 2]
    assert found["update_max_ns"].to_list() == [None, 3 * MS]


def test_what_takes_no_time_by_the_clock_does_not_take_less():
    early = requests([5]).with_columns(last_byte_sent_ns=pl.lit(9 * MS, pl.UInt64))
    found = summarised({"flows": flows(("download", "tcp")), "requests": early})
    assert found["response_max_ns"].item() == 0


def datagrams(arrivals: list[tuple[int, float]], sent: int, copies: dict[int, int] | None = None):
    """Datagrams sent every 20 ms: number and delay in milliseconds of those that came, in this order."""
    came = {number: (place, delay) for place, (number, delay) in enumerate(arrivals)}
    rows: list[dict[str, Any]] = []
    for number in range(sent):
        place, delay = came.get(number, (None, None))
        at = 20 * MS * number
        received = None if delay is None else at + int(delay * MS)
        rows.append(
            {"datagram": number, "sent_ns": at, "received_ns": received, "arrival": place}
            | {"flow": "0", "copies": (copies or {}).get(number, 0)}
        )
    numbers = ("datagram", "sent_ns", "received_ns", "arrival", "copies")
    return pl.DataFrame(rows, schema={"flow": pl.String, **dict.fromkeys(numbers, pl.UInt64)})


def told(rows: pl.DataFrame) -> dict[str, Any]:
    return summarised({"flows": flows(("cbr", "udp")), "datagrams": rows}).row(0, named=True)


def test_a_late_a_lost_and_a_repeated_datagram_are_told_apart():
    row = told(datagrams([(0, 30), (2, 31), (1, 52), (4, 30)], 5, copies={2: 1}))
    names = ("sent", "received", "duplicated", "reordered", "lost")
    assert [row[f"datagrams_{name}"] for name in names] == [5, 4, 1, 1, 1]
    measures = ("min", "p50", "p95", "p99", "max")
    assert [row[f"delay_{name}_ns"] / MS for name in measures] == [30, 30, 52, 52, 52]


def test_jitter_is_that_of_rfc_3550():
    # By hand: |D| = 16 ms four times: J = 1, 1.9375, 2.816, 3.640 ms.
    row = told(datagrams([(number, 16 * (number % 2)) for number in range(5)], 5))
    assert row["jitter_ns"] == pytest.approx(3_640_000, abs=1000)
    assert told(datagrams([(number, 7) for number in range(5)], 5))["jitter_ns"] == 0
    assert told(datagrams([(0, 7)], 5))["jitter_ns"] is None, "one delay does not differ"


def test_the_order_of_arrival_is_that_of_jitter():
    # Delays of 40 and 10 ms, the later one first: |D| = 30 ms once.
    row = told(datagrams([(1, 10), (0, 40)], 2))
    assert row["jitter_ns"] == 30 * MS // 16
    assert row["datagrams_reordered"] == 1


def test_cells_with_other_transports_have_other_columns(tmp_path: Path):
    source = {"kind": "onoff", "rate": "1 Mbit/s", "on": "0.1 s", "off": "0.1 s", "packets": "50 packets"}
    scenario = {
        "name": "either",
        "seed": 1,
        "topology": {"kind": "pipe", "link": {"delay": "10 ms"}},
        "flows": [{"name": "source", "transport": {"kind": "udp"}, "app": source}],
        "sweep": {"flows[0].transport.kind": ["udp", "tcp"]},
    }
    answers = voxpath.sweep(scenario, out=tmp_path)
    assert answers.flows["datagrams_sent"].to_list() == [50, None]
    assert answers.flows["client_retransmissions"].to_list() == [None, 0]


def test_every_summary_is_in_the_dictionary_and_every_metric_is_a_column():
    known = dictionary()["flows"]
    for summary in of_kinds(APPS):
        assert set(summary.counts) <= set(summary.metrics) <= set(known)
        assert summary.table in dictionary()
    for app in APPS.values():
        assert set(app.METRICS) <= set(known)
