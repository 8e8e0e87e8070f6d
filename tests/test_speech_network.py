"""The service across an emulated network: what is understood is what is understood without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import speech_browser
from conftest import PATIENCE_S, process
from voxpath.voice.speech.samples import samples

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")

SPEECH = (sys.executable, "-m", "voxpath", "speech")
SAID = ("sample:cards/001", "sample:cards/003")


def streamed(
    server: str, cwd: Path, *, behind: tuple[str, ...] = (), more: tuple[str, ...] = ()
) -> list[dict]:
    command = [*behind, *SPEECH, "stream", *SAID, "--server", server, "--save", "records.json", *more]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((cwd / "records.json").read_text())


def test_transcripts_are_the_same_across_a_network_by_both_protocols(tmp_path: Path):
    wait = ("--workers", "1", "--wait", str(PATIENCE_S))
    with process("speech", "serve", "--port", "0", *wait, cwd=tmp_path) as serving:
        try:
            port = serving.stdout.readline().strip().rpartition(":")[2]
            link = ("--delay", "60 ms", "--loss", "0.3 %", "--rate", "10 Mbit/s", "--reach", port)
            behind = (sys.executable, "-m", "voxpath", "exec", *link, "--")
            patient = ("--unpaced",)
            near = streamed(f"ws://127.0.0.1:{port}", tmp_path, more=patient)
            far = streamed(f"ws://machine:{port}", tmp_path, behind=behind)
            vosk = streamed(f"ws://machine:{port}", tmp_path, behind=behind, more=("--protocol", "vosk"))
        finally:
            serving.terminate()
            serving.communicate()
    assert [one["transcript"] for one in near] == ["ten of clubs", "seven of clubs"]
    for records in (far, vosk):
        assert [one["transcript"] for one in records] == [one["transcript"] for one in near]
    # A round trip of 120 ms for the WebSocket, after that of TCP.
    assert min(one["connected_s"] for one in far) >= 0.24
    for one in far:
        at = [result["at_s"] for result in one["results"]]
        assert at == sorted(at)
        assert one["results"][-1]["final"]
        # A round trip is 120 ms; the result's way back is half of it.
        assert one["latency_s"] >= 0.12


AGREE_S = 0.02
"""For a frame that nobody was late to note; on a busy machine that is one of many."""


def test_chromium_on_the_emulated_host_streams_across_the_network_and_notes_the_times_that_we_note(
    tmp_path: Path,
):
    wait = ("--workers", "1", "--wait", str(PATIENCE_S))
    with process("speech", "serve", "--port", "0", *wait, cwd=tmp_path) as serving:
        try:
            port = serving.stdout.readline().strip().rpartition(":")[2]
            seen = speech_browser.across(port, samples("sample:cards/005")[0].path, tmp_path)
        finally:
            serving.terminate()
            serving.communicate()
    page, devtools, tap = seen["page"], seen["devtools"], seen["tap"]
    assert "seven of hearts" in page.text
    # Four blocks a second, paced, each a frame; results in order, the last one after the last audio.
    assert len(tap.sent) >= 12
    assert tap.came == sorted(tap.came)
    assert tap.came[-1] > tap.sent[-1]
    # DevTools notes what is sent before the link does, and what comes after it, however late either is.
    sent, came = speech_browser.later(tap, devtools)
    assert 0 < min(sent) - max(came) < AGREE_S
    # The page notes every frame after DevTools: at once, unless it is held up.
    sent, came = speech_browser.later(page, devtools)
    soonest = [min(part) for part in (sent[:6], sent[6:], came)]
    assert max(soonest) - min(soonest) < AGREE_S
