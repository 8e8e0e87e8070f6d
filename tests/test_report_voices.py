"""The view of calls and voice requests over time, of any report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser import browse
from voxpath.document import Curve, Plot, Together
from voxpath.report.voices import voices_in

CALL = """
name = "a lossy call"
duration = "10 s"
[topology]
kind = "pipe"
link = { delay = { kind = "normal", mean = "50 ms", deviation = "20 ms" }, loss = "5 %" }
[[flows]]
name = "call"
[flows.app]
kind = "call"
audio = { rate = "20 kbit/s" }
buffer = { kind = "fixed", delay = "40 ms" }
redundancy = 1
"""
VOICE = """
name = "two requests"
[topology]
kind = "pipe"
link = { rate = "5 Mbit/s", delay = "25 ms" }
[[flows]]
name = "assistant"
[flows.app]
kind = "voice"
blocks = 9
block = "2475 B"
interval = "300 ms"
partial = "100 B"
answer = "750 B"
requests = 2
pause = "1 s"
"""
PUSH = """
name = "updates"
[topology]
kind = "pipe"
link = { delay = "25 ms" }
[[flows]]
name = "news"
app = { kind = "push", way = "streaming", updates = [["1 s", "100 B"], ["2 s", "100 B"], ["3 s", "5 kB"]] }
"""


def run(text: str, voxpath: Any, tmp_path: Path) -> Path:
    (tmp_path / "asked.toml").write_text(text)
    done = voxpath("run", "asked.toml")
    assert done.code == 0, done.err
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def curve(view: Together, plot: str, name: str) -> Curve:
    (found,) = [one for one in view.plots if one.title == plot]
    return next(one for one in found.curves if one.name == name)


def names(plot: Plot) -> set[str]:
    return {one.name for one in plot.curves}


def test_every_frame_of_a_call_stands_where_it_was_captured(voxpath: Any, tmp_path: Path):
    folder = run(CALL, voxpath, tmp_path)
    frames = pl.read_parquet(folder / "frames.parquet")
    view = next(one for one in voices_in(folder) if "its client" in one.title and "audio" in one.title)
    mine = frames.filter(pl.col("end") == "client", pl.col("media") == "audio")
    fates = {"late": "late", "lost": "lost"}
    for name, fate in fates.items():
        assert len(curve(view, "delay", name).x) == mine.filter(fate=fate).height > 0
        assert curve(view, "missing so far", name).y[-1] == mine.filter(fate=fate).height
    whole = mine.filter(fate="complete")
    repaired = whole.filter(pl.col("repaired") > 0)
    assert len(curve(view, "delay", "repaired in time").x) == repaired.height > 0
    assert len(curve(view, "delay", "complete in time").x) == whole.height - repaired.height > 0
    waits = (whole["played_ns"] - whole["captured_ns"]) / 1e6
    assert list(curve(view, "delay", "capture to playout").y) == pytest.approx(waits.to_list())
    buffered = (whole["played_ns"] - whole["frame_complete_ns"]) / 1e6
    assert list(curve(view, "jitter buffer", "time in the jitter buffer").y) == pytest.approx(
        buffered.to_list()
    )
    # What came too late came after it was due.
    due = max(curve(view, "delay", "capture to playout").y, key=lambda y: y or 0)
    assert min(curve(view, "delay", "late").y, key=lambda y: y or 0) > due - 1e-6


def test_each_block_of_a_voice_request_is_there_with_its_answer(voxpath: Any, tmp_path: Path):
    folder = run(VOICE, voxpath, tmp_path)
    (view,) = voices_in(folder)
    spoken, answered = (curve(view, "blocks so far", name) for name in ("spoken", "answered"))
    assert len(spoken.x) == len(answered.x) == 18
    assert all(one <= other for one, other in zip(spoken.x, answered.x, strict=True))
    requests = pl.read_parquet(folder / "requests.parquet")
    took = (requests["completed_ns"] - requests["last_byte_sent_ns"]) / 1e6
    assert list(curve(view, "delay", "answers").y) == pytest.approx(took.to_list())
    assert len(curve(view, "delay", "partial answers").x) == 16


def test_messages_without_requests_are_told_as_such(voxpath: Any, tmp_path: Path):
    (view,) = voices_in(run(PUSH, voxpath, tmp_path))
    assert [plot.title for plot in view.plots] == ["messages so far", "delay"]
    assert names(view.plots[0]) == {"sent", "received"}
    assert len(view.plots[1].curves[0].x) == 3


def test_a_flow_without_any_of_this_has_no_view(voxpath: Any, tmp_path: Path):
    bulk = VOICE.split("[[flows]]", maxsplit=1)[0] + '[[flows]]\napp = { kind = "bulk", size = "10 kB" }\n'
    assert voices_in(run(bulk, voxpath, tmp_path)) == []


@pytest.mark.parametrize(("text", "title"), [(CALL, "each frame"), (VOICE, "each block and its answer")])
def test_reports_draw_it(text: str, title: str, voxpath: Any, tmp_path: Path):
    (tmp_path / "asked.toml").write_text(text)
    done = voxpath("report", "asked.toml", "-o", "page.html")
    assert done.code == 0, done.err
    script = f"""
        const shown = [...document.querySelectorAll(".together")]
          .filter((view) => view.textContent.includes({title!r}));
        shown[0].scrollIntoView();
        await pause();
        return shown.map((view) => view.querySelectorAll("canvas").length);
    """
    found = browse((tmp_path / "page.html").read_text("utf-8"), script, tmp_path)
    assert found
    assert found[0] >= 2
