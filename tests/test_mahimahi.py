"""`voxpath exec --trace` beside the simulator and what mm-link makes of a trace, second by second."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import ROOT

SECONDS = 8


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches" / "mahimahi")
    import importlib.util

    spec = importlib.util.spec_from_file_location("mahimahi_run", ROOT / "benches/mahimahi/run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "mahimahi_run", module)
    spec.loader.exec_module(module)
    return module


def test_the_simulator_delivers_what_the_publication_says(bench, tmp_path: Path):
    trace = tmp_path / "drawn.trace"
    trace.write_text(bench.cellular(SECONDS, 7))
    expected = bench.modelled(trace, SECONDS)
    assert max(expected) > 2 * min(expected) > 0, "the rate varies"
    assert bench.worst(bench.simulated(trace, SECONDS, tmp_path), expected) <= bench.WITHIN


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")
def test_exec_delivers_what_the_simulator_does(bench, tmp_path: Path):
    trace = ROOT / "scenarios/traces/ride.trace"
    sim = bench.simulated(trace, SECONDS, tmp_path)
    # Packets leave the link by the emulated clock, so a busy machine changes nothing as long as some wait.
    assert bench.worst(bench.behind(trace, SECONDS, tmp_path).left, sim) <= bench.WITHIN
    assert sum(sim) > 500
