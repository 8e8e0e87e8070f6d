"""The result store: a run is there as a whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conftest import digests_of
from voxpath.results import digests
from voxpath.results.identity import Identity, Observe
from voxpath.results.store import Store, StoreError

VALID = {"verdict.json": b'{"valid":true}', "flows.parquet": b"data"}


def test_a_kept_run_is_found_and_nothing_else_is_there(tmp_path: Path):
    store = Store(tmp_path / "runs")
    assert store.find("a") is None
    folder = store.keep("a", {**VALID, "captures/client.pcapng": b"packets"})
    assert store.find("a") == folder
    assert (folder / "captures" / "client.pcapng").read_bytes() == b"packets"
    assert [path.name for path in store.root.iterdir()] == ["a"]


def test_an_invalid_run_is_kept_but_not_finished(tmp_path: Path):
    store = Store(tmp_path)
    folder = store.keep("a", {"verdict.json": b'{"valid":false}'})
    assert folder.is_dir()
    assert store.find("a") is None


def test_a_run_replaces_the_one_before_as_a_whole(tmp_path: Path):
    store = Store(tmp_path)
    store.keep("a", {**VALID, "old": b""})
    folder = store.keep("a", {**VALID, "new": b""})
    assert {path.name for path in folder.iterdir()} == {*VALID, "new", digests.FILE}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_run_that_cannot_be_written_leaves_nothing(tmp_path: Path):
    store = Store(tmp_path)
    with pytest.raises(StoreError):
        store.keep("a", {**VALID, "x" * 300: b""})
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_cleaned_and_a_live_writer_is_not(tmp_path: Path):
    code = f"""
import os, sys, threading
from pathlib import Path
from voxpath.results.store import Store
with Store(Path({str(tmp_path)!r})).partial("b") as partial:
    (partial / "half").write_bytes(b"x")
    print("writing", flush=True)
    threading.Event().wait()
"""
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    with writer.stdout:
        assert writer.stdout.readline() == "writing\n"
        store = Store(tmp_path)
        assert store.clean() == 0
        assert len(list(tmp_path.iterdir())) == 1
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    assert store.clean() == 1
    assert list(tmp_path.iterdir()) == []


def test_writers_of_one_run_do_not_disturb_each_other(tmp_path: Path):
    store = Store(tmp_path)
    failures: list[BaseException] = []

    def keep() -> None:
        try:
            for _ in range(100):
                store.keep("a", VALID)
                store.clean()
        except BaseException as error:  # noqa: BLE001 - reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=keep) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    written = {**VALID, digests.FILE: digests_of(VALID)}
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == written
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    "other",
    [
        Identity("{}", "sim", 0, "build"),
        Identity("plan", "real", 0, "build"),
        Identity("plan", "sim", 1, "build"),
        Identity("plan", "sim", 0, "other"),
        Identity("plan", "sim", 0, "build", Observe(tcp=True)),
        Identity("plan", "sim", 0, "build", files={"a.wav": "00"}),
    ],
)
def test_everything_that_bytes_depend_on_is_in_the_name(other: Identity):
    assert other.name != Identity("plan", "sim", 0, "build").name
