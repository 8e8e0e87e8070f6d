"""Calls by their counts alone: the same as calls that are decoded, and as many as asked for."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from test_voice_call import BAD, PERFECT
from voxpath.scenario.one_link import link
from voxpath.voice.call import call, delay
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.many import Counted, many
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import judge
from voxpath.voice.call.network import one_link
from voxpath.voice.call.player import MISSING
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read
from voxpath.voice.call.transports import TRANSPORTS

ENCODED = CODECS["g711"].encode(read(None), Wish())


@pytest.mark.parametrize("over", TRANSPORTS)
def test_counts_are_those_of_a_call_that_is_decoded(over: str, tmp_path: Path):
    made = call(BAD, over=over, codec="g711", seed=4, out=tmp_path)
    (talk,) = made.talks
    (counted,) = many(BAD, ENCODED, [0], over=over, seed=4)
    assert counted.judged == judge(Evidence(talk, made.codec, False))
    assert counted.delay_ms == pytest.approx(delay.of(talk).total_ms)
    assert counted.concealed == talk.heard.count(*MISSING) / int(talk.sent.sum()) > 0


def test_replications_differ_and_do_not_depend_on_how_many_are_asked_for():
    several = many(BAD, ENCODED, range(6), seed=4)
    assert len({one.r for one in several}) > 1
    assert many(BAD, ENCODED, [3, 1], seed=4) == [several[3], several[1]]


def test_nothing_is_concealed_on_a_perfect_network_and_all_without_one():
    (perfect,) = many(PERFECT, ENCODED, [0])
    assert perfect.judged is not None
    assert (perfect.concealed, perfect.judged.of_loss) == (0, 0)
    (nothing,) = many(one_link({"loss": "100 %"}, "nothing"), ENCODED, [0])
    assert nothing.concealed == 1
    assert (nothing.judged, nothing.r, nothing.mos) == (None, 0, 1)
    assert nothing.delay_ms is None
    (unsent,) = many(one_link({"loss": "100 %"}, "nothing"), ENCODED, [0], over="mqtt")
    assert (unsent.judged, unsent.delay_ms, unsent.concealed) == (None, None, None)


@pytest.fixture
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("voice_run", ROOT / "benches/voice/run.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_the_page_of_one_voice_has_every_transport_over_the_kernel(
    bench: Any, monkeypatch: pytest.MonkeyPatch
):
    asked = []
    monkeypatch.setattr(bench, "over_the_kernel", lambda name, over: asked.append((name, over)) or "90.0")
    runs = [Counted(None, None, None)]
    cells = {(name, over): runs for name in bench.CHECKED for over in TRANSPORTS}
    lines = bench.checks(cells)
    assert asked == list(cells)
    assert lines[0] == "| network | rtp | tcp | websocket | mptcp | mqtt |"
    assert lines[2] == f"| {bench.CHECKED[0]} |" + " 90.0; 0.0 to 0.0 |" * len(TRANSPORTS)


def test_the_page_of_one_voice_averages_the_delays_that_there_are(bench: Any):
    never, slow, slower = (Counted(None, ms, 1.0) for ms in (None, 100.0, 200.0))
    assert bench.delay([slow, never, slower]) == "150 ms"
    assert bench.delay([never]) == "no frame came"


def test_a_listener_that_loses_its_connection_does_not_hold_up_the_call():
    table = link({"": {"delay": "40 ms", "loss": "5 %", "burst": "5 packets"}, "up": {}, "down": {}})
    bursts = one_link(table, "bursts")
    runs = many(bursts, ENCODED, range(30), over="mqtt", buffer="100 ms", seed=1)
    assert max(run.concealed for run in runs) > 0.5


def test_more_loss_is_not_better_on_the_whole():
    means = []
    for loss in ("0.5 %", "3 %", "10 %"):
        runs = many(one_link({"delay": "20 ms", "loss": loss}, loss), ENCODED, range(10))
        means.append(np.mean([run.r for run in runs]))
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"codec": "opus"}, "G.113 has"),
        ({"buffer": "adaptive"}, "keeps its delay"),
        ({"over": "pigeon"}, "no transport"),
    ],
)
def test_what_cannot_be_counted_is_refused(settings: dict[str, str], told: str):
    with pytest.raises(CallError, match=told):
        many(PERFECT, ENCODED, [0], **settings)


def test_a_process_that_judges_imports_nothing_that_makes_calls():
    script = (
        "import sys; import voxpath.voice.call.verdict, voxpath.voice.call.echo; "
        "heavy = ('polars', 'pydantic', 'scipy.signal', 'voxpath.scenario'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
