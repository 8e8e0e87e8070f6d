"""Scenarios beside the kernel: what is drawn, what is recorded, and when two answers agree."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT

NAMES = ("beside", "classes", "differential")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches" / "fidelity")
    monkeypatch.syspath_prepend(ROOT / "benches")
    yield [__import__(name) for name in NAMES]
    for name in (*NAMES, "page"):
        sys.modules.pop(name, None)


def case(beside: ModuleType):
    link = {"rate": "5 Mbit/s", "delay": "10 ms"}
    flow = {"name": "bulk", "app": {"kind": "bulk", "size": "50 kB"}}
    data = {"name": "one", "topology": {"kind": "pipe", "link": link}, "flows": [flow]}
    return beside.Case("one", "some", data)


@pytest.mark.parametrize(
    ("metric", "kernel", "ours", "holds"),
    [
        ("bulk: completion", [10.0, 10.0], [10.49, 10.49], True),
        ("bulk: completion", [10.0, 10.0], [10.51, 10.51], False),
        # Its own interval is wider.
        ("bulk: completion", [9.0, 10.0, 11.0], [11.0], True),
        # Packets of a valid run may be a millisecond late.
        ("bulk: response_p50", [0.002, 0.002], [0.0029], True),
        ("bulk: response_p50", [0.002, 0.002], [0.0031], False),
        ("bulk: retransmissions", [0, 0], [5], True),
        ("bulk: retransmissions", [0, 0], [6], False),
        ("bulk: retransmissions", [100, 100], [125], True),
        ("bulk: retransmissions", [100, 100], [126], False),
        ("bulk: bytes", [1000, 1000], [960], True),
    ],
)
def test_when_two_answers_agree(modules, metric: str, kernel: list[float], ours: list[float], holds: bool):
    beside = modules[0]
    assert beside.Compared(case(beside), metric, kernel, ours).holds is holds


def test_a_record_is_read_as_it_was_written(modules, tmp_path: Path):
    beside = modules[0]
    one = beside.Recorded(case(beside), 3, {0: {"bulk: completion": 1.5}, 2: {"bulk: completion": 1.25}})
    beside.write(tmp_path / "record.jsonl", {"one": one})
    assert beside.read(tmp_path / "record.jsonl") == {"one": one}
    assert beside.read(tmp_path / "none.jsonl") == {}


def test_the_simulator_answers_for_exactly_the_runs_that_are_asked_for(modules):
    beside = modules[0]
    found = beside.simulated((case(beside), [0, 3]))
    assert set(found) == {(draw, run) for draw in range(beside.DRAWS) for run in (0, 3)}
    assert set(found[0, 3]) == {"bulk: completion", "bulk: retransmissions"}


def test_every_cell_is_a_scenario_and_has_a_name_of_its_own(modules):
    cells = list(modules[1].cells())
    assert len(cells) >= 40
    assert len({cell.name for cell in cells}) == len(cells)
    for cell in cells:
        assert cell.document.plan.data["flows"]


def test_the_same_seed_draws_the_same_scenarios(modules):
    differential = modules[2]
    first, again = ([differential.drawn(seed, n).data for n in range(20)] for seed in (7, 7))
    assert first == again
    assert first != [differential.drawn(8, n).data for n in range(20)]


def test_a_smaller_scenario_lacks_one_thing(modules):
    differential = modules[2]
    data = next(d for n in range(50) if len((d := dict(differential.drawn(1, n).data))["flows"]) == 2)
    tried = list(differential.smaller(data))
    assert [len(one["flows"]) for one in tried[:2]] == [1, 1]
    assert data not in tried
