"""Tables declare where their keys stand in the plan; planning and problems read the same declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

from voxpath.scenario import ScenarioError, from_dict
from voxpath.scenario.planning import Origin, Origins, keys, origin_of, place_of, plan
from voxpath.scenario.problems import PlanError
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Probability, Span
from voxpath.scenario.table import From, Keys, Outside, Table
from voxpath.scenario.traces import Traces

MS = 1_000_000


def _unreadable(_table: Table, _files: Traces) -> None:
    raise PlanError("it is torn")


class Part(Table):
    PLAN: ClassVar[Keys] = {0: "at", 1: From("length", lambda part, _: part.at + part.length)}

    at: Span
    length: PositiveSpan


class Whole(Table):
    PLAN: ClassVar[Keys] = {
        "p": "probability",
        "beside_ns": Outside("mean", lambda whole, _: whole.mean),
        "total": From("parts", lambda whole, _: len(whole.parts) * whole.factor, also=("factor",)),
        "list": "parts",
    }

    probability: Probability
    mean: Span
    target: Span | None = None
    room: PositiveSize
    from_: int = Field(0, alias="from")
    factor: int = 2
    parts: tuple[Part, ...] = Field(strict=False)


class Around(Table):
    PLAN: ClassVar[Keys] = {
        "whole": "whole",
        "beside_ns": From("whole", lambda around, _: around.whole.mean),
    }

    whole: Whole
    torn: str = "a file"


WHOLE = {
    "probability": "1 %",
    "mean": "3 ms",
    "room": "2 B",
    "parts": [{"at": "1 ms", "length": "2 ms"}, {"at": "5 ms", "length": "1 ms"}],
}


def test_keys_stand_in_the_plan_with_the_unit_of_their_type_unless_a_table_says_otherwise():
    faults: list[tuple[tuple[str | int, ...], str]] = []
    assert plan(Whole.model_validate(WHOLE), Traces(Path()), faults) == {
        "p": 0.01,
        "target_ns": None,
        "room_bytes": 2,
        "from": 0,
        "total": 4,
        "list": [[MS, 3 * MS], [5 * MS, 6 * MS]],
    }
    assert not faults


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("whole", "p"), ("whole", "probability")),
        (("whole", "target_ns"), ("whole", "target")),
        (("whole", "from"), ("whole", "from")),
        (("whole", "list", 1, 1), ("whole", "parts", 1, "length")),
        (("whole", "list", 7), ("whole", "parts")),
        (("whole", "unknown", 3), ("whole",)),
        (("beside_ns",), ("whole", "mean")),
        (("other",), ()),
    ],
)
def test_a_place_in_the_plan_leads_back_to_its_key(path: tuple[Any, ...], place: tuple[Any, ...]):
    around = Around.model_validate({"whole": WHOLE})
    assert place_of(around, path) == place
    origins: Origins = {(): Origin(((),)), ("links", 3): Origin((("near",), ("far",)), around)}
    # What nobody has written is told at the nearest place that somebody has.
    assert origin_of(("links", 3, *path), origins, {("far", *place[:1])}) == ("far", *place[:1])


def test_a_value_that_makes_no_plan_is_told_with_its_key():
    class Torn(Table):
        PLAN: ClassVar[Keys] = {"content": From("file", _unreadable)}
        file: str

    class Book(Table):
        pages: tuple[Torn, ...] = Field(strict=False)

    faults: list[tuple[tuple[str | int, ...], str]] = []
    plan(Book.model_validate({"pages": [{"file": "a"}, {"file": "b"}]}), Traces(Path()), faults)
    assert faults == [(("pages", 0, "file"), "it is torn"), (("pages", 1, "file"), "it is torn")]


def test_every_key_that_a_table_declares_is_one_of_its_own():
    tables = list(Table.__subclasses__())
    for table in tables:
        tables += table.__subclasses__()
        for origin in keys(table).values():
            named = [origin] if isinstance(origin, str) else [origin.key, *origin.also]
            assert set(named) <= set(table.model_fields), table
    assert len(tables) > 40


def test_a_problem_with_a_flow_is_told_with_the_flows_key():
    scenario = {
        "name": "late",
        "duration": "1 s",
        "topology": {"kind": "pipe", "link": {"delay": "1 ms"}},
        "flows": [{"start": "2 s", "app": {"kind": "bulk", "size": "1 B"}}],
    }
    with pytest.raises(ScenarioError) as error:
        from_dict(scenario)
    assert [problem.key for problem in error.value.problems] == ["flows[0].start"]


@pytest.mark.parametrize(
    ("event", "key"),
    [
        ({"loss": {"kind": "four_state", "p13": "60 %", "p31": "0 %", "p14": "60 %"}}, "loss.p13"),
        ({"down": {"loss": {"kind": "list", "packets": [2, 1]}}}, "down.loss.packets[1]"),
        ({"up": {"loss": {"kind": "trace", "file": "none"}}}, "up.loss.file"),
    ],
)
def test_a_problem_with_what_an_event_changes_is_told_with_the_events_key(event: dict[str, Any], key: str):
    scenario = {
        "name": "events",
        "topology": {"kind": "pipe", "link": {"delay": "1 ms"}},
        "flows": [{"app": {"kind": "bulk", "size": "1 B"}}],
        "events": [{"at": "1 s", "link": "link", **event}],
    }
    with pytest.raises(ScenarioError) as error:
        from_dict(scenario)
    assert {problem.key for problem in error.value.problems} == {f"events[0].{key}"}
