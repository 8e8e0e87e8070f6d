"""Updates by HTTP's ways: from the scenario to how late they come."""

from __future__ import annotations

import polars as pl
import pytest

import voxpath
from voxpath.scenario import ScenarioError, from_dict

UPDATES = [["1 s", "200 B"], ["1.03 s", "200 B"], ["1.05 s", "300 B"], ["3 s", "600 B"]]
WAYS = {
    "streaming": {"way": "streaming"},
    "long": {"way": "long_polling"},
    "polling": {"way": "polling", "every": "500 ms"},
}


def scenario(*flows: dict, **link) -> dict:
    return {
        "name": "push",
        "topology": {"kind": "pipe", "link": {"rate": "100 Mbit/s", "delay": "50 ms", **link}},
        "hosts": {"client": {"profile": "linux"}, "server": {"profile": "linux"}},
        "flows": list(flows),
    }


def flow(**app) -> dict:
    return {"app": {"kind": "push", "updates": UPDATES, **app}}


def test_a_way_is_resolved_with_what_it_adds():
    def planned(**app):
        (one,) = from_dict(scenario(flow(**app))).plan.data["flows"]
        assert not one["transport"]["server"]["nagle"], "servers answer with TCP_NODELAY"
        return one["app"]

    assert planned(way="streaming") == {
        "kind": "push",
        "way": {"kind": "streaming", "event_bytes": 8},
        "request_bytes": 400,
        "head_bytes": 200,
        "updates": [
            [1_000_000_000, 200],
            [1_030_000_000, 200],
            [1_050_000_000, 300],
            [3_000_000_000, 600],
        ],
    }
    assert planned(way="streaming", event="17 B")["way"]["event_bytes"] == 17
    assert planned(way="long_polling", request="1 kB")["request_bytes"] == 1000
    assert planned(way="polling", every="500 ms")["way"] == {"kind": "polling", "every_ns": 500_000_000}


@pytest.mark.parametrize(
    ("app", "place", "says"),
    [
        ({"way": "polling"}, "every", "is missing"),
        ({"way": "streaming", "every": "1 s"}, "every", "has no effect on streaming"),
        ({"way": "long_polling", "event": "8 B"}, "event", "has no effect on long_polling"),
        ({"way": "streaming", "event": "3 B"}, "event", "has 4 bytes"),
        ({"way": "streaming", "updates": []}, "updates", "at least 1 are needed"),
        ({"way": "streaming", "updates": [["2 s", "1 B"], ["1 s", "1 B"]]}, "updates[1]", "before the one"),
        ({"way": "streaming", "updates": [["2 s", "60 MB"], ["2 s", "60 MB"]]}, "updates", "64 MiB together"),
        ({"way": "push"}, "way", "streaming"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_place(app, place, says):
    with pytest.raises(ScenarioError) as error:
        from_dict(scenario(flow(**app)))
    assert f"flows[0].app.{place}" in str(error.value)
    assert says in str(error.value)


def test_each_way_is_as_late_as_it_has_to_be(tmp_path):
    flows = [{"name": name, **flow(**keys)} for name, keys in WAYS.items()]
    result = voxpath.run(from_dict(scenario(*flows)), out=tmp_path)
    updates = pl.concat(pl.read_parquet(path) for path in tmp_path.rglob("messages.parquet"))
    assert updates.height == len(WAYS) * len(UPDATES)
    delays = {
        name: (some["received_ns"] - some["ready_ns"]).to_numpy() / 1e6
        for (name,), some in updates.group_by("flow", maintain_order=True)
    }
    # A segment takes tenths of a millisecond on this link.
    assert delays["streaming"] == pytest.approx([50, 50, 50, 50], abs=1)
    # The next request comes 100 ms after the first answer went.
    assert delays["long"] == pytest.approx([50, 120, 100, 50], abs=1)
    # The connection takes 100 ms to stand; polls are sent at 0.1, 0.6, 1.1 ... and heard 50 ms later.
    assert delays["polling"] == pytest.approx([200, 170, 150, 200], abs=1)
    flows = result.flows
    assert flows["status"].to_list() == ["completed"] * len(WAYS)
    assert flows["updates_received"].to_list() == [len(UPDATES)] * len(WAYS)
    assert (flows["update_p50_ns"] <= flows["update_max_ns"]).all()
    assert flows.filter(pl.col("flow") == "long")["update_max_ns"].item() / 1e6 == pytest.approx(120, abs=1)


def test_closed_forms_decline(tmp_path):
    answers = voxpath.run(from_dict(scenario(flow(way="long_polling"))), out=tmp_path, backends=["formula"])
    assert "updates are told when they are there" in str(answers)
