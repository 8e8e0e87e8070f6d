"""Middleboxes in scenarios: their keys, what a run tells, what is refused and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import voxpath
from voxpath.scenario import ScenarioError, from_dict

if TYPE_CHECKING:
    from pathlib import Path


def scenario(*boxes: dict[str, Any], path: str = "lte", **flow: Any) -> dict[str, Any]:
    way = {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "100 packets"}
    paths: dict[str, Any] = {"wifi": dict(way), "lte": dict(way)}
    paths[path]["middleboxes"] = list(boxes)
    return {
        "name": "middleboxes",
        "topology": {
            "kind": "multipath",
            "paths": paths,
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        },
        "flows": [
            {
                "name": "download",
                "transport": {"kind": "mptcp"},
                "app": {"kind": "download", "request": "100 B", "response": "500 kB"},
                **flow,
            }
        ],
    }


STRIP = {"kind": "strip_options", "options": ["mptcp"]}


def planned(*boxes: dict[str, Any]) -> list[dict[str, Any]]:
    return from_dict(scenario(*boxes)).plan.data["middleboxes"]


def test_keys_become_the_plans():
    found = planned(
        STRIP | {"options": ["mptcp", 253], "segments": "syn", "ports": [80, "5201-5300"], "way": "down"},
        {"kind": "drop_unknown_options", "known": ["fast_open"]},
        {"kind": "rewrite_sequence"},
        {"kind": "split", "size": "500 B"},
        {"kind": "coalesce", "size": "4 kB", "wait": "2 ms"},
        {"kind": "translate", "address": "192.0.2.1", "forget": "30 s"},
        {"kind": "alter_data", "first": 3},
    )
    assert [one["link"] for one in found] == [1] * 7
    assert found[0]["which"] == {"ports": [[80, 80], [5201, 5300]], "way": "ba"}
    assert [one["set"] for one in found] == [
        {"kind": "strip_options", "options": [30, 253], "segments": "syn"},
        {"kind": "drop_unknown_options", "known": [34]},
        {"kind": "rewrite_sequence", "offset": None, "sack": True},
        {"kind": "split", "size_bytes": 500, "options": "each"},
        {"kind": "coalesce", "size_bytes": 4000, "wait_ns": 2_000_000},
        {"kind": "translate", "address": "192.0.2.1", "forget_ns": 30_000_000_000},
        {"kind": "alter_data", "first": 3, "every": None},
    ]


def test_a_plan_without_any_is_what_it_was():
    assert "middleboxes" not in from_dict(scenario()).plan.data


def test_a_run_tells_what_each_of_them_met_and_whether_the_connection_fell_back(tmp_path: Path):
    result = voxpath.run(scenario(STRIP, path="wifi"), out=tmp_path)
    assert result.flows["status"][0] == "completed"
    boxes = result.table("elements").filter(pl.col("element") == "strip_options")
    assert boxes["place"].to_list() == ["wifi ab", "wifi ba"]
    # The server answers a SYN without the option by one without it.
    assert boxes["packets_marked"][0] >= 1
    connections = result.table("connections")
    assert set(connections["fallback"].drop_nulls()) == {1}


def test_a_formula_declines_where_one_stands_on_the_way(tmp_path: Path):
    data = scenario(STRIP, path="wifi", transport={"kind": "tcp"})
    result = voxpath.run(data, out=tmp_path, backends=["formula"])
    reasons = {row.reason for row in result.rows if row.reason}
    assert any("a middlebox on the way" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("box", "place", "said"),
    [
        ({"kind": "strip_options"}, "options", "is missing"),
        (STRIP | {"options": []}, "options", "at least 1"),
        (STRIP | {"options": ["mp"]}, "options[0]", "no TCP option"),
        (STRIP | {"options": [1]}, "options[0]", "no TCP option"),
        (STRIP | {"ports": ["90-80"]}, "ports[0]", "no range of ports"),
        (STRIP | {"ports": [0]}, "ports[0]", "no range of ports"),
        (STRIP | {"way": "left"}, "way", "is not one of them"),
        ({"kind": "split", "size": "100 kB"}, "size", "out of range"),
        ({"kind": "translate", "address": "192.0.2.1", "way": "up"}, "way", "unknown key"),
        ({"kind": "translate", "address": "10.0.0.1"}, "address", "somebody's address already"),
        ({"kind": "firewall"}, "kind", "'firewall' is unknown"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(box: dict[str, Any], place: str, said: str):
    with pytest.raises(ScenarioError) as caught:
        from_dict(scenario(box))
    (problem,) = caught.value.problems
    assert problem.key == f"topology.paths.lte.middleboxes[0].{place}"
    assert said in problem.message
