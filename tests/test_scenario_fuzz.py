"""Scenarios in which anything was replaced by anything are plans or refused; the search is `make fuzz`."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT

INPUTS = 100
"""Mutations of each scenario."""


def _fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scenario_fuzz", ROOT / "fuzz" / "scenario.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = _fuzz()


@pytest.mark.parametrize("path", FUZZ.SEEDS, ids=lambda path: path.stem)
def test_a_scenario_and_what_is_made_of_it_are_plans_or_refused(path: Path, tmp_path: Path):
    text = path.read_text()
    FUZZ.check(text)
    rng = random.Random(path.name)
    for _ in range(INPUTS):
        mutation = FUZZ.mutate([text], rng)
        # Kept in case that it does not hold.
        (tmp_path / "input.toml").write_text(mutation, newline="")
        FUZZ.check(mutation)


def test_the_mutations_are_of_both_kinds():
    rng = random.Random(1)
    texts = [path.read_text() for path in FUZZ.SEEDS]
    accepted = [FUZZ.check(FUZZ.mutate(texts, rng)) for _ in range(200)]
    assert 10 < sum(accepted) < 190
