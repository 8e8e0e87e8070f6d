"""Scenarios in which anything was replaced by anything: refused with a place, or a plan.

`python fuzz/scenario.py --seconds 60` looks for what does not hold, `tests/test_scenario_fuzz.py` tries a
fixed number of inputs. What is found is written to fuzz/found/, and belongs into fuzz/corpus/scenario/ and a
named test.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from voxpath import _engine
from voxpath.scenario import load
from voxpath.scenario.problems import ScenarioError

ROOT = Path(__file__).parent.parent
SEEDS = sorted(
    [*(ROOT / "scenarios").glob("*.toml"), *(ROOT / "fuzz" / "corpus" / "scenario").glob("*.toml")]
)

NUMBERS = [0, 1, -1, 2, 65_535, 65_536, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 0.5, -0.0, 1e-300, 1e300]
TEXTS = [
    *("", " ", "0", "1", "-1 ms", "0 s", "0 ms", "1 ns", "0.1 ns", "500000 h", "500001 h", "1e30 s", "ms"),
    *("0 bit/s", "1 bit/s", "100 Tbit/s", "101 Tbit/s", "1 B", "0 B", "1000 TB", "1001 TB", "0 %", "101 %"),
    *("nan", "inf", "100 packets", "0 packets", "99999999999999999999 packets", "client", "server", "linux"),
    *("10.0.0.1", "::1", "255.255.255.255", "fd00::1%eth0", "1.2.3", "tcp", "udp", "bulk", "pipe", "star"),
    *(
        "a" * 300,
        "\u0000",
        "é",
        "\u202e",
        "名前",
        "../x",
        "x y",
        "[",
        "flows[0]",
        "topology.link.rate",
        "\r\n",
    ),
]
LINES = [
    "[",
    "]",
    "=",
    "[[flows]]",
    "[topology]",
    "[hosts.client]",
    "\x00",
    "\t",
    '"""',
    "#",
    "}",
    ",",
    "\\u",
]


def check(text: str) -> bool:
    """Whether the text is a scenario that can run.

    Raises:
        AssertionError: What it was refused with is of no use, or the plan is none.
        Exception: Whatever went wrong beyond; nothing but `ScenarioError` may.
    """
    lines = text.split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            document = load.parse(text)
        except ScenarioError as error:
            assert error.problems, "refused for no reason"
            for problem in error.problems:
                assert problem.message, f"says nothing: {problem!r}"
                assert 1 <= problem.line <= len(lines) + 1, f"no such line: {problem!r}"
                width = len(lines[min(problem.line, len(lines)) - 1])
                assert 1 <= problem.column <= width + 2, f"no such column: {problem!r}"
            return False
        assert _engine.check(document.plan.json) == []
        assert json.loads(document.plan.json)["name"] == document.data["name"]
        first = next(iter(document.cells()))
        assert _engine.check(first.document.plan.json) == []
    return True


def mutate(texts: list[str], rng: random.Random) -> str:
    """A scenario somewhat like one or two of these."""
    text = rng.choice(texts)
    if rng.random() < 0.75:
        data, _, faults = _engine.parse_toml(text)
        if not faults:
            for _ in range(rng.choice([1, 1, 2, 3, 8])):
                _edit(data, texts, rng)
            try:
                text = _engine.format_toml(json.dumps(data, allow_nan=False))
            except ValueError:
                return text
    if rng.random() < 0.4:
        text = _edit_text(text, rng)
    return text


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _edit(data: dict[str, Any], texts: list[str], rng: random.Random) -> None:
    """Changes one place of a scenario."""
    places = _places(data)[1:]
    if not places:
        return
    *way, key = rng.choice(places)
    around = _at(data, tuple(way))
    match rng.randrange(10):
        case 0:
            del around[key]
        case 1 if isinstance(around, dict):
            around[_misspelt(str(key), rng)] = around.pop(key)
        case 1:
            around.append(around[key])
        case 2:
            other, _, faults = _engine.parse_toml(rng.choice(texts))
            if not faults:
                around[key] = _at(other, rng.choice(_places(other)))
        case 3:
            around[key] = json.loads(json.dumps(_at(data, rng.choice(places))))
        case 4:
            around[key] = rng.choice(NUMBERS)
        case 5:
            around[key] = rng.choice([True, False, [], {}, [{}], [[]], {"": {}}, {"kind": around[key]}])
        case 6:
            around[key] = [around[key]] * rng.choice([1, 2, 3])
        case _:
            around[key] = rng.choice(TEXTS)


def _misspelt(key: str, rng: random.Random) -> str:
    return rng.choice([key + "s", key[1:], key.upper(), "", key + "." + key, rng.choice(TEXTS)])


def _edit_text(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    until = min(len(text), at + rng.choice([0, 1, 2, 10, 80]))
    match rng.randrange(4):
        case 0:
            return text[:at] + text[until:]
        case 1:
            return text[:until] + text[at:until] + text[until:]
        case 2:
            return text[:at] + rng.choice(LINES + TEXTS) + text[until:]
        case _:
            lines = text.split("\n")
            lines.insert(rng.randrange(len(lines) + 1), rng.choice([*LINES, *lines]))
            return "\n".join(lines)


def main() -> int:
    """Looks until the time is up, or something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    arguments = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if arguments.seed is None else arguments.seed
    rng = random.Random(seed)
    texts = [path.read_text() for path in SEEDS]
    print(f"fuzz: scenario for {arguments.seconds:g} s, seed {seed}")
    until = time.monotonic() + arguments.seconds
    inputs = accepted = 0
    while time.monotonic() < until:
        text = mutate(texts, rng)
        inputs += 1
        try:
            accepted += check(text)
        except Exception:
            found = ROOT / "fuzz" / "found" / f"scenario-{seed}-{inputs}.toml"
            found.parent.mkdir(exist_ok=True)
            found.write_text(text, newline="")
            traceback.print_exc()
            print(f"fuzz: scenario does not hold: {found.relative_to(ROOT)}")
            return 1
    print(f"fuzz:   {inputs} scenarios, {accepted} of them could run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
