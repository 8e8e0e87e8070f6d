"""What a scenario says of its links: what it is in the plan, what is refused, and the files of traces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import ROOT
from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.wire import loses, loss_probability, need_plain
from voxpath.scenario import Document, ScenarioError, from_dict, read

CBR = {"kind": "cbr", "packet": "172 B", "interval": "20 ms", "packets": "500 packets"}
CALL = {"name": "call", "app": CBR}
MS = 1_000_000


def scenario(link: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": "x", "topology": {"kind": "pipe", "link": link}, "flows": [CALL], **others}


def document(link: dict[str, Any], base: Path = Path(), **others: Any) -> Document:
    return from_dict(scenario(link, **others), base=base)


def direction(link: dict[str, Any], base: Path = Path()) -> dict[str, Any]:
    planned: dict[str, Any] = document(link, base).plan.data["links"][0]["ab"]
    return planned


RATE = {"rate": "1 Mbit/s"}
TWO = [
    {"rate": "1 Mbit/s", "dwell": "1 s", "probability": "25 %"},
    {"rate": "0 bit/s", "dwell": "2 s", "probability": "75 %"},
]


@pytest.mark.parametrize(
    ("link", "planned"),
    [
        (
            {"rate": {"kind": "schedule", "steps": [{"at": "0 s", "rate": "1 kbit/s"}], "every": "1 s"}},
            {
                "rate_bps": None,
                "capacity": {"kind": "schedule", "steps": [[0, 1000]], "period_ns": 1000 * MS},
            },
        ),
        (
            {"rate": {"kind": "markov", "states": TWO, "dwell": "constant"}},
            {
                "capacity": {
                    "kind": "markov",
                    "states": [
                        {
                            "rate_bps": rate,
                            "dwell_ns": dwell * 1000 * MS,
                            "exponential": False,
                            "next": [0.25, 0.75],
                        }
                        for rate, dwell in ((1_000_000, 1), (0, 2))
                    ],
                    "start": None,
                }
            },
        ),
        (RATE | {"queue": {"kind": "drop_tail", "limit": ["9 packets", "9 kB"]}}, {"queue_packets": 9}),
        (
            RATE | {"queue": {"kind": "codel", "limit": "9 packets", "ecn": False}},
            {
                "queue_packets": 9,
                "queueing": {"kind": "codel", "target_ns": 5 * MS, "interval_ns": 100 * MS, "ecn": False},
            },
        ),
        (RATE | {"queue": {"kind": "fq_codel"}}, {"queue_packets": 10_240, "queue_bytes": None}),
        (
            RATE | {"queue": {"kind": "pie", "target": "20 ms"}},
            {
                "queueing": {
                    "kind": "pie",
                    "target_ns": 20 * MS,
                    "update_ns": 15 * MS,
                    "max_burst_ns": 150 * MS,
                    "alpha": 0.125,
                    "beta": 1.25,
                    "ecn": True,
                }
            },
        ),
        (
            {"loss": {"kind": "gilbert_elliott", "to_bad": "1 %", "to_good": "50 %"}},
            {
                "loss": {
                    "kind": "gilbert_elliott",
                    "to_bad": 0.01,
                    "to_good": 0.5,
                    "loss_good": 0.0,
                    "loss_bad": 1.0,
                }
            },
        ),
        (
            {"corrupt": {"kind": "outages", "outages": [{"start": "1 ms", "length": "2 ms"}]}},
            {"corruption": {"kind": "outages", "outages": [[MS, 3 * MS]], "period_ns": None}},
        ),
        (
            {"delay": {"kind": "normal", "mean": "9 ms", "deviation": "1 ms", "correlation": "50 %"}},
            {
                "delay_ns": 9 * MS,
                "delay_variation": {
                    "kind": "normal",
                    "deviation_ns": MS,
                    "correlation": 0.5,
                    "overtaking": False,
                },
            },
        ),
        (
            {"delay": {"kind": "schedule", "steps": [{"at": "0 s", "delay": "5 ms"}]}},
            {"delay_ns": 0, "delay_variation": {"kind": "steps", "steps": [[0, 5 * MS]], "period_ns": None}},
        ),
    ],
)
def test_a_table_becomes_its_part_of_the_plan(link: dict[str, Any], planned: dict[str, Any]):
    found = direction(link)
    assert {key: found[key] for key in planned} == planned


def test_a_text_and_the_table_of_its_kind_say_the_same():
    for text, table in (
        ({"loss": "1 %"}, {"loss": {"kind": "bernoulli", "probability": "1 %"}}),
        (RATE | {"queue": "9 packets"}, RATE | {"queue": {"kind": "drop_tail", "limit": "9 packets"}}),
    ):
        assert direction(text) == direction(table)


def test_what_one_direction_says_replaces_the_whole_table():
    link = RATE | {"queue": {"kind": "codel", "target": "9 ms"}, "down": {"queue": {"kind": "codel"}}}
    planned = document(link).plan.data["links"][0]
    assert [planned[way]["queueing"]["target_ns"] for way in ("ab", "ba")] == [9 * MS, 5 * MS]


STEPS = [{"at": "0 s", "rate": "1 Mbit/s"}, {"at": "1 s", "rate": "0 bit/s"}]


@pytest.mark.parametrize(
    ("link", "key", "message"),
    [
        ({"rate": {"kind": "wavy"}}, "rate.kind", "schedule, markov, trace"),
        ({"rate": {"kind": "schedule", "steps": [STEPS[0] | {"at": "1 s"}]}}, "rate.steps[0].at", "'0 s'"),
        (
            {"rate": {"kind": "schedule", "steps": [STEPS[0]] * 2}},
            "rate.steps[1].at",
            "after the step before",
        ),
        ({"rate": {"kind": "schedule", "steps": STEPS, "every": "1 s"}}, "rate.every", "after the last step"),
        (
            {"rate": {"kind": "schedule", "steps": [{"at": "0 s", "rate": "0 bit/s"}]}},
            "rate.steps",
            "nothing ever passes",
        ),
        (
            {"rate": {"kind": "schedule", "steps": [{"at": "0 s", "rate": "5"}]}},
            "rate.steps[0].rate",
            "no unit",
        ),
        ({"rate": {"kind": "markov", "states": TWO[:1]}}, "rate.states", "at least 2"),
        ({"rate": {"kind": "markov", "states": [TWO[0], TWO[0]]}}, "rate.states[0]", "50 %, not 100 %"),
        (
            {"rate": {"kind": "markov", "states": [TWO[0], {"rate": "1 bit/s", "dwell": "1 s"}]}},
            "rate.states[1]",
            "either probability or next",
        ),
        (
            {"rate": {"kind": "markov", "states": [{**TWO[0], "dwell": "1 ns"}, TWO[1]]}},
            "rate.states[0].dwell",
            "1 us at least",
        ),
        ({"queue": {"kind": "codel"}}, "queue", "without a rate"),
        (RATE | {"queue": {"kind": "blue"}}, "queue.kind", "drop_tail, red, codel, fq_codel, pie"),
        (
            RATE | {"queue": {"kind": "red", "min": "9 packets", "max": "9 packets"}},
            "queue.max",
            "not above min",
        ),
        (RATE | {"queue": {"kind": "red", "max": "9 packets"}}, "queue.min", "is missing"),
        (RATE | {"queue": {"kind": "codel", "target": 5}}, "queue.target", "has no unit"),
        (RATE | {"queue": {"kind": "fq_codel", "quantum": "10 B"}}, "queue.quantum", "at least 64"),
        ({"loss": {"kind": "burst"}}, "loss.kind", "gilbert_elliott"),
        ({"loss": {"kind": "gilbert_elliott", "to_bad": "1 %"}}, "loss.to_good", "is missing"),
        ({"loss": {"kind": "four_state", "p13": "60 %", "p31": "1 %", "p14": "50 %"}}, "loss.p13", "100 %"),
        (
            {
                "loss": {
                    "kind": "outages",
                    "outages": [{"start": "1 s", "length": "1 s"}, {"start": "2 s", "length": "1 s"}],
                }
            },
            "loss.outages[1].start",
            "after the end",
        ),
        ({"delay": {"kind": "pareto", "least": "0 s", "shape": 2.0}}, "delay.least", "above zero"),
        ({"delay": {"kind": "pareto", "least": "1 s", "shape": 0.0}}, "delay.shape", "above 0"),
        ({"corrupt": "101 %"}, "corrupt", "100 %"),
    ],
)
def test_a_fault_is_told_with_its_key_and_what_is_allowed(link: dict[str, Any], key: str, message: str):
    with pytest.raises(ScenarioError) as error:
        document(link)
    (problem,) = error.value.problems
    assert problem.key == f"topology.link.{key}"
    assert message in problem.message


def test_a_trace_is_read_from_the_scenarios_directory_and_is_a_part_of_the_runs_identity(tmp_path: Path):
    trace = tmp_path / "traces" / "a.trace"
    trace.parent.mkdir()
    link = {"rate": {"kind": "trace", "file": "traces/a.trace"}}
    (tmp_path / "s.toml").write_text(document_text(link))
    plans = []
    for text in ("10\n20\n", "# the same\n10\n\n20  # and last\n", "10\n30\n"):
        trace.write_text(text)
        plans.append(read(tmp_path / "s.toml").plan)
    assert plans[0].json == plans[1].json != plans[2].json
    assert plans[2].data["links"][0]["ab"]["capacity"]["opportunities_ms"] == [10, 30]

    # What the run keeps gives the same run again, wherever it is.
    result = voxpath_package.run(read(tmp_path / "s.toml"), out=tmp_path / "runs")
    kept = tmp_path / "elsewhere"
    shutil.copytree(result.folders[0], kept)
    trace.write_text("1\n")
    assert (kept / "traces" / "a.trace").read_text() == "10\n30\n"
    assert read(kept / "scenario.toml").plan.json == plans[2].json


def document_text(link: dict[str, Any]) -> str:
    from voxpath import _engine

    return _engine.format_toml(json.dumps(scenario(link)))


def test_traces_are_axes_too(tmp_path: Path):
    for name, losses in (("a", "0" * 9 + "1"), ("b", "01")):
        (tmp_path / f"{name}.trace").write_text(losses)
    sweep = {"topology.link.loss": [{"kind": "trace", "file": f"{name}.trace"} for name in "ab"]}
    answers = voxpath_package.sweep(
        document({"loss": "0 %"}, tmp_path, sweep=sweep), 1, out=tmp_path / "runs"
    )
    assert sorted(answers.flows["datagrams_lost"].to_list()) == [50, 250]


@pytest.mark.parametrize(
    ("key", "table", "content", "message"),
    [
        ("rate", {}, "1\n2 3\n", "line 2: '2 3' is not a whole number of milliseconds"),
        ("rate", {}, "3\n2\n", "line 2: 2 comes after 3"),
        ("rate", {}, "# steps\n0\n", "'x.trace', line 2: must be above zero"),
        ("rate", {}, "3\n2\n1\n0\n", "'x.trace', line 2: 2 comes after 3"),
        ("rate", {}, "# nothing\n", "is empty"),
        ("loss", {}, "0102", "line 1: '2' is not one of the digits 0 and 1"),
        ("loss", {}, "01 0\n\n1 1 \n0x1", "'x.trace', line 4: 'x' is not one of the digits"),
        ("corrupt", {}, "x", "line 1: 'x' is not one of the digits"),
        ("delay", {}, "0 s\n", "'1.5 s, 40 ms'"),
        ("delay", {}, "1 s, 1 ms\n", "'x.trace', line 1: must be '0 s'"),
        ("delay", {}, "0 s, 1 ms\n0 s, 2 ms\n", "'x.trace', line 2: does not come after the step before"),
        ("delay", {}, "0 s, 1 ms\n# a year\n9000 h, 500001 h\n", "'x.trace', line 3: "),
        ("delay", {}, "0 s, 1\n", "no unit"),
        ("loss", {"file": "../x.trace"}, "0", "not below the scenario's directory"),
        ("loss", {"file": "/x.trace"}, "0", "not below the scenario's directory"),
        ("loss", {"file": "flows.parquet"}, "0", "ends like a result"),
        ("loss", {"file": "none.trace"}, "0", "No such file"),
    ],
)
def test_a_faulty_file_is_told_with_its_line(
    key: str, table: dict[str, Any], content: str, message: str, tmp_path: Path
):
    (tmp_path / "x.trace").write_text(content)
    link = {"down": {key: {"kind": "trace", "file": "x.trace"} | table}}
    with pytest.raises(ScenarioError) as error:
        document(link, tmp_path)
    (problem,) = error.value.problems
    assert problem.key == f"topology.link.down.{key}.file"
    assert message in problem.message


def test_a_recorded_delay_starts_over_after_its_last_moment(tmp_path: Path):
    (tmp_path / "x.trace").write_text("0 s, 1 ms\n1 s, 2 ms\n")
    link = {"down": {"delay": {"kind": "trace", "file": "x.trace", "every": "1 s"}}}
    with pytest.raises(ScenarioError) as error:
        document(link, tmp_path)
    (problem,) = error.value.problems
    assert (problem.key, problem.message) == (
        "topology.link.down.delay.every",
        "must come after the last step",
    )


def test_damaged_packets_are_dropped_by_their_receiver_and_counted(tmp_path: Path):
    result = voxpath_package.run(document({"corrupt": "10 %"}), out=tmp_path)
    flow = result.flows.row(0, named=True)
    elements = pl.read_parquet(result.folders[0] / "elements.parquet").rows_by_key(
        ["place", "element"], named=True, unique=True
    )
    corruption, receiver = elements["link ab", "corruption"], elements["server", "host"]
    assert 20 < corruption["packets_marked"] < 90
    assert receiver["packets_dropped"] == corruption["packets_marked"] == flow["datagrams_lost"]


def test_an_outage_loses_what_leaves_during_it(tmp_path: Path):
    outages = {"kind": "outages", "outages": [{"start": "1 s", "length": "1 s"}], "every": "5 s"}
    result = voxpath_package.run(document({"loss": outages}), out=tmp_path)
    # Ten seconds, a packet every 20 ms.
    assert result.flows["datagrams_lost"].item() == 2 * 50


STATUSES = {
    "kind": "markov",
    "dwell": "constant",
    "start": "drawn",
    "states": [
        {"rate": rate, "dwell": "2 s", "probability": probability}
        for rate, probability in (("80 kbit/s", "60 %"), ("40 kbit/s", "30 %"), ("0 bit/s", "10 %"))
    ],
}


def test_what_is_offered_above_the_available_rate_is_lost_by_its_share(tmp_path: Path):
    """200 bytes every 20 ms are 80 kbit/s: each status loses one less its rate over these."""
    call = {"name": "call", "app": {"kind": "cbr", "packet": "172 B", "interval": "20 ms"}}
    light = {"name": "call", "app": {"kind": "cbr", "packet": "72 B", "interval": "20 ms"}}
    link = {"up": {"loss": {"kind": "overload", "rate": STATUSES, "window": "100 ms"}}}
    found = [
        voxpath_package.run(
            document(link, flows=[flow], duration="400 s"), out=tmp_path, observe=["capacity", "packets"]
        )
        for flow in (call, light)
    ]
    rates = [pl.read_parquet(one.folders[0] / "capacities.parquet") for one in found]
    # The sequence that was drawn is the same, whatever is offered.
    assert rates[0].equals(rates[1])
    assert set(rates[0]["link"]) == {"link ab"}
    assert set(rates[0]["element"]) == {"loss"}
    assert set(rates[0]["rate_bps"]) == {0, 40_000, 80_000}
    assert all(at % (2000 * MS) == 0 for at in rates[0]["time_ns"])
    for one, offered in zip(found, (80_000, 40_000), strict=True):
        packets = (
            pl.read_parquet(one.folders[0] / "packets.parquet")
            .filter(pl.col("action").cast(pl.String).is_in(["lost", "delivered"]))
            .with_columns(lost=pl.col("action").cast(pl.String) == "lost", time_ns="time_ns")
            .sort("time_ns")
            .join_asof(rates[0].select("time_ns", "rate_bps"), on="time_ns")
        )
        for rate, group in packets.group_by("rate_bps"):
            share, expected = group["lost"].mean(), max(0.0, 1 - float(rate[0]) / offered)
            assert isinstance(share, float)
            assert abs(share - expected) <= 3.5 * (expected * (1 - expected) / group.height) ** 0.5


@pytest.mark.parametrize(
    ("loss", "key", "message"),
    [
        ({"rate": {"kind": "trace", "file": "x.trace"}}, "rate.kind", "allowed: schedule, markov"),
        ({"rate": STATUSES, "window": "0 s"}, "window", "above zero"),
        ({"rate": "5 Mbit"}, "rate", "unit"),
        (
            {"rate": STATUSES | {"states": [{"rate": "1 kbit/s", "dwell": "1 s", "probability": "9 %"}] * 2}},
            "rate.start",
            "sum up to 18 %",
        ),
        (
            {"rate": STATUSES | {"states": [{"rate": "1 kbit/s", "dwell": "1 s", "next": ["50 %"] * 2}] * 2}},
            "rate.start",
            "give every state one",
        ),
    ],
)
def test_a_fault_of_an_overload_is_told_with_its_key(loss: dict[str, Any], key: str, message: str):
    with pytest.raises(ScenarioError) as error:
        document({"loss": {"kind": "overload"} | loss})
    problems = {problem.key: problem.message for problem in error.value.problems}
    assert message in problems[f"topology.link.loss.{key}"], problems


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ({"rate": {"kind": "schedule", "steps": STEPS}}, "rate of a link varies"),
        ({"delay": {"kind": "normal", "mean": "9 ms", "deviation": "1 ms"}}, "delay of a link varies"),
        (RATE | {"queue": {"kind": "pie"}}, "under pie"),
        ({"corrupt": "1 %"}, "corrupts packets"),
    ],
)
def test_formulas_decline_on_what_they_do_not_know(link: dict[str, Any], reason: str, tmp_path: Path):
    with pytest.raises(NotApplicableError, match=reason):
        need_plain([direction(link)])
    bulk = {"name": "bulk", "app": {"kind": "bulk", "size": "10 kB"}}
    both = document(RATE | {"delay": "9 ms"} | link, flows=[CALL, bulk])
    estimates = [row for row in voxpath_package.run(both, out=tmp_path).rows if row.estimator != "sim"]
    assert estimates
    assert all(row.value is None for row in estimates if row.estimator in {"window_limit", "token_bucket"})


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        ({"kind": "gilbert_elliott", "to_bad": "1 %", "to_good": "50 %"}, "in bursts"),
        ({"kind": "outages", "outages": [{"start": "1 s", "length": "1 s"}]}, "not by chance"),
        ({"kind": "overload", "rate": "1 Mbit/s"}, "what is offered"),
    ],
)
def test_losses_that_are_not_independent_have_no_probability(loss: dict[str, Any], reason: str):
    hop = direction({"loss": loss})
    assert loses(hop)
    with pytest.raises(NotApplicableError, match=reason):
        loss_probability(100, [hop])


def test_the_ride_of_the_examples_has_the_capacity_that_it_says():
    plan = read(ROOT / "scenarios" / "cellular.toml").plan
    moments = plan.data["links"][0]["ab"]["capacity"]["opportunities_ms"]
    assert moments[-1] == 10_000
    second = [sum(1000 * s <= moment < 1000 * (s + 1) for moment in moments) for s in range(10)]
    assert max(second) <= 6e6 / 12_000
    assert second[6] == 0
