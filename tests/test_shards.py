"""Runs that come from workers which do not see the store: with their answers, and through an object store."""

from __future__ import annotations

import gzip
import io
import os
import random
import secrets
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import obstore
import pytest
from distributed import Client
from obstore.store import S3Store

from conftest import PATIENCE_S, ROOT, SMALL, contents
from processes import Tool, until
from test_cluster import Cluster, started
from test_packs import tasks as packable
from voxpath import _engine
from voxpath.results.problems import StoreError
from voxpath.sweeps.shards import Courier, Shard, shards_of

SERVER = ROOT / ".stamps" / "objects" / "bin" / "moto_server"
MANY = 200


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Where a server of objects listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    popen = subprocess.Popen(
        [SERVER, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers() -> bool:
        assert popen.poll() is None
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    until(answers)
    yield f"http://127.0.0.1:{port}"
    popen.kill()
    popen.wait()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of its own, which commands and workers may use."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"runs-{secrets.token_hex(8)}"
    made = subprocess.run(
        ["curl", "-sS", "-f", "-X", "PUT", f"{server}/{name}"], check=True, capture_output=True
    )
    assert not made.stderr
    return name


def objects(bucket: str) -> list[str]:
    return [each["path"] for some in obstore.list(S3Store(bucket)) for each in some]


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL + '[sweep]\n"topology.link.loss" = ["0 %", "2 %"]\nreplications = 4\n')
    return path


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "long.toml"
    path.write_text(SMALL + f"[sweep]\nreplications = {MANY}\n")
    return path


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Starts clusters whose workers have a file system of their own at the place of the stores."""
    (tmp_path / "stores").mkdir()
    (tmp_path / "elsewhere").mkdir()
    made = []

    def start(size: str = "50%") -> Cluster:
        own = f"mount -t tmpfs -o size={size} none {tmp_path / 'stores'}"
        command = f'{own} && export TMPDIR={tmp_path / "stores"} && exec "$@"'
        wrapper = ["unshare", "--map-root-user", "--mount", "sh", "-c", command, "sh"]
        made.append(started(tmp_path / "elsewhere", *wrapper))
        return made[-1]

    yield start
    for cluster in made:
        if cluster.popen.poll() is None:
            cluster.popen.communicate(timeout=PATIENCE_S)


def test_workers_that_do_not_see_the_store_send_its_bytes_with_their_answers(
    away, voxpath, swept: Path, tmp_path: Path
):
    arguments = ["sweep", swept, "--out"]
    assert voxpath(*arguments, "here").code == 0
    called = voxpath(*arguments, "stores/runs", "--dask", away().address, "--shards", "return")
    assert called.code == 0, called.err
    assert contents(tmp_path / "stores" / "runs") == contents(tmp_path / "here")


def test_runs_with_folders_come_through_an_object_store_that_is_empty_afterwards(
    away, voxpath, swept: Path, tmp_path: Path, bucket: str
):
    arguments = ["sweep", swept, "--observe", "tcp", "--capture", "client", "--out"]
    assert voxpath(*arguments, "here").code == 0
    where = ["--dask", away().address, "--shards", f"s3://{bucket}/some/where"]
    called = voxpath(*arguments, "stores/runs", *where)
    assert called.code == 0, called.err
    assert contents(tmp_path / "stores" / "runs") == contents(tmp_path / "here")
    assert objects(bucket) == []


def test_three_of_four_workers_that_are_killed_change_no_byte(
    away, voxpath, long: Path, tmp_path: Path, bucket: str
):
    """At random moments, in the midst of whatever they do."""
    chance = random.Random()
    cluster = away()
    cluster.scale(4)
    where = ["--dask", cluster.address, "--shards", f"s3://{bucket}"]
    # Outcomes come in batches, so the command halts while workers make the next ones.
    tool = Tool(tmp_path, "sweep", long, "--out", "stores/runs", *where, halt_at="run.noted")
    try:
        with Client(cluster.address) as client:
            pids = list(client.run(os.getpid).values())
        for pid in chance.sample(pids, 3):
            halted = tool.halted_after(chance.randint(1, 20))
            time.sleep(chance.random() / 10)
            os.kill(pid, signal.SIGKILL)
            halted.go_on()
        code, err = tool.ended()
    finally:
        tool.killed()
    assert code == 0, err
    assert voxpath("sweep", long, "--out", "here").code == 0
    assert contents(tmp_path / "stores" / "runs") == contents(tmp_path / "here")


def test_what_a_killed_command_left_in_an_object_store_the_next_one_takes(
    away, voxpath, long: Path, tmp_path: Path, bucket: str
):
    where = ["--dask", away().address, "--shards", f"s3://{bucket}"]
    tool = Tool(tmp_path, "sweep", long, "--out", "stores/runs", *where, halt_at="run.noted")
    try:
        tool.halted()
        until(lambda: objects(bucket) != [])
    finally:
        tool.killed()
    called = voxpath("sweep", long, "--out", "stores/runs", *where)
    assert called.code == 0, called.err
    assert f"a command that was ended are taken from s3://{bucket}" in " ".join(called.err.split())
    # A worker that was in a batch as the command was killed may send it any time later.
    until(lambda: voxpath("sweep", long, "--out", "stores/runs", *where).code == 0 and not objects(bucket))
    assert voxpath("sweep", long, "--out", "here").code == 0
    assert contents(tmp_path / "stores" / "runs") == contents(tmp_path / "here")


def test_shards_of_a_command_that_lives_are_left_to_it(tmp_path: Path, bucket: str):
    from voxpath.results.store import Store

    store = Store(tmp_path / "runs")
    courier = Courier.of(f"s3://{bucket}")
    with store.marked() as mark:
        sent = Courier(courier.address, (mark,)).send(Shard(str(store.root), "f" * 32, b"something"))
        assert sent.archive is None
        assert list(courier.left(store.root)) == []
    assert [found.key for found in courier.left(store.root)] == [sent.key]


def test_what_is_no_shard_is_left_in_the_object_store_and_blocks_nothing(
    voxpath, swept: Path, tmp_path: Path, bucket: str
):
    courier = Courier.of(f"s3://{bucket}")
    gone = tmp_path / "runs" / ".partial-mark-gone"
    for place in ("0" * 32, "anything"):
        Courier(courier.address, (gone,)).send(Shard(str(tmp_path / "runs"), place, b"no archive"))
    S3Store(bucket).put(f"{objects(bucket)[0].partition('/')[0]}/short.tar", b"")
    called = voxpath("sweep", swept, "--dask", "local:1", "--shards", courier.address)
    assert called.code == 0, called.err
    assert called.err.count("left where it is") == 3
    assert len(objects(bucket)) == 3


def test_runs_before_one_that_fails_come_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from voxpath.results.store import Store
    from voxpath.sweeps import runs

    text = SMALL + "[sweep]\nreplications = 3\n"
    tasks = [replace(task, together=False) for task in packable(text, tmp_path / "runs", 3)]
    made = iter((None, None, RuntimeError("a bug of ours")))
    alone = runs._alone

    def failing(task: runs.Task, _: object) -> runs.Outcome:
        if error := next(made):
            raise error
        return alone(task)

    monkeypatch.setattr(runs, "_alone", failing)
    courier = Courier.of("return")
    found = runs.perform_batch(tasks, _engine.BUILD, (), None, courier)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        found.all()
    for shard in found.shards:
        courier.keep(shard)
    assert sum(Store(tmp_path / "runs").find(task.identity.name) is not None for task in tasks) == 2


def test_a_worker_whose_disk_is_full_ends_the_sweep_which_goes_on_elsewhere(away, voxpath, tmp_path: Path):
    large = tmp_path / "large.toml"
    large.write_text(SMALL.replace("200 kB", "5 MB") + "[sweep]\nreplications = 2\n")
    arguments = ["sweep", large, "--capture", "client", "--capture", "server", "--shards", "return"]
    arguments += ["--out", "stores/runs", "--dask"]
    called = voxpath(*arguments, away("1M").address)
    assert called.code != 0
    told = " ".join(called.err.split())
    assert "a worker on " in told
    assert "No space left on device" in told
    assert voxpath(*arguments, away().address).code == 0
    assert voxpath("sweep", large, "--capture", "client", "--capture", "server", "--out", "here").code == 0
    assert contents(tmp_path / "stores" / "runs") == contents(tmp_path / "here")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--shards", "return"], "give the address of one"),
        (["--shards", "here", "--dask", "local:1"], "'here' is no way for runs: write return"),
        (["--shards", "nowhere://x", "--dask", "local:1"], "nowhere://x"),
    ],
)
def test_a_way_that_is_none_is_refused(arguments: list[str], says: str, voxpath, swept: Path, tmp_path: Path):
    called = voxpath("sweep", swept, *arguments)
    assert called.code == 2, called.out
    assert says in " ".join(called.err.split())
    assert [path.name for path in tmp_path.iterdir()] == [swept.name]


def test_a_bucket_that_is_not_there_is_told_before_the_first_run(
    voxpath, swept: Path, tmp_path: Path, bucket: str
):
    called = voxpath("sweep", swept, "--dask", "local:1", "--shards", f"s3://{bucket}-absent")
    assert called.code != 0
    told = " ".join(called.err.split())
    assert f"s3://{bucket}-absent" in told
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == [swept.name]


def archive(*files: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("../" + "0" * 32, archive()),
        ("packs/../" + "0" * 32, archive()),
        ("0" * 32, b"no archive"),
        ("0" * 32, archive(("verdict.json", b"{}"))),
        ("0" * 32, archive(("../outside", b"x"))),
        ("0" * 32, archive(("/tmp/outside", b"x"))),
        ("0" * 32, gzip.compress(archive(("verdict.json", b" " * 1_000_000)))),
        ("anything", archive()),
    ],
)
def test_a_shard_that_no_worker_sent_is_refused(place: str, what: bytes, tmp_path: Path):
    with pytest.raises(StoreError, match=r"is no folder of a store|is not what a worker sent"):
        Courier.of("return").keep(Shard(str(tmp_path / "runs"), place, what))
    assert list(tmp_path.iterdir()) == []


def test_a_bit_that_flips_on_the_way_is_noticed(voxpath, swept: Path, tmp_path: Path):
    assert voxpath("sweep", swept, "--out", "here").code == 0
    shard, *_ = shards_of(tmp_path / "here", str(tmp_path / "there"))
    assert shard.archive is not None
    Courier.of("return").keep(shard)
    sound = bytearray(shard.archive)
    # Within the first file, behind its head of 512 octets.
    sound[600] ^= 1
    with pytest.raises(StoreError, match="is not what a worker sent"):
        Courier.of("return").keep(Shard(shard.root, shard.place, bytes(sound)))
