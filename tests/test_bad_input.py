"""Malformed scenarios: a message with key and line, exit code 2, no traceback, nothing written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from conftest import PATIENCE_S, SMALL, process

if TYPE_CHECKING:
    from pathlib import Path

MARK = "@"
"""Stands before what an error must point at; it is taken out before the file is written."""

PIPE = """\
name = "pipe"
duration = "10 s"

[topology]
kind = "pipe"
link = { rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets" }

[hosts.client]
profile = "linux"

[[flows]]
name = "download"
from = "client"
to = "server"
app = { kind = "download", request = "100 B", response = "200 kB" }
"""

EXPLICIT = """\
name = "explicit"

[topology]
kind = "explicit"
hosts = ["a", "b"]
routers = ["r"]
links = [
  { ends = ["a", "r"], delay = "5 ms" },
  { ends = ["r", "b"], delay = "5 ms" },
]

[[flows]]
name = "upload"
from = "a"
to = "b"
app = { kind = "bulk", size = "1 MB" }
"""


@dataclass(frozen=True)
class Case:
    """A scenario in which `old` became `new`, and what must be said of it."""

    kind: str
    base: str
    old: str
    new: str
    key: str
    says: str
    line: int | None = None

    @property
    def text(self) -> str:
        assert self.base.count(self.old) == 1, "the case names a text that is there once"
        return self.base.replace(self.old, self.new.replace(MARK, ""))

    @property
    def expected_line(self) -> int:
        """Where the mark stands, else where the change begins."""
        if self.line is not None:
            return self.line
        before = self.base[: self.base.index(self.old)] + self.new.partition(MARK)[0] * (MARK in self.new)
        return before.count("\n") + 1


def pipe(kind: str, old: str, new: str, key: str, says: str, line: int | None = None) -> Case:
    return Case(kind, PIPE, old, new, key, says, line)


def explicit(kind: str, old: str, new: str, key: str, says: str, line: int | None = None) -> Case:
    return Case(kind, EXPLICIT, old, new, key, says, line)


LINK = "topology.link"
APP = "flows[0].app"

CASES = [
    # Not TOML
    pipe("syntax", 'kind = "pipe"', "kind = @pipe", "", "quoted"),
    pipe("syntax", "[topology]", "[topology@", "", ""),
    pipe("syntax", 'to = "server"', 'to = @"server', "", ""),
    pipe("duplicate key", 'to = "server"', 'to = "server"\n@to = "server"', "", "duplicate key"),
    pipe("duplicate key", "[[flows]]", "[@topology]\n[[flows]]", "", "duplicate key"),
    pipe("date", 'duration = "10 s"', "duration = @2026-01-01", "", "date or time"),
    pipe("date", 'duration = "10 s"', "duration = @00:00:10", "", "date or time"),
    pipe("deep nesting", 'name = "pipe"', f"name = {'[' * 80}@{'[' * 900}", "", "nested too deeply"),
    pipe("deep nesting", 'name = "pipe"', f"name = {'{a=' * 80}{'{a=' * 900}", "", "nested too deeply"),
    # Keys
    pipe("unknown key", 'name = "pipe"', '@nme = "pipe"', "nme", "did you mean 'name'"),
    pipe("unknown key", 'delay = "5 ms"', '@dely = "5 ms"', f"{LINK}.dely", "did you mean 'delay'"),
    pipe(
        "unknown key", 'profile = "linux"', "tcp.@sak = true", "hosts.client.tcp.sak", "did you mean 'sack'"
    ),
    pipe("unknown key", 'request = "100 B"', '@reqest = "1 B"', f"{APP}.reqest", "did you mean 'request'"),
    pipe("unknown key", 'to = "server"', 'to = "server"\n@colour = "x"', "flows[0].colour", "allowed: name"),
    pipe("missing key", 'name = "pipe"', "", "name", "is missing"),
    pipe("missing key", ', response = "200 kB"', "", f"{APP}.response", "is missing"),
    pipe("missing key", 'kind = "pipe"', "", "topology.kind", "is missing", line=4),
    explicit("missing key", 'from = "a"', "", "flows[0].from", "is missing", line=12),
    # Ways to the machine
    pipe(
        "relay",
        'profile = "linux"',
        '@reach = ["web"]',
        "hosts.client.reach[0]",
        "is no port of this machine",
    ),
    pipe("relay", 'profile = "linux"', "@reach = [70000]", "hosts.client.reach[0]", "70000 is no port"),
    pipe("relay", 'profile = "linux"', '@reach = ["7/sctp"]', "hosts.client.reach[0]", "is no transport"),
    pipe(
        "relay",
        'profile = "linux"',
        "@reach = [80, '80:81']",
        "hosts.client.reach[1]",
        "leads elsewhere already",
    ),
    pipe(
        "relay",
        'profile = "linux"',
        '@publish = ["80"]',
        "hosts.client.publish[0]",
        "names no port of a host",
    ),
    pipe(
        "relay",
        'profile = "linux"',
        '@publish = ["servr:80"]',
        "hosts.client.publish[0]",
        "did you mean 'server'",
    ),
    pipe(
        "relay",
        'profile = "linux"',
        '@publish = ["client:80"]',
        "hosts.client.publish[0]",
        "is the host itself",
    ),
    pipe("relay", 'profile = "linux"', "simulated = true\n@reach = [80]", "hosts.client.reach", "no way out"),
    pipe("program", 'profile = "linux"', "@ends = true", "hosts.client.ends", "without a program to run"),
    pipe(
        "program",
        'profile = "linux"',
        'run = ["serve"]\nlistens = 80\n@ends = true',
        "hosts.client.ends",
        "is ended with the run",
    ),
    pipe("relay", 'profile = "linux"', "simulated = true\n@real = true", "hosts.client.real", "contradicts"),
    # Values
    pipe("missing unit", '"5 ms"', "5", f"{LINK}.delay", "has no unit"),
    pipe("missing unit", 'duration = "10 s"', '@duration = "10"', "duration", "has no unit"),
    pipe("missing unit", '"50 packets"', '"50"', f"{LINK}.queue", "has no unit"),
    pipe("missing unit", '"10 Mbit/s"', "1.5e6", f"{LINK}.rate", "has no unit"),
    pipe("wrong unit", '"5 ms"', '"5 Mbit/s"', f"{LINK}.delay", "is not one of ns, us"),
    pipe("wrong unit", '"10 Mbit/s"', '"10 MB/s"', f"{LINK}.rate", "bit/s"),
    pipe("wrong unit", '"200 kB"', '"200 kbit"', f"{APP}.response", "KiB"),
    pipe("wrong unit", '"50 packets"', '"50 pakets"', f"{LINK}.queue", "packets"),
    pipe("wrong unit", 'queue = "50 packets"', 'loss = "0.01"', f"{LINK}.loss", "has no unit"),
    pipe("negative", '"5 ms"', '"-5 ms"', f"{LINK}.delay", "negative"),
    pipe("negative", '"100 B"', '"-100 B"', f"{APP}.request", "negative"),
    pipe("negative", 'duration = "10 s"', "@seed = -1", "seed", "at least 0"),
    pipe("zero", 'duration = "10 s"', '@duration = "0 s"', "duration", "is zero"),
    pipe("zero", '"10 Mbit/s"', '"0 bit/s"', f"{LINK}.rate", "is zero"),
    pipe("zero", '"50 packets"', '"0 packets"', f"{LINK}.queue", "above zero"),
    pipe("out of range", 'queue = "50 packets"', 'loss = "101 %"', f"{LINK}.loss", "at most 100 %"),
    pipe("out of range", 'profile = "linux"', 'tcp.@mss = "9 B"', "hosts.client.tcp.mss", "at least 64"),
    pipe("out of range", 'to = "server"', 'to = "server"\n@count = 0', "flows[0].count", "at least 1"),
    pipe("too fine", '"5 ms"', '"0.1 ns"', f"{LINK}.delay", "finer than ns"),
    pipe("too fine", '"100 B"', '"0.5 B"', f"{APP}.request", "finer than B"),
    pipe("huge number", '"5 ms"', '"1e40 s"', f"{LINK}.delay", "too large"),
    pipe("huge number", 'duration = "10 s"', f"seed = @{'9' * 400}", "", "64 bits"),
    pipe("huge number", '"50 packets"', f'"{"9" * 5000} packets"', f"{LINK}.queue", "too large"),
    pipe("huge number", 'duration = "10 s"', "seed = @inf", "", "not finite"),
    pipe("wrong type", 'kind = "pipe"', "@kind = 5", "topology.kind", "unknown"),
    pipe("wrong type", 'name = "pipe"', "@name = true", "name", "text"),
    pipe("wrong type", 'to = "server"', 'to = ["server"]', "flows[0].to", "text"),
    pipe("wrong type", "[hosts.client]", "[[@hosts.client]]", "hosts.client", "table"),
    pipe("wrong type", 'profile = "linux"', 'tcp.@sack = "yes"', "hosts.client.tcp.sack", "true or false"),
    pipe("wrong type", 'to = "server"', 'to = "server"\n@count = 1.5', "flows[0].count", "whole number"),
    pipe("unknown choice", 'kind = "pipe"', '@kind = "dumbell"', "topology.kind", "did you mean 'dumbbell'"),
    pipe("unknown choice", 'kind = "download"', 'kind = "downlod"', f"{APP}.kind", "did you mean 'download'"),
    pipe("unknown choice", '"linux"', '"lnux"', "hosts.client.profile", "did you mean 'linux'"),
    pipe(
        "unknown choice",
        'profile = "linux"',
        'tcp.@congestion = "hybla"',
        "hosts.client.tcp.congestion",
        "allowed: reno, cubic",
    ),
    pipe(
        "unknown choice",
        'queue = "50 packets"',
        'framing = "atm"',
        f"{LINK}.framing",
        "allowed: ip, ethernet",
    ),
    pipe(
        "unknown choice", 'queue = "50 packets"', 'loss = { @kind = "x" }', f"{LINK}.loss.kind", "bernoulli"
    ),
    pipe("bad name", 'name = "download"', '@name = "../../x"', "flows[0].name", "is not a name"),
    pipe("bad name", 'name = "download"', '@name = ""', "flows[0].name", "is not a name"),
    pipe(
        "bad address", 'profile = "linux"', 'addresses = [@"10.0.0.256"]', "hosts.client.addresses[0]", "IPv4"
    ),
    pipe("bad address", 'profile = "linux"', "addresses = [@7]", "hosts.client.addresses[0]", "IPv4"),
    # Names
    pipe("dangling name", 'to = "server"', '@to = "servr"', "flows[0].to", "did you mean 'server'"),
    pipe("dangling name", "[hosts.client]", "[hosts.@clint]", "hosts.clint", "did you mean 'client'"),
    explicit("dangling name", '["r", "b"]', '["r", @"c"]', "topology.links[1].ends[1]", "is no node"),
    explicit("dangling name", 'to = "b"', '@to = "r"', "flows[0].to", "is a router"),
    explicit(
        "dangling name",
        "[[flows]]",
        '[[topology.routes]]\nat = "a"\nto = "b"\n@via = "x"\n[[flows]]',
        "topology.routes[0].via",
        "is no link",
    ),
    pipe(
        "duplicate name",
        "[[flows]]",
        '[[flows]]\nname = "download"\napp = { kind = "bulk", size = "1 B" }\n[[flows]]',
        "flows[1].name",
        "is taken by flows[0]",
        line=15,
    ),
    explicit("duplicate name", '["a", "b"]', '["a", "b", @"a"]', "topology.hosts[2]", "is taken"),
    explicit(
        "duplicate name", '{ ends = ["r", "b"]', '@{ ends = ["a", "r"]', "topology.links[1]", "is taken"
    ),
    explicit(
        "duplicate address",
        "[[flows]]",
        '[hosts.a]\naddresses = ["10.1.0.1"]\n[hosts.b]\naddresses = [@"10.1.0.1"]\n[[flows]]',
        "hosts.b.addresses[0]",
        "is an address of 'a' already",
    ),
    explicit(
        "unreachable",
        '  { ends = ["r", "b"], delay = "5 ms" },\n',
        "",
        "flows[0]",
        "there is no route",
        line=11,
    ),
    explicit(
        "unreachable",
        'routers = ["r"]\nlinks = [\n  { ends = ["a", "r"]',
        'routers = ["r", "s"]\nlinks = [\n  { ends = ["a", "s"]',
        "flows[0]",
        "there is no route",
        line=12,
    ),
    explicit(
        "routing loop",
        'routers = ["r"]\nlinks = [\n  { ends = ["a", "r"], delay = "5 ms" },\n'
        '  { ends = ["r", "b"], delay = "5 ms" },\n]\n',
        'routers = ["r", "s", "t"]\nlinks = [\n  { ends = ["a", "r"], delay = "5 ms" },\n'
        '  { name = "rs", ends = ["r", "s"] },\n  { name = "st", ends = ["s", "t"] },\n'
        '  { ends = ["t", "r"] },\n  { ends = ["r", "b"], delay = "5 ms" },\n]\n'
        '[[topology.routes]]\nat = "r"\nto = "b"\nvia = "rs"\n'
        '[[topology.routes]]\nat = "s"\nto = "b"\nvia = "st"\n',
        "flows[0]",
        'the routes from "a" to "b" go round for ever: r - s - t - r',
        line=23,
    ),
    # What cannot be meant together
    pipe("contradiction", 'rate = "10 Mbit/s", ', "", f"{LINK}.queue", "without a rate"),
    pipe(
        "contradiction",
        'delay = "5 ms"',
        'delay = "5 ms", up = { delay = "1 ms" }, down = { delay = "2 ms" }',
        f"{LINK}.delay",
        "has no effect",
    ),
    pipe(
        "contradiction",
        'to = "server"',
        'to = "server"\ntransport = { @kind = "udp" }',
        "flows[0].transport.kind",
        "needs tcp",
    ),
    pipe("contradiction", 'to = "server"', '@to = "client"', "flows[0].to", "two hosts"),
    pipe(
        "contradiction",
        'to = "server"',
        'to = "server"\n@stagger = "1 s"',
        "flows[0].stagger",
        "has no effect",
    ),
    pipe("contradiction", 'to = "server"', 'to = "server"\n@start = "20 s"', "flows[0].start", "over"),
    explicit("endless", ', size = "1 MB"', "", APP, "never ends"),
    pipe("empty", "[[flows]]", "[@sweep]\n[[flows]]", "sweep", "is empty"),
    *(
        pipe("sweep axis", "[[flows]]", f"[sweep]\n{text}\n[[flows]]", f"sweep{key}", says)
        for text, key, says in [
            ("@seed = [1, 2]", ".seed", "replications vary the random streams"),
            ('@name = ["a"]', ".name", "is no axis"),
            ('"topology.link.loss" = ["0 %", @"0.1"]', ".topology.link.loss[1]", "has no unit"),
            ('"topology.link.loss" = [@"200 %"]', ".topology.link.loss[0]", "at most 100 %"),
            ('@"topology.lnk.loss" = ["0 %", "1 %"]', ".topology.lnk.loss", "did you mean 'link'"),
            ('@"topology.link.los" = ["0 %", "1 %"]', ".topology.link.los", "did you mean 'loss'"),
            ('"hosts.client.profile" = ["rfc", @"lnux"]', ".hosts.client.profile[1]", "did you mean 'linux'"),
            ('@topology.link.loss = ["0 %"]', ".topology", "in quotes"),
            ('@"topology..loss" = ["0 %"]', ".topology..loss", "is not a key"),
            ('@"topology.link.delay.x" = [1]', ".topology.link.delay.x", "no table"),
            ('@"flows[1].start" = ["1 s"]', ".flows[1].start", "allowed in flows: 0"),
            ('@"flows.download.start" = ["1 s"]', ".flows.download.start", "the index in brackets"),
            ('@"topology.link.loss" = "1 %"', ".topology.link.loss", "must be a list"),
            ("@replicatons = 3", ".replicatons", "did you mean 'replications'"),
            ('@"topology.link.loss" = []', ".topology.link.loss", "is an empty list"),
            ('"topology.link.loss" = ["0 %", @"0 %"]', ".topology.link.loss[1]", "there already"),
            ('"topology.link.loss" = ["1 %", @"10000 ppm"]', ".topology.link.loss[1]", "same effect"),
            (
                (
                    '"flows[0].transport" = [{ kind = "tcp", mss = "99 B" }]\n'
                    '"hosts.client.tcp.mss" = ["1 kB", @"2 kB"]'
                ),
                ".hosts.client.tcp.mss[1]",
                "has no effect here",
            ),
            (
                '"topology.link" = [{ delay = "1 ms" }]\n@"topology.link.loss" = ["1 %"]',
                ".topology.link.loss",
                "overlaps with the axis topology.link",
            ),
            ('@mode = "zip"\nreplications = 2', ".mode", "fewer than two axes"),
            (
                '@mode = "zipp"\n"topology.link.loss" = ["1 %"]\n"flows[0].start" = ["1 s"]',
                ".mode",
                "did you mean 'zip'",
            ),
            (
                '@mode = "zip"\n"topology.link.loss" = ["1 %"]\n"flows[0].start" = ["1 s", "2 s"]',
                ".mode",
                "topology.link.loss has 1, flows[0].start has 2",
            ),
            (
                (
                    'mode = "zip"\n"topology.link.loss" = ["1 %", "2 %"]\n'
                    '@"flows[0].transport" = [{ kind = "tcp" }, { kind = "tcp", nagle = true }]'
                ),
                ".flows[0].transport",
                "has no effect",
            ),
            (
                'duration = ["1 s", "1 ms"]\n"flows[0].start" = [@"5 ms"]',
                ".flows[0].start[0]",
                "already over",
            ),
            (
                '"topology.kind" = ["pipe", @"dumbbell"]',
                ".topology.kind[1]",
                "with dumbbell, topology.bottleneck: is missing",
            ),
            (
                (
                    f"duration = {[f'{n} s' for n in range(9, 409)]}\n"
                    f'"flows[0].start" = {[f"{n} ms" for n in range(400)]}'
                ),
                "",
                "has 160000 cells: at most 100000",
            ),
        ]
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.new[:40]!r}")
def test_a_malformed_scenario_is_refused_with_key_and_line(case: Case, voxpath, tmp_path: Path):
    (tmp_path / "bad.toml").write_text(case.text)
    called = voxpath("run", "bad.toml", "--out", "runs")
    assert called.code == 2, called.out
    assert "Traceback" not in called.err
    key = f" {case.key}: " if case.key else " "
    told = [line for line in called.err.splitlines() if line.startswith(f"bad.toml:{case.expected_line}:")]
    assert any(key in line and case.says in line for line in told), called.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"], "nothing is written"


def test_there_are_many_classes_with_several_cases_each():
    assert len({case.kind for case in CASES}) >= 15
    assert len(CASES) >= 60


BYTES = [
    ("not UTF-8", b'name = "pipe"\nseed = 1\n# caf\xe9\n', "bad.toml:3:6: is not UTF-8: byte 28 is 0xe9"),
    ("not UTF-8", 'name = "x"'.encode("utf-16"), "bad.toml:1:1: is not UTF-8: byte 0 is 0xff"),
    ("control characters", b'name = "a\x00b"\n', "bad.toml:1:10: "),
    ("empty", b"", "bad.toml:1:1: topology: is missing"),
    ("too large", b"#" * (4 * 2**20 + 1), "bad.toml: is larger than"),
    ("deep dotted key", b".".join([b"a"] * 5000) + b" = 1", "nested too deeply"),
]


@pytest.mark.parametrize(("kind", "raw", "says"), BYTES, ids=[f"{kind} {len(raw)}" for kind, raw, _ in BYTES])
def test_bytes_that_are_no_scenario_are_refused(kind: str, raw: bytes, says: str, voxpath, tmp_path: Path):
    (tmp_path / "bad.toml").write_bytes(raw)
    called = voxpath("run", "bad.toml", "--out", "runs")
    assert called.code == 2, kind
    assert says in called.err
    assert "Traceback" not in called.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.toml", "there is no such file"),
        (".", "is a directory"),
        ("nowhere/missing.toml", "there is no such file"),
        ("x" * 300, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, says: str, voxpath, tmp_path: Path):
    called = voxpath("run", name, "--out", "runs")
    assert called.code == 2
    assert says in called.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--replications", "0"], "--replications"),
        (["--replication", "-1"], "--replication"),
        (["--replication", "1", "--replications", "2"], "give one of them"),
        (["--seed", "x"], "--seed"),
        (["--jobs", "0"], "--jobs"),
        (["--backend", "simulator"], "allowed: sim, formula"),
        (["--backend", ","], "names nothing"),
        (["--observe", "udp"], "allowed: tcp, rtc, packets"),
        (["--capture", "clint"], "did you mean 'client'"),
        (["--out", "small.toml"], "is not a directory"),
        (["--unknown"], "No such option"),
    ],
)
def test_a_wrong_option_is_refused(arguments: list[str], says: str, voxpath, small: Path, tmp_path: Path):
    called = voxpath("run", small, *arguments)
    assert called.code == 2, called.out
    assert says in called.err
    assert [path.name for path in tmp_path.iterdir()] == [small.name]


def test_a_study_that_does_not_exist_is_refused(voxpath):
    called = voxpath("study", "sarkar2021")
    assert called.code == 2
    assert "did you mean 'sarkar2022'" in called.err


def test_all_problems_of_a_file_are_reported_at_once(voxpath, tmp_path: Path):
    text = SMALL.replace('"5 ms"', '"5"').replace('name = "download"', 'name = "download"\nto = "servr"')
    (tmp_path / "bad.toml").write_text("sed = 1\n" + text)
    called = voxpath("run", "bad.toml")
    assert "3 problems in bad.toml" in called.err
    for says in ("sed: unknown key", "topology.link.delay: ", "flows[0].to: 'servr' is no host"):
        assert says in called.err


def test_the_process_says_no_more_than_the_message(tmp_path: Path):
    (tmp_path / "bad.toml").write_text("name = 1\n")
    done = process("run", "bad.toml", cwd=tmp_path)
    out, err = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 2
    assert out == ""
    assert err.startswith("Error: 3 problems in bad.toml; nothing was run\nbad.toml:1:1: ")
