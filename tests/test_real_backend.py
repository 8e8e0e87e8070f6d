"""Around runs on real hosts: what is tried again, how many go on at once, what the kernel is told."""

from __future__ import annotations

import json
import os
import pickle
import re
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import PATIENCE_S
from voxpath import _engine
from voxpath.backends.base import Question, UnanswerableError
from voxpath.backends.real import backend as module
from voxpath.backends.real import fidelity, starvation
from voxpath.backends.real.backend import RealBackend
from voxpath.backends.real.configuration import configurations
from voxpath.backends.real.problems import RealError
from voxpath.results.frames import frame, of_run, parquet, together
from voxpath.results.identity import Observe
from voxpath.results.outcome import Found, Outcome
from voxpath.scenario import Document, from_dict


def document(tcp: dict[str, Any] | None = None, loss: str = "0 %") -> Document:
    host = {"profile": "linux", "tcp": tcp or {}}
    return from_dict(
        {
            "name": "a flow",
            "topology": {"kind": "pipe", "link": {"delay": "5 ms", "loss": loss}},
            "hosts": {"client": host, "server": host},
            "flows": [{"app": {"kind": "download", "request": "100 B", "response": "10 kB"}}],
        }
    )


def test_tables_come_from_another_process_as_they_were():
    plan = document(loss="20 %").plan.json
    _, ((_, tables),), _ = _engine.run([(plan, range(3))], Observe(tcp=True, packets=True).json)
    frames = {name: frame(columns) for name, columns in tables.items()}
    kinds = {dtype for one in frames.values() for dtype in one.schema.values()}
    assert kinds >= {pl.UInt32, pl.UInt64, pl.Float64, pl.String}
    assert any(one.null_count().sum_horizontal().sum() for one in frames.values())
    for name, columns in tables.items():
        assert frame(pickle.loads(pickle.dumps(columns))).equals(frames[name])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([("x", "UInt64", 2, None, [bytes(15)])], "at least 16 bytes"),
        ([("x", "UInt64", 9, b"\xff", [bytes(72)])], "got 1 needed 2"),
        ([("x", "Utf8View", 1, None, [bytes([200, 0, 0, 0, *bytes(12)])])], "buffer index"),
        ([("x", "UInt65", 0, None, [])], "'UInt65'"),
        (
            [(name, "UInt64", rows, None, [bytes(8 * rows)]) for name, rows in (("x", 1), ("y", 2))],
            "same length",
        ),
    ],
)
def test_what_is_no_table_is_refused(columns: list[Any], told: str):
    with pytest.raises(ValueError, match=told):
        _engine.Columns(columns)


class FakeNetwork:
    """A network that is over at once, and is late as often as the test says."""

    late = 0
    under_way = 0
    most: list[int]
    meetings: list[threading.Barrier]
    """For whom the runs wait, in the order in which they begin; those behind the last one wait for nobody."""
    lock = threading.Lock()

    def __init__(self, document: Document, replication: int, observe: Observe) -> None:
        self.replication = replication
        self.simulated = _engine.run([(document.plan.json, [replication])], observe.json)

    def __enter__(self) -> FakeNetwork:
        with self.lock:
            FakeNetwork.under_way += 1
            self.most.append(FakeNetwork.under_way)
            self.meeting = self.meetings.pop(0) if self.meetings else None
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            FakeNetwork.under_way -= 1

    def run(self, stop: threading.Event) -> None:
        if self.meeting is not None:
            self.meeting.wait(PATIENCE_S)
        assert not stop.is_set()

    def finish(self) -> Found:
        with self.lock:
            late = FakeNetwork.late > 0
            FakeNetwork.late -= late
        ((text, *_),), ((_, tables),), _ = self.simulated
        verdict = json.loads(text) | {"valid": not late, "kept_up": not late}
        verdict["problems"] += ["too late"] * late
        return Found(
            json.dumps(verdict),
            {f"{name}.parquet": parquet(rows) for name, rows in of_run(together(tables), 0).items()},
            {},
        )


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> type[FakeNetwork]:
    monkeypatch.setattr(module, "Network", FakeNetwork)
    FakeNetwork.late, FakeNetwork.under_way, FakeNetwork.most, FakeNetwork.meetings = 0, 0, [], []
    return FakeNetwork


def test_late_runs_are_made_again_alone_and_every_attempt_is_told(network, tmp_path: Path):
    network.late = 6
    # Four at once, then each alone.
    network.meetings += [threading.Barrier(4)] * 4
    told: list[Outcome] = []
    backend = RealBackend(tmp_path, at_once=4, on_done=told.append)
    ((row, *_),) = backend.answer([Question(document(), range(4))])
    assert (row.estimator, row.n) == ("real", 4)
    assert max(network.most[:4]) == 4
    assert max(network.most[4:]) == 1
    (outcomes,) = backend.outcomes
    assert [outcome.valid for outcome in outcomes] == [True] * 4
    assert sorted(len(outcome.rejected) for outcome in outcomes) == [1, 1, 2, 2]
    assert {reason for outcome in outcomes for reason in outcome.rejected} == {"too late"}
    assert sorted(outcome.replication for outcome in told) == [0, 1, 2, 3]
    again = RealBackend(tmp_path)
    again.answer([Question(document(), range(4))])
    assert [(outcome.reused, outcome.rejected) for outcome in again.outcomes[0]] == [
        (True, outcome.rejected) for outcome in outcomes
    ]


def test_attempts_have_an_end_and_are_remembered(network, tmp_path: Path):
    network.late = 5
    backend = RealBackend(tmp_path)
    backend.answer([Question(document())])
    ((outcome,),) = backend.outcomes
    assert (outcome.valid, len(outcome.rejected), network.late) == (False, 2, 2)
    backend.answer([Question(document())])
    ((outcome,),) = backend.outcomes
    assert (outcome.valid, len(outcome.rejected)) == (True, 5)


def test_without_attempts_what_is_there_answers_alone(network, tmp_path: Path):
    RealBackend(tmp_path).answer([Question(document(), range(2))])
    network.most.clear()
    backend = RealBackend(tmp_path, attempts=0)
    (row, *_), nothing = backend.answer([Question(document(), range(3)), Question(document(loss="1 %"))])
    assert (row.n, nothing, network.most) == (2, [], [])
    assert [len(outcomes) for outcomes in backend.outcomes] == [2, 0]


def test_what_two_questions_ask_alike_is_run_once(network, tmp_path: Path):
    backend = RealBackend(tmp_path, at_once=3)
    backend.answer([Question(document()), Question(document()), Question(document(loss="1 %"))])
    assert len(network.most) == 2
    assert backend.outcomes[0] == backend.outcomes[1] != backend.outcomes[2]


def test_a_failure_ends_the_others(network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ended = []
    other = threading.Event()

    def run(self: FakeNetwork, stop: threading.Event) -> None:
        if self.replication == 0:
            assert other.wait(PATIENCE_S)
            raise RealError("no device")
        other.set()
        ended.append(stop.wait(PATIENCE_S))
        raise RealError("stopped")

    monkeypatch.setattr(network, "run", run)
    with pytest.raises(RealError, match="no device"):
        RealBackend(tmp_path, at_once=2).answer([Question(document(), range(6))])
    assert set(ended) == {True}
    assert network.under_way == 0
    assert not list(tmp_path.iterdir())


def told(tcp: dict[str, Any]) -> tuple[str, dict[str, str]]:
    found = configurations(document(tcp).plan.data)[1]
    return found.ip, dict(found.sysctl)


def test_what_the_kernel_can_be_told_it_is_told():
    ip, sysctl = told({})
    assert "initcwnd" not in ip
    assert "quickack" not in ip
    assert sysctl["ipv4/tcp_reordering"] == "3"
    ip, sysctl = told(
        {
            "sack": False,
            "dupack_threshold": 10,
            "initial_window": "3 segments",
            "delayed_ack": {"max_delay": "0 s"},
        }
    )
    assert "initcwnd 3" in ip
    assert "quickack 1" in ip
    assert (sysctl["ipv4/tcp_reordering"], sysctl["ipv4/tcp_sack"]) == ("10", "0")


@pytest.mark.parametrize(
    ("family", "line"), [("ipv4", "addr add {}/32 dev"), ("ipv6", "addr add {}/128 nodad dev")]
)
def test_an_address_can_be_bound_to_as_soon_as_it_is_there(family: str, line: str):
    """Until the kernel has looked for duplicates of an IPv6 address, binding to it fails."""
    plan = from_dict(
        {
            "name": "a program",
            "family": family,
            "topology": {"kind": "pipe", "link": {"delay": "5 ms"}},
            "hosts": {"client": {"profile": "linux", "real": True}},
        }
    ).plan.data
    assert line.format(plan["nodes"][0]["addresses"][0]) in configurations(plan)[0].ip


@pytest.mark.parametrize(
    ("tcp", "said"),
    [
        ({"dupack_threshold": 10}, "only without sack"),
        ({"delayed_ack": {"max_delay": "10 ms"}}, "only max_delay = 0"),
        ({"limited_transmit": False}, "change only congestion, .*delayed_ack, dupack_threshold"),
    ],
)
def test_what_it_cannot_be_told_is_refused(tcp: dict[str, Any], said: str):
    with pytest.raises(UnanswerableError, match=said):
        told(tcp)


def to_one_listener(**second: Any) -> Document:
    """Two voices that end at one host, the second one with these keys of TCP."""
    app = {
        "kind": "voice",
        "blocks": 12,
        "block": "500 B",
        "interval": "25 ms",
        "partial": "100 B",
        "answer": "750 B",
    }
    return from_dict(
        {
            "name": "two voices",
            "topology": {"kind": "pipe", "link": {"delay": "50 ms"}},
            "hosts": {"client": {"profile": "linux"}, "server": {"profile": "linux"}},
            "flows": [
                {"name": "first", "app": app},
                {"name": "second", "app": app, "transport": {"kind": "tcp"} | second},
            ],
        }
    )


def test_each_connection_of_one_listener_is_as_its_flow_asks(tmp_path: Path):
    backend = RealBackend(tmp_path)
    backend.answer([Question(to_one_listener(nagle=False))])
    first, second = backend.frames[0].sort("flow")["partial_p50_ns"]
    # With Nagle's algorithm a partial answer waits until the one before it is acknowledged.
    assert first > second + 20_000_000


def test_buffers_of_one_listener_are_one():
    with pytest.raises(UnanswerableError, match=r"'first' and 'second' .* have one receive_"):
        configurations(to_one_listener(receive_buffer="30 kB").plan.data)


def faithful(p99_ms: float, max_ms: float) -> dict[str, Any]:
    late = {"p99_ns": int(p99_ms * 1e6), "max_ns": int(max_ms * 1e6)}
    return {"deliveries": late, "devices": [], "packets_refused": 0}


@pytest.mark.parametrize(
    ("p99_ms", "max_ms", "ended_s", "said"),
    [
        (0.9, 90, 1, None),
        (1.1, 90, 1, "99th percentile"),
        # Few packets are late of a loop that stood still, but what they belong to is.
        (0.1, 20_000, 60, "a packet was delivered 20000 ms late, where 600 ms are allowed"),
        (0.1, 500, 60, None),
        (0.1, 110, 1, "where 100 ms are allowed"),
    ],
)
def test_what_is_too_late(p99_ms: float, max_ms: float, ended_s: int, said: str | None):
    limits = fidelity.limit_ns(20_000_000), fidelity.stall_limit_ns(ended_s * 10**9)
    problems = fidelity.problems(faithful(p99_ms, max_ms), *limits, ["client", "server"])
    assert len(problems) == (said is not None)
    assert said is None or re.search(said, problems[0])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"ends_waited_ns": 49_000_000}, None),
        ({"ends_waited_ns": 51_000_000}, "the ends of the flows waited 0.051 s of 1 s"),
        ({"programs_waited_ns": {"client": 51_000_000}, "others_share": 0.09}, None),
        ({"programs_waited_ns": {"client": 51_000_000}, "others_share": None}, None),
        ({"programs_waited_ns": {"client": 49_000_000}, "others_share": 0.5}, None),
        (
            {"programs_waited_ns": {"client": 51_000_000}, "others_share": 0.11},
            "a program on host 'client' waited 0.051 s of 1 s",
        ),
        ({"stolen_share": 0.11}, "11% of the processors' time was stolen"),
        ({"stolen_share": 0.09}, None),
    ],
)
def test_a_run_whose_hosts_were_starved_is_not_valid(changed: dict[str, Any], said: str | None):
    quiet = {
        "ends_waited_ns": 0,
        "programs_waited_ns": {"client": 0},
        "others_share": None,
        "stolen_share": None,
    }
    problems = fidelity.starved(quiet | changed, 10**9)
    assert len(problems) == (said is not None)
    assert said is None or problems[0].startswith(said)


def test_run_queues_are_looked_at_down_to_the_last_thread(tmp_path: Path):
    def task(process: int, thread: int, waited: int, children: str = "") -> None:
        folder = tmp_path / str(process) / "task" / str(thread)
        folder.mkdir(parents=True)
        (folder / "schedstat").write_text(f"{waited + 1} {waited} 1\n")
        (folder / "children").write_text(children)

    task(10, 10, 7, "20 21 ")
    task(20, 20, 3)
    task(20, 22, 90)
    queues = starvation.RunQueues(tmp_path)
    # 21 has ended.
    queues.look([("client", 10), ("server", 99)], now=1.0)
    assert queues.waited_ns == {"client": 90, "server": 0}
    assert queues.used_ns == 8 + 4 + 91
    task(20, 23, 100)
    queues.look([("client", 10)], now=1.1)
    assert queues.waited_ns["client"] == 90, "not again so soon"
    queues.look([("client", 10)], now=2.0)
    queues.look([("client", 99)], now=3.0)
    assert queues.waited_ns["client"] == 100, "what has ended is not forgotten"
    (tmp_path / "20/stat").write_text("20 (a (b) c) S" + " 0" * 12 + " 2 1 0\n")
    queues.look([("client", 10)], now=4.0)
    reaped = 3 * 10**9 // os.sysconf("SC_CLK_TCK")
    assert queues.used_ns == 8 + 4 + 91 + 101 + reaped, "also what children used that have ended"


def test_what_a_server_waited_before_it_listened_does_not_count(tmp_path: Path):
    task = tmp_path / "10/task/10"
    task.mkdir(parents=True)
    (task / "children").write_text("")
    (task / "schedstat").write_text("5 700 1\n")
    queues = starvation.RunQueues(tmp_path)
    queues.begin([("server", 10)])
    (task / "schedstat").write_text("9 750 2\n")
    queues.look([("server", 10)], now=1.0)
    assert queues.waited_ns == {"server": 50}
    assert queues.used_ns == 9


def test_stolen_time_and_what_others_used_are_shares_of_all(tmp_path: Path):
    stat = tmp_path / "stat"

    def told(text: str) -> starvation.Processors | None:
        stat.write_text(text)
        return starvation.Processors.now(stat)

    before = told("cpu  100 0 100 800 0 0 0 10 0 0\ncpu0 1\n")
    after = told("cpu  150 0 100 830 0 0 0 30 5 0\n")
    assert starvation.stolen_share(before, after) == 0.2
    own = 20 * 10**9 // os.sysconf("SC_CLK_TCK")
    assert starvation.others_share(before, after, own) == 0.3
    assert starvation.others_share(before, after, 9 * own) == 0
    assert told("intr 5\n") is None
    assert starvation.stolen_share(before, None) is None


def test_what_was_lost_without_a_word():
    counts = {"send_dropped": 0, "receive_dropped": 0, "unread": 0}
    limits = fidelity.limit_ns(20_000_000), fidelity.stall_limit_ns(10**9)

    def problems(**changed: int) -> list[str]:
        devices = [{"node": 0, **counts}, {"node": 1, **counts, **changed}]
        return fidelity.problems(faithful(0.1, 1) | {"devices": devices}, *limits, ["client", "server"])

    assert problems() == []
    assert problems(unread=3) == [
        "3 datagrams had reached host 'server' and found their sockets full: who reads them could not keep up"
    ]
    assert "host 'server' sent 4 packets that its device dropped" in problems(send_dropped=4)[0]
    assert problems(receive_dropped=5) == ["host 'server' dropped 5 packets that reached it"]
