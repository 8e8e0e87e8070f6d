"""What is in a store: its runs by scenario and backend, and the keys in which the cells of a sweep differ."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath import _engine, files
from voxpath.results.digests import ENVIRONMENT
from voxpath.results.identity import FORMAT
from voxpath.results.packs import Packs
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MOST_CELLS = 10_000
"""Of which it is looked in what they differ."""


@dataclass
class Listed:
    """Runs of one scenario by one backend.

    Attributes:
        name: Of the scenario.
        backend: Who made them.
        runs: Names of the runs, by the digest of their plan.
        invalid: How many are not valid.
        last: When the last began, in UTC, as ISO 8601; empty where nobody knows.
        scenarios: The text of each cell, by the digest of its plan.
    """

    name: str
    backend: str
    runs: dict[str, list[str]] = field(default_factory=dict)
    invalid: int = 0
    last: str = ""
    scenarios: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Of all runs."""
        return sum(map(len, self.runs.values()))

    @property
    def values(self) -> dict[str, dict[str, Any]]:
        """The keys in which the cells differ, with each cell's value, by the digest of its plan."""
        if not 1 < len(self.scenarios) <= MOST_CELLS:
            return {}
        flat: dict[str, dict[str, Any]] = {}
        for plan, text in self.scenarios.items():
            data = _engine.parse_toml(text)[0]
            # A scenario that was run without its sweep still has it.
            data.pop("sweep", None)
            flat[plan] = dict(_flat(data))
        keys = dict.fromkeys(key for cell in flat.values() for key in cell)
        return {
            key: {plan: cell.get(key) for plan, cell in flat.items()}
            for key in keys
            if len({json.dumps(cell.get(key), sort_keys=True) for cell in flat.values()}) > 1
        }


@dataclass(frozen=True)
class Contents:
    """What is in a store.

    Attributes:
        scenarios: Its runs, what was made last first.
        others: How many folders of runs another version of voxpath has kept, which this one does not read.
    """

    scenarios: list[Listed]
    others: int


def listed(root: Path) -> list[Listed]:
    """Everything in a store that this version reads, what was made last first.

    Raises:
        StoreError: It cannot be read.
    """
    return contents(root).scenarios


def contents(root: Path) -> Contents:
    """What is in a store.

    Raises:
        StoreError: It cannot be read, or has packs of another version.
    """
    found: dict[tuple[str, str], Listed] = {}
    others = 0
    if not root.is_dir():
        raise StoreError(f"{root} is no directory of runs")
    for folder in sorted(entry for entry in root.iterdir() if (entry / "verdict.json").is_file()):
        told = {name: _object(folder / name) for name in ("identity.json", "verdict.json", "plan.json")}
        identity = told["identity.json"]
        if identity.get("format") != FORMAT:
            others += 1
            continue
        one = _of(found, str(told["plan.json"].get("name", "")), str(identity.get("backend", "")))
        plan = str(identity.get("plan_sha256", ""))
        one.runs.setdefault(plan, []).append(folder.name)
        one.invalid += told["verdict.json"].get("valid") is not True
        one.last = max(one.last, _started(folder))
        if plan not in one.scenarios:
            one.scenarios[plan] = _text(folder / "scenario.toml")
    _packed(root, found)
    return Contents(sorted(found.values(), key=lambda one: one.last, reverse=True), others)


def _packed(root: Path, found: dict[tuple[str, str], Listed]) -> None:
    packs = Packs(root)
    # First: a sweep that goes on may add plans until these are read, and takes none away.
    cells = packs.overview().group_by("plan_sha256", "backend", maintain_order=True)
    names = {
        digest: (str(json.loads(plan)["name"]), text.decode())
        for digest, plan, text in packs.plans().iter_rows()
    }
    for plan, backend, runs, last in cells.agg("name", pl.col("started").max()).iter_rows():
        name, text = names[plan]
        one = _of(found, name, backend)
        one.runs.setdefault(plan, []).extend(runs)
        one.scenarios.setdefault(plan, text)
        one.last = max(one.last, last or "")


def _of(found: dict[tuple[str, str], Listed], name: str, backend: str) -> Listed:
    return found.setdefault((name, backend), Listed(name, backend))


def _object(path: Path) -> Mapping[str, Any]:
    try:
        told: Any = json.loads(files.read(path))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from None
    if not isinstance(told, dict):
        raise StoreError(f"{path} cannot be read: it is no object")
    return told


def _started(folder: Path) -> str:
    try:
        return str(_object(folder / ENVIRONMENT).get("started", ""))
    except StoreError:
        # It may be lost without harm to a run.
        return ""


def _text(path: Path) -> str:
    try:
        return files.read(path).decode()
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from None


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Dotted keys, as a sweep names them, and what stands there; a table with a kind is one value."""
    # The topology has a kind, too, and is more than one value.
    if isinstance(value, dict) and ("kind" not in value or "." not in path):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and all(isinstance(inner, dict) for inner in value):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{index}]")
    else:
        yield path, value
