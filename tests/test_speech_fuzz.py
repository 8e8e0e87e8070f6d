"""Sessions in which anybody says anything at any moment; the search is `make fuzz`."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from types import ModuleType

import pytest

from conftest import ROOT


def _fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("session_fuzz", ROOT / "fuzz" / "session.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(ROOT / "fuzz"))
    # Where its data classes look for their types.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FUZZ = _fuzz()


@pytest.mark.parametrize(("recogniser", "rounds"), [("counting", 25), ("pocketsphinx", 1)])
def test_who_stays_has_a_status_and_no_worker_ends(recogniser: str, rounds: int):
    # Not `run`: who still sends and has its answer is read from for seconds, by a task of the library.
    reached = asyncio.run(FUZZ.rounds(FUZZ.RECOGNISERS[recogniser], "suite", iter(range(rounds))))
    assert sum(reached.values()) == rounds * FUZZ.CLIENTS
    if rounds > 1:
        # Who is served and who is refused.
        assert min(reached[kind] for kind in ("status 0", "status 5")) > rounds
