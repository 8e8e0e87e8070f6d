"""Files that people name: only regular ones are opened, and a scenario's lie below it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import SMALL
from voxpath import files
from voxpath.voice.speech.audio_files import AudioError, audio_of

TRACE = SMALL.replace('rate = "10 Mbit/s"', 'rate = { kind = "trace", file = "TRACE" }')


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """Nobody ever writes to it."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        "run {fifo}",
        "sweep {fifo}",
        "compare {fifo}",
        "report {fifo}",
        "shell {fifo} --host client",
        "run {small} --formulas {fifo}",
        "tcp-script {fifo}",
        "aec --far {fifo} --mic {fifo} -o out.wav",
        "vowels measure {fifo} {fifo}",
        "vowels compare {fifo} {fifo} {fifo}",
        "speech stream {fifo}",
        "speech utterance {fifo} -o out.toml",
        "speech serve --port 0 --workers 0 --certificate {fifo}",
        "speech status --ca {fifo}",
    ],
)
def test_a_fifo_is_refused_and_not_waited_for(command: str, fifo: Path, small: Path, voxpath):
    called = voxpath(*command.format(fifo=fifo, small=small).split())
    assert called.code == 2
    assert "is no regular file" in called.err, called.err
    assert str(fifo) in called.err


def scenario(folder: Path, trace: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(TRACE.replace("TRACE", trace))
    return path


def test_a_trace_is_a_regular_file(fifo: Path, voxpath, tmp_path: Path):
    called = voxpath("run", scenario(tmp_path, fifo.name))
    assert called.code == 2
    assert "'fifo' cannot be read: is no regular file" in called.err


@pytest.mark.parametrize("link", ["trace", "folder/trace"])
def test_no_symbolic_link_leads_a_trace_out_of_the_scenarios_folder(link: str, voxpath, tmp_path: Path):
    secret = tmp_path / "elsewhere" / "trace"
    secret.parent.mkdir()
    secret.write_text("root:$6$secret\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    # The file itself is a link, or a folder above it.
    place = inside / link.split("/", maxsplit=1)[0]
    place.symlink_to(secret if link == "trace" else secret.parent)
    called = voxpath("run", scenario(inside, link))
    assert called.code == 2
    assert f"'{link}' cannot be read: lies outside of" in called.err
    assert "secret" not in called.err


def test_symbolic_links_within_the_scenarios_folder_are_followed(tmp_path: Path):
    (tmp_path / "inside" / "traces").mkdir(parents=True)
    (tmp_path / "inside" / "traces" / "july").write_bytes(b"12\n")
    (tmp_path / "inside" / "latest").symlink_to("traces/july")
    (tmp_path / "here").symlink_to("inside")
    with files.regular_below(tmp_path / "here", "latest") as file:
        assert file.read() == b"12\n"


def test_a_loop_of_symbolic_links_is_told(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        files.regular_below(tmp_path, "loop")


def test_what_becomes_a_fifo_before_it_is_opened_is_not_waited_for(
    tmp_path: Path, fifo: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_bytes(b"")
    honest = (tmp_path / "file").stat()
    monkeypatch.setattr(os, "stat", lambda *_, **__: honest)
    with pytest.raises(OSError, match="is no regular file"):
        files.regular(fifo)


def test_the_transcript_beside_a_recording_is_a_text(tmp_path: Path):
    (tmp_path / "a.wav").write_bytes(b"")
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(AudioError, match=r"a\.wav: 'utf-8' codec"):
        audio_of(str(tmp_path / "a.wav"))
