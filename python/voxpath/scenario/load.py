"""From a file or a text to a `Document`: read, validated, resolved and checked, or refused as a whole."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from voxpath import _engine, files
from voxpath.scenario import cells
from voxpath.scenario.model import Scenario
from voxpath.scenario.planning import origin_of, source_of, unwritten
from voxpath.scenario.problems import Path, Problem, ScenarioError, dotted, locate
from voxpath.scenario.resolve import Plan, narrow_link, resolve
from voxpath.scenario.sweep import text_of
from voxpath.scenario.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

MAX_BYTES = 4 * 2**20
"""The largest file that is read; a scenario is written by people."""

_Places = dict[Path, tuple[int, int]]


@dataclass(frozen=True)
class Document:
    """A scenario that can run.

    Attributes:
        source: Where the text came from, for messages.
        text: The scenario as it was written.
        data: The same as plain values.
        scenario: The same as a model.
        plan: What the backends answer.
        base: Where the files are that the scenario refers to.
    """

    source: str
    text: str
    data: dict[str, Any]
    scenario: Scenario
    plan: Plan
    base: FilePath = FilePath()

    @property
    def written(self) -> dict[str, bytes]:
        """What a run keeps of the scenario, by name: its text, and the files that it refers to."""
        return {"scenario.toml": self.text.encode(), **self.plan.files}

    def problems_of_real_hosts(self) -> list[Problem]:
        """What keeps its real hosts from being real."""
        _, places, _ = _engine.parse_toml(self.text)
        return _placed(_found(self.plan, places, self.base, edges=True), places)

    def with_seed(self, seed: int) -> Document:
        """The same scenario with another seed."""
        scenario = self.scenario.model_copy(update={"seed": seed})
        plan, _ = resolve(scenario, self.base)
        data = {**self.data, "seed": seed}
        # The text stands in the run's folder, and has to give the same run again.
        text = _engine.format_toml(json.dumps(data, allow_nan=False))
        return replace(self, text=text, data=data, scenario=scenario, plan=plan)

    def with_real(self, host: str) -> Document:
        """The same scenario, in which a host is real whatever runs there.

        Raises:
            ScenarioError: It cannot be.
        """
        hosts = self.data.get("hosts", {})
        data = {**self.data, "hosts": {**hosts, host: {**hosts.get(host, {}), "real": True}}}
        return from_dict(data, self.source, self.base)

    def with_events(self, events: Sequence[Mapping[str, Any]]) -> Document:
        """The same scenario, in which these things happen beside what happens anyway.

        Raises:
            ScenarioError: One of them cannot be.
        """
        data = {**self.data, "events": [*self.data.get("events", ()), *events]}
        return from_dict(data, self.source, self.base)

    def cells(self) -> Iterator[Cell]:
        """The cells of the sweep, each a scenario of its own; without axes the scenario itself.

        They are made one by one, because a sweep may have a hundred thousand.
        """
        sweep = self.scenario.sweep
        for number, point in enumerate(cells.points(sweep)):
            if not point.values:
                yield Cell(number, point.values, self)
                continue
            data = cells.replaced(self.data, point.values)
            scenario = Scenario.model_validate(data)
            plan, _ = resolve(scenario, self.base)
            text = _engine.format_toml(json.dumps(data, allow_nan=False))
            document = Document(self.source, text, data, scenario, plan, self.base)
            yield Cell(number, point.values, document)

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The axes of the sweep: the values of each, by its key."""
        return self.scenario.sweep.axes if self.scenario.sweep else {}


@dataclass(frozen=True)
class Cell:
    """A cell of a sweep.

    Attributes:
        number: From 0.
        values: The value of each axis, by its key.
        document: The scenario with these values; its text can be run by itself.
    """

    number: int
    values: Mapping[str, Any]
    document: Document

    @property
    def label(self) -> str:
        """The values as people read them; empty where there is no axis."""
        return ", ".join(f"{key} = {text_of(value)}" for key, value in self.values.items())


def read(path: FilePath | str) -> Document:
    """Reads a scenario file.

    Raises:
        ScenarioError: The file cannot be read, or what it says cannot run; every problem is listed.
    """
    path = FilePath(path)
    return parse(_read_text(path), str(path), path.parent)


def read_network(path: FilePath | str, here: str, there: str) -> Document:
    """Reads a scenario file of which the network is wanted, where nothing may happen yet.

    Args:
        path: The file.
        here: A host of it.
        there: Another one, with which something is to happen later.

    Raises:
        ScenarioError: As `read`.
    """
    path = FilePath(path)
    text = _read_text(path)
    try:
        return parse(text, str(path), path.parent)
    except ScenarioError as error:
        if not any(
            problem.key == "flows" and problem.message.startswith("is missing") for problem in error.problems
        ):
            raise
    # Behind the text, so that problems keep their places.
    ends = f'from = "{here}"\nto = "{there}"\napp = {{ kind = "ping", packets = "1 packets" }}\n'
    document = parse(f"{text}\n[[flows]]\n{ends}", str(path), path.parent)
    return replace(document, data={key: value for key, value in document.data.items() if key != "flows"})


def from_dict(data: Mapping[str, Any], source: str = "scenario", base: FilePath = FilePath()) -> Document:
    """A scenario built in Python: the same keys and texts as in a file.

    Raises:
        ScenarioError: As `read`; lines are those of the document that stands in the run's folder.
    """
    try:
        text = _engine.format_toml(json.dumps(data, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ScenarioError(source, [Problem(0, 0, "", f"is not a scenario: {error}")]) from None
    return parse(text, source, base)


def parse(text: str, source: str = "scenario", base: FilePath = FilePath()) -> Document:
    """Reads a scenario from a text; files that it refers to are looked for from `base`.

    Raises:
        ScenarioError: As `read`.
    """
    data, places, syntax = _engine.parse_toml(text)
    if syntax:
        raise ScenarioError(source, [_syntax_problem(text, data, places, *problem) for problem in syntax])
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        found = [(_path_of(line["loc"], data), str(line["msg"])) for line in error.errors()]
        problems = [*found, *_problems_elsewhere(data, [path for path, _ in found])]
        raise ScenarioError(source, _placed(problems, places)) from None
    plan, problems = _resolve_and_check(scenario, places, base)
    if not problems and scenario.sweep is not None and scenario.sweep.axes:
        problems = cells.check(data, scenario.sweep, partial(_resolve_cell, base))
    if problems:
        raise ScenarioError(source, _placed(problems, places))
    return Document(source, text, data, scenario, plan, base)


def _resolve_cell(base: FilePath, data: dict[str, Any]) -> tuple[Plan | None, list[tuple[Path, str]]]:
    """The plan of a cell, or what is wrong with it."""
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        return None, [(_path_of(line["loc"], data), str(line["msg"])) for line in error.errors()]
    plan, problems = _resolve_and_check(scenario, _places_of(data), base)
    return plan, problems


def _places_of(data: Any, path: Path = ()) -> _Places:
    """What a document that spells out the data has a place for; the places themselves are of no use."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(data, dict):
        inner = data.items()
    elif isinstance(data, list):
        inner = enumerate(data)
    found: _Places = {path: (0, 0)}
    for key, value in inner:
        found |= _places_of(value, (*path, key))
    return found


def _read_text(path: FilePath) -> str:
    def refuse(message: str, line: int = 0, column: int = 0) -> ScenarioError:
        return ScenarioError(str(path), [Problem(line, column, "", message)])

    try:
        with files.regular(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise refuse("there is no such file") from None
    except IsADirectoryError:
        raise refuse("is a directory: a scenario is a TOML file") from None
    except (OSError, ValueError) as error:
        raise refuse(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > MAX_BYTES:
        raise refuse(f"is larger than {_engine.format_size(MAX_BYTES)}: this is no scenario")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        byte = raw[error.start]
        raise refuse(f"is not UTF-8: byte {error.start} is 0x{byte:02x}", line, column) from None


def _syntax_problem(text: str, data: Any, places: _Places, line: int, column: int, message: str) -> Problem:
    """What the engine found, with the key if it can be told."""
    if "recurs" in message:
        return Problem(line, column, "", "is nested too deeply: a scenario has a few levels")
    if message == "duplicate key":
        rest = text.split("\n")[line - 1][column - 1 :]
        key = re.match(r"""[\w-]+|"(?:\\.|[^"\\])*"|'[^']*'""", rest)
        return Problem(line, column, "", f"{message}: {key[0]}" if key else message)
    # A value that has no place in a scenario was read as nothing, right after its key.
    before = [(place, path) for path, place in places.items() if (line, 0) < place <= (line, column)]
    path = max(before)[1] if before else ()
    for part in path:
        data = data[part]
    return Problem(line, column, dotted(path) if data is None else "", message)


def _path_of(loc: tuple[str | int, ...], data: Any) -> Path:
    """Where an error of the model stands in the data: pydantic's path also names the variants of unions."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        inside = isinstance(data, dict) and part in data
        if inside or (isinstance(data, list) and isinstance(part, int) and part < len(data)):
            data = data[part]
        elif index < len(loc) - 1 or not isinstance(data, dict):
            continue
        path.append(part)
    return tuple(path)


def _problems_elsewhere(data: dict[str, Any], faulty: Collection[Path]) -> list[tuple[Path, str]]:
    """Problems of meaning, dangling names above all, in a scenario that has faults of form.

    A file's problems are reported at once, so names are looked up though a value elsewhere is wrong: what is
    faulty is replaced by something harmless. Where that cannot be done, a name is not called wrong.
    """
    rest = _without_faults(data, faulty)
    try:
        _, problems = resolve(Scenario.model_validate(rest))
    except ValidationError:
        return []
    return problems


def _without_faults(data: dict[str, Any], faulty: Collection[Path]) -> dict[str, Any]:
    """Names and ends as they are given, everything else harmless."""
    rest: dict[str, Any] = {"name": "names", "topology": _skeleton(data.get("topology"))}
    hosts, flows = data.get("hosts"), data.get("flows")
    if isinstance(hosts, dict):
        # A host's table keeps its addresses, which must differ from those of others.
        rest["hosts"] = {
            name: {
                key: host[key]
                for key in ("addresses", "interfaces", "publish")
                if key in host and not _within(faulty, "hosts", name)
            }
            for name, host in hosts.items()
            if isinstance(host, dict)
        }
    if isinstance(flows, list):
        app = {"kind": "bulk", "size": "1 B"}
        keys = ("name", "from", "to", "via", "to_via", "count")
        rest["flows"] = [
            {key: flow[key] for key in keys if key in flow and not _within(faulty, "flows", index, key)}
            | {"app": app}
            for index, flow in enumerate(flows)
            if isinstance(flow, dict)
        ]
    return rest


def _within(faulty: Collection[Path], *place: str | int) -> bool:
    return any(path[: len(place)] == place for path in faulty)


def _skeleton(topology: Any) -> Any:
    """A topology whose links do nothing."""
    if not isinstance(topology, dict):
        return topology
    bare = {
        key: {} if key in {"link", "bottleneck", "access", "hop"} else value
        for key, value in topology.items()
    }
    for key in ("paths", "own"):
        if isinstance(topology.get(key), dict):
            bare[key] = {name: {} for name in topology[key]}
    links = topology.get("links")
    if isinstance(links, list):
        bare["links"] = [
            {key: link[key] for key in ("name", "ends") if key in link}
            for link in links
            if isinstance(link, dict)
        ]
    return bare


def _resolve_and_check(
    scenario: Scenario, places: Container[Path], base: FilePath
) -> tuple[Plan, list[tuple[Path, str]]]:
    plan, problems = resolve(scenario, base)
    if not problems:
        problems = list(_found(plan, places, base))
    return plan, problems


def _found(
    plan: Plan, places: Container[Path], base: FilePath, edges: bool = False
) -> Iterator[tuple[Path, str]]:
    """What the engine finds wrong with the plan, told of the scenario; of a file only the first fault.

    A key that the scenario leaves out is named at the nearest place that it has.
    """
    faulty: set[Path] = set()
    told: set[Path] = set()
    said: set[tuple[Path, str]] = set()
    traces = Traces(base, plan.files)
    for path, what in _engine.check(plan.json, edges=edges):
        if (narrow := narrow_link(plan.data, path)) is not None:
            place = origin_of(narrow[0], plan.origins, places)
            # Each end of each flow finds the same link too narrow.
            if place not in told:
                yield place, narrow[1]
            told.add(place)
            continue
        place = origin_of(path, plan.origins, places)
        told.add(place)
        source = source_of(path, plan.origins, traces)
        if source is None:
            left_out = dotted(unwritten(path, plan.origins, place))
            # Both directions may be made of the same keys.
            if (place, named := f"{left_out} {what}".lstrip()) not in said:
                yield place, named
            said.add((place, named))
        elif place not in faulty:
            faulty.add(place)
            yield place, f"{source}: {what}"


def _placed(problems: Iterable[tuple[Path, str]], places: _Places) -> list[Problem]:
    return [Problem(*locate(path, places), dotted(path), message) for path, message in problems]
