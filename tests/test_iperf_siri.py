"""The traffic of iperf-siri: from the scenario to what is said of its delays and of the tool's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath
from voxpath.scenario import ScenarioError, from_dict


def scenario(**app: Any) -> dict[str, Any]:
    """Requests over 20 ms each way."""
    return {
        "name": "iperf-siri",
        "topology": {"kind": "pipe", "link": {"delay": "20 ms"}},
        "flows": [{"name": "siri", "app": {"kind": "iperf_siri", "requests": 2, **app}}],
    }


def test_defaults_are_those_of_the_published_tool():
    (flow,) = from_dict(scenario()).plan.data["flows"]
    assert flow["app"] == {
        "kind": "iperf_siri",
        "bursts": 9,
        "packets": 9,
        "smallest_bytes": 50,
        "largest_bytes": 500,
        "spacing_ns": 10_000,
        "interval_ns": 300_000_000,
        "intermediate_bytes": 100,
        "answer_bytes": 750,
        "requests": 2,
        "wait_ns": 4_000_000_000,
        "answer_each_read": False,
        "answer_in_one_read": False,
    }
    # TCP_NODELAY, unless the scenario says otherwise.
    assert [flow["transport"][end]["nagle"] for end in ("client", "server")] == [False, False]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"largest": "49 B"}, "smaller than the smallest packet"),
        ({"wait": "0 s"}, "is zero"),
        ({"bursts": 0}, "at least 1"),
        ({"answers": "7 B"}, "did you mean 'answer'"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(change: dict[str, Any], says: str):
    with pytest.raises(ScenarioError, match=says):
        from_dict(scenario(**change))


def test_a_run_tells_delays_and_what_the_tools_rules_do(tmp_path: Path):
    (run,) = voxpath.run(scenario(), out=tmp_path, backends=["sim"]).folders
    requests = pl.read_parquet(run / "requests.parquet")
    # A round trip without rate and loss.
    assert (requests["completed_ns"] - requests["last_byte_sent_ns"]).to_list() == [40_000_000] * 2
    # 2 requests of 81 packets, each a segment.
    (flow,) = pl.read_parquet(run / "flows.parquet").iter_rows(named=True)
    assert flow["client_data_segments_sent"] == 2 * 81
    assert flow["bytes_delivered"] == 2 * (8 * 100 + 750)
    assert flow["requests_answered"] == 2
    flaws = ("answers_doubled", "answers_swallowed", "answers_missed", "answers_mistaken")
    assert [flow[name] for name in flaws] == [0, 0, 0, 0]


def test_the_tools_rules_lose_answers_where_segments_are_short(tmp_path: Path):
    """With segments of 400 bytes an answer of 750 comes in two reads, some milliseconds apart."""
    slow = scenario(answer_in_one_read=True)
    slow["topology"]["link"] |= {"rate": "500 kbit/s", "queue": "100 packets"}
    slow["flows"][0]["transport"] = {"kind": "tcp", "mss": "400 B"}
    (run,) = voxpath.run(slow, out=tmp_path, backends=["sim"]).folders
    (flow,) = pl.read_parquet(run / "flows.parquet").iter_rows(named=True)
    assert (flow["answers_missed"], flow["requests_answered"]) == (2, 0)
    # Counted where they are not switched on, too: there the answers are found.
    slow["flows"][0]["app"]["answer_in_one_read"] = False
    (run,) = voxpath.run(slow, out=tmp_path, backends=["sim"]).folders
    (flow,) = pl.read_parquet(run / "flows.parquet").iter_rows(named=True)
    assert (flow["answers_missed"], flow["requests_answered"]) == (2, 2)
