"""Intervals and closed forms against values worked out elsewhere."""

from __future__ import annotations

import math

import pytest

from voxpath.backends.base import Question
from voxpath.backends.formula import FormulaBackend, medium_limit, transfer_of, window_limit
from voxpath.backends.path import paths
from voxpath.results.intervals import summarise
from voxpath.scenario import from_dict

RFC = {"tcp": {"timestamps": False, "nagle": False, "receive_buffer": "8760 B"}}
DOWNLOAD = {"app": {"kind": "download", "request": "100 B", "response": "10 MB"}}


def scenario(link: dict, host: dict = RFC, flows: list | None = None, **changes):
    """A pipe between two hosts alike."""
    return from_dict(
        {
            "name": "x",
            "topology": {"kind": "pipe", "link": link},
            "hosts": {"client": host, "server": host},
            "flows": flows or [DOWNLOAD],
            **changes,
        }
    )


def answers(document) -> dict[tuple[str, str], object]:
    (rows,) = FormulaBackend().answer([Question(document)])
    return {(row.estimator, row.metric): row for row in rows}


def test_the_interval_of_ten_values_is_that_of_the_tables():
    # Student's t for 9 degrees of freedom is 2.262157 (any table).
    values = [float(value) for value in range(10)]
    summary = summarise(values)
    sd = math.sqrt(sum((value - 4.5) ** 2 for value in values) / 9)
    assert summary.mean == 4.5
    assert summary.half_width == pytest.approx(2.262157 * sd / math.sqrt(10), rel=1e-6)
    assert summary.prediction == pytest.approx(
        (4.5 - 2.262157 * sd * math.sqrt(1.1), 4.5 + 2.262157 * sd * math.sqrt(1.1)), rel=1e-6
    )


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert summarise([3.0]).interval is None
    assert summarise([3.0]).prediction is None
    with pytest.raises(ValueError, match="one value"):
        summarise([])


def test_the_window_limit_of_the_issue():
    """10,000,000 bytes, window 8760, 20 ms one way: 1 + 6850/6 round trips of 40 ms; ns-3 takes 45.71 s."""
    row = answers(scenario({"delay": "20 ms"}))["window_limit", "completion_s"]
    assert row.value == pytest.approx(0.04 * (1 + 6850 / 6), rel=1e-12)
    assert row.value == pytest.approx(45.71, rel=0.005)


def test_serialisation_lengthens_the_round_trip():
    """The 10 Mbit/s link of facts/peers.md: ns-3 takes 48.5 s."""
    row = answers(scenario({"delay": "20 ms", "rate": "10 Mbit/s"}))["window_limit", "completion_s"]
    assert row.value == pytest.approx(48.5, rel=0.005)


def test_slow_start_is_counted_by_rounds():
    """14 segments from 2, doubling: 2 + 4 + 8 take three round trips after the handshake's."""
    host = {"tcp": RFC["tcp"] | {"initial_window": "2 segments", "delayed_ack": {"max_segments": 1}}}
    host["tcp"] |= {"receive_buffer": "1 MB", "timestamps": False}
    flow = {"app": {"kind": "download", "request": "100 B", "response": "20440 B"}}
    row = answers(scenario({"delay": "20 ms"}, host, [flow]))["window_limit", "completion_s"]
    assert row.value == pytest.approx(4 * 0.04)


def test_the_medium_limit_is_that_of_equation_8():
    """1460 / 1538 of 10 Mbit/s is 1,186,605.98 bytes/s in the publication, exactly 1,186,605.98 here."""
    host = {"profile": "rfc", "tcp": {"timestamps": False}}
    flow = {"app": {"kind": "download", "request": "100 B", "response": "14600 kB"}}
    link = {"delay": "1 ms", "rate": "10 Mbit/s", "framing": "ethernet"}
    found = answers(scenario(link, host, [flow]))
    assert found["medium_limit", "goodput_bps"].value / 8 == pytest.approx(1_186_605.98, rel=1e-8)
    assert found["window_limit", "completion_s"].reason.startswith("the medium is the limit")


@pytest.mark.parametrize(
    ("link", "flows", "reason"),
    [
        ({"loss": "1 %"}, None, "packets are lost"),
        ({"loss": {"kind": "list", "packets": [9]}}, None, "packets are lost"),
        ({"duplicate": "1 %"}, None, "duplicated or reordered"),
        ({}, [DOWNLOAD, DOWNLOAD], "shares a link"),
        ({}, [{"app": {"kind": "cbr", "packet": "160 B", "interval": "20 ms"}}], "no window"),
        ({"delay": "1 ms"}, [{"app": {"kind": "bulk"}}], "no end"),
    ],
)
def test_a_formula_says_where_it_does_not_apply(link, flows, reason):
    for row in answers(scenario(link, flows=flows, duration="9 s")).values():
        assert row.status == "not applicable"
        assert row.value is None
        assert reason in row.reason


def test_no_loss_at_all_is_no_loss():
    assert answers(scenario({"delay": "20 ms", "loss": "0 %"}))["window_limit", "completion_s"].status == "ok"


def test_the_larger_limit_holds_for_the_simulator_too():
    plan = scenario({"delay": "20 ms", "rate": "10 Mbit/s"}).plan
    transfer = transfer_of(plan, 0, paths(plan)[0])
    assert window_limit(transfer) > medium_limit(transfer)


def test_paths_are_the_engines():
    """Fewest hops, hosts forward nothing, static routes first."""
    data = {
        "name": "paths",
        "topology": {
            "kind": "explicit",
            "hosts": ["a", "b", "c"],
            "routers": ["r", "s"],
            "links": [
                {"ends": ["a", "c"]},
                {"ends": ["c", "b"]},
                {"ends": ["a", "r"]},
                {"ends": ["s", "r"]},
                {"ends": ["s", "b"]},
                {"ends": ["r", "b"]},
            ],
        },
        "flows": [{"from": "a", "to": "b", **DOWNLOAD}, {"from": "a", "to": "c", **DOWNLOAD}],
    }
    assert paths(from_dict(data).plan) == [
        ([(2, "ab"), (5, "ab")], [(5, "ba"), (2, "ba")]),
        ([(0, "ab")], [(0, "ba")]),
    ]
    data["topology"]["routes"] = [{"at": "r", "to": "b", "via": "s-r"}]
    assert paths(from_dict(data).plan)[0].there == [(2, "ab"), (3, "ba"), (4, "ab")]
