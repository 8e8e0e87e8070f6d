"""The way that packets take through a plan: the engine's, which is the only one that routes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.scenario.resolve import Plan

Step = tuple[int, str]
"""A link's index and its direction, `ab` or `ba`."""


class Path(NamedTuple):
    """The steps of one flow, from the end that opens it to the other one, and back."""

    there: Sequence[Step]
    back: Sequence[Step]


def paths(plan: Plan) -> list[Path]:
    """The path of every flow."""
    return [Path(there, back) for there, back in _engine.paths(plan.json)]


def directions(plan: Plan, steps: Sequence[Step]) -> list[Mapping[str, Any]]:
    """What each step does to packets."""
    return [plan.data["links"][link][way] for link, way in steps]


def sharers(flows: Sequence[Path]) -> list[int | None]:
    """For each flow the first other flow that uses a direction of a link that it uses; none without one."""
    users: defaultdict[Step, list[int]] = defaultdict(list)
    taken = [{*path.there, *path.back} for path in flows]
    for index, steps in enumerate(taken):
        for step in steps:
            # Two are enough: each flow finds another than itself among them.
            if len(users[step]) < 2:
                users[step].append(index)
    return [
        min((other for step in steps for other in users[step] if other != index), default=None)
        for index, steps in enumerate(taken)
    ]
