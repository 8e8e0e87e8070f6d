"""The way that packets take through a plan, as the engine routes them (`crates/net/src/routing.rs`).

Fewest hops, the link that is listed first among equals, hosts forward nothing, static routes come first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

PlanData = Mapping[str, Any]
Step = tuple[int, str]
"""A link's index and its direction, `ab` or `ba`."""


class Paths:
    """The paths of one plan."""

    def __init__(self, plan: PlanData) -> None:
        self._plan = plan
        self._static = {(route["node"], route["to"]): route["link"] for route in plan["routes"]}
        self._forwards = [node["kind"] == "router" for node in plan["nodes"]]
        # By node: its neighbours, and the first of the links to each.
        self._ways: list[dict[int, Step]] = [{} for _ in plan["nodes"]]
        for index, link in enumerate(plan["links"]):
            self._ways[link["a"]].setdefault(link["b"], (index, "ab"))
            self._ways[link["b"]].setdefault(link["a"], (index, "ba"))
        self._distances: dict[int, dict[int, int]] = {}
        self._nearest: dict[tuple[int, int], tuple[Step, int] | None] = {}

    def steps(self, source: int, sink: int) -> list[Step] | None:
        """The directions of links from node `source` to node `sink`; none where there is no way."""
        path: list[Step] = []
        node = source
        while node != sink:
            # Static routes can lead in a circle: a path that is longer than the nodes never ends.
            found = self._next(node, sink) if len(path) < len(self._ways) else None
            if found is None:
                return None
            step, node = found
            path.append(step)
        return path

    def directions(self, path: Sequence[Step]) -> list[Mapping[str, Any]]:
        """What each step does to packets."""
        return [self._plan["links"][link][way] for link, way in path]

    def _next(self, node: int, sink: int) -> tuple[Step, int] | None:
        static = self._static.get((node, sink))
        if static is not None:
            link = self._plan["links"][static]
            return ((static, "ab"), link["b"]) if link["a"] == node else ((static, "ba"), link["a"])
        if sink in self._ways[node]:
            return self._ways[node][sink], sink
        goal = self._attachment(sink)
        if (node, goal) not in self._nearest:
            distance = self._distance_to(goal)
            near = [other for other in self._ways[node] if self._forwards[other] and other in distance]
            best = min(near, key=lambda other: (distance[other], self._ways[node][other][0]), default=None)
            self._nearest[node, goal] = None if best is None else (self._ways[node][best], best)
        return self._nearest[node, goal]

    def _attachment(self, sink: int) -> int:
        """The only neighbour of a sink that has one, so that thousands of hosts share its distances."""
        neighbours = [*self._ways[sink]] if len(self._ways[sink]) == 1 else [sink]
        return neighbours[0] if self._forwards[neighbours[0]] else sink

    def _distance_to(self, goal: int) -> dict[int, int]:
        """Hops to a node from every router that reaches it by routers."""
        if goal not in self._distances:
            distance = {goal: 0}
            waiting = deque([goal])
            while waiting:
                node = waiting.popleft()
                for other in self._ways[node]:
                    if other not in distance and self._forwards[other]:
                        distance[other] = distance[node] + 1
                        waiting.append(other)
            self._distances[goal] = distance
        return self._distances[goal]


def sharers(paths: Paths, plan: PlanData) -> list[int | None]:
    """For each flow the first other flow that uses a direction of a link that it uses; none without one."""
    users: defaultdict[Step, list[int]] = defaultdict(list)
    taken: list[set[Step]] = []
    for index, flow in enumerate(plan["flows"]):
        there = paths.steps(flow["from"], flow["to"]) or []
        back = paths.steps(flow["to"], flow["from"]) or []
        taken.append({*there, *back})
        for step in taken[-1]:
            # Two are enough: each flow finds another than itself among them.
            if len(users[step]) < 2:
                users[step].append(index)
    return [
        min((other for step in steps for other in users[step] if other != index), default=None)
        for index, steps in enumerate(taken)
    ]
