"""Using real hosts: commands behind a link, shells, programs from Python, ways to the machine and from it.

What is checked is what comes out and how it is marked, never how fast; a busy machine may make runs invalid.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S, ROOT, of_the_run, process
from processes import until
from voxpath import live, packages, realtime, terminal
from voxpath.backends.real import relays
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.programs import end
from voxpath.backends.real.relays import HOST, REACH
from voxpath.backends.real.session import Session
from voxpath.cli.main import cli
from voxpath.results.problems import StoreError
from voxpath.scenario import from_dict, read

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")

PYTHON = sys.executable
LINK = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "100 packets"}
REAL = {"profile": "linux", "real": True}


def behind_link(*arguments: str, cwd: Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "voxpath", "exec", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )


def said(text: str) -> list[str]:
    """What we said, but for how late packets were."""
    late = re.compile(r"invalid: (packets were|a packet was) delivered [0-9.e+]+ ms late")
    return [line for line in text.splitlines() if not late.search(line)]


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server on this machine's loopback that answers in capitals, over TCP and UDP."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        port = server.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))

        def answer_connections() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard = b""
                    while some := connection.recv(65536):
                        heard += some
                    connection.sendall(heard.upper())

        def answer_datagrams() -> None:
            while True:
                try:
                    heard, peer = datagrams.recvfrom(65536)
                except OSError:
                    return
                datagrams.sendto(heard.upper(), peer)

        for work in (answer_connections, answer_datagrams):
            threading.Thread(target=work, daemon=True).start()
        yield port
        server.shutdown(socket.SHUT_RDWR)
        datagrams.close()


ASK = """\
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as asking:
    asking.sendall(b"hear me " * 20000)
    asking.shutdown(socket.SHUT_WR)
    heard = b""
    while some := asking.recv(65536):
        heard += some
print(len(heard), heard[:7].decode())
"""
ASK_BY_DATAGRAM = f"""\
import socket, sys
with socket.socket(type=socket.SOCK_DGRAM) as asking:
    asking.settimeout({PATIENCE_S})
    asking.sendto(b"hear me", (sys.argv[1], int(sys.argv[2])))
    print(asking.recv(100).decode())
"""


def test_input_output_and_exit_code_are_the_commands(tmp_path: Path):
    done = behind_link(
        "--delay", "1 ms", "--", "sh", "-c", "cat; echo no >&2; exit 7", cwd=tmp_path, input="yes"
    )
    assert (done.returncode, done.stdout, said(done.stderr)) == (7, "yes", ["no"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "code"), [("kill -TERM $$", 143), ("nothing-of-this-name", 127)])
def test_other_ends_have_the_exit_code_of_a_shell(command: str, code: int, tmp_path: Path):
    assert behind_link("sh", "-c", command, cwd=tmp_path).returncode == code


def test_a_command_that_is_not_there_is_told_before_anything_is_run(tmp_path: Path):
    done = behind_link("nothing-of-this-name", cwd=tmp_path)
    assert done.returncode == 127
    assert done.stderr == "voxpath: nothing was run: nothing-of-this-name is not installed\n"


def test_where_a_program_of_the_examples_comes_from_is_told(tmp_path: Path):
    done = behind_link("ping", "-c", "1", "machine", cwd=tmp_path, env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 127
    assert done.stderr == "voxpath: nothing was run: ping is not installed (apt-get install iputils-ping)\n"


def test_the_command_reaches_nothing_but_the_machines_stand_in(tmp_path: Path):
    done = behind_link("ip", "-o", "-4", "address", cwd=tmp_path)
    assert re.findall(r"inet (\S+)", done.stdout) == ["127.0.0.1/8", "10.0.0.1/32"]
    done = behind_link("getent", "hosts", "machine", cwd=tmp_path)
    assert done.stdout.split()[0] == "10.0.0.2"


def test_a_port_of_the_machine_is_reached_through_the_link(echo: int, voxpath, tmp_path: Path):
    arguments = (
        "--reach",
        f"80:{echo}",
        "--out",
        "runs",
        "--capture",
        "--",
        PYTHON,
        "-c",
        ASK,
        "machine",
        "80",
    )
    done = behind_link("--delay", "5 ms", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "160000 HEAR ME\n"), done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"voxpath: results: runs/{folder.name}" in done.stderr
    elements = pl.read_parquet(folder / "elements.parquet").filter(pl.col("element") == "delay")
    assert all(packets * 1500 > 160_000 for packets in elements["packets_out"])
    assert (folder / "captures" / "client.pcapng").stat().st_size > 2 * 160_000
    (program,) = pl.read_parquet(folder / "programs.parquet").to_dicts()
    assert (program["host"], program["exit_code"]) == ("client", 0)
    ends = pl.read_parquet(folder / "connections.parquet").to_dicts()
    assert [(row["end"], row["host"]) for row in ends] == [("client", "client"), ("server", "machine")]
    for row in ends:
        assert re.fullmatch(r"client:\d+ > machine:80", row["flow"])
        assert row["bytes_delivered"] == 160_000
        # Twice 5 ms, of which a clock of another processor may take a little off.
        assert row["min_rtt_ns"] > 9.9e6
        assert row["data_segments_sent"] >= 2
        seconds = (row["ended_ns"] - row["opened_ns"]) / 1e9
        assert row["goodput_bps"] == pytest.approx(160_000 * 8 / seconds)
    shown = voxpath("show", folder)
    assert shown.code == 0
    assert ends[1]["flow"] in shown.out
    assert f"{ends[1]['retransmissions']} of {ends[1]['data_segments_sent']}" in shown.out
    assert PYTHON in shown.out, "its programs"
    assert "flows\n" not in shown.out, "it has none"


def test_datagrams_reach_the_machine(echo: int, tmp_path: Path):
    done = behind_link(
        "--reach", f"{echo}/udp", "--", PYTHON, "-c", ASK_BY_DATAGRAM, "machine", str(echo), cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "HEAR ME\n"), done.stderr


def test_a_port_where_nobody_listens_is_told(tmp_path: Path):
    done = behind_link("--reach", "1", "--", PYTHON, "-c", ASK, "machine", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "ConnectionResetError" in done.stderr
    assert "voxpath: nobody answered at port 1 of this machine, 127.0.0.1" in done.stderr


def test_a_command_in_a_command_adds_its_link(echo: int, tmp_path: Path):
    """Each exec is a link of its own; what the outer one reaches of the machine, the inner one does too."""
    inner = [PYTHON, "-m", "voxpath", "exec", "--loss", "1 %", "--out", "inner", "--"]
    ask = [PYTHON, "-c", ASK, "machine", str(echo)]
    done = behind_link("--reach", str(echo), "--out", "outer", "--", *inner, *ask, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "160000 HEAR ME\n"), done.stderr
    for name in ("inner", "outer"):
        (folder,) = (tmp_path / name).iterdir()
        links = pl.read_parquet(folder / "elements.parquet").filter(pl.col("element") == "delay")
        assert all(packets * 1500 > 160_000 for packets in links["packets_out"]), name


SERVE = """\
import socket
with socket.create_server(("", 8000)) as server:
    print("there", flush=True)
    connection, peer = server.accept()
    connection.sendall(peer[0].encode())
    connection.close()
"""


def test_a_port_of_the_command_is_published_on_the_machine(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serving = process("exec", "--publish", f"{port}:8000", "--", PYTHON, "-c", SERVE, cwd=tmp_path)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline() == "there\n"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as asking:
            assert asking.recv(100) == b"10.0.0.2"
        out, err = serving.communicate(timeout=PATIENCE_S)
        assert (serving.returncode, out, said(err)) == (0, "", [])
    finally:
        serving.kill()
        serving.wait()


def test_a_port_that_is_taken_is_told_before_the_command_runs(echo: int, tmp_path: Path):
    done = behind_link("--publish", f"{echo}:8000", "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 125
    assert f"cannot listen at 127.0.0.1:{echo} of this machine: Address already in use" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_files_of_hosts_are_made_without_a_directory_that_others_write_to(tmp_path: Path):
    """Who knew the name could have kept it taken."""
    environment = {**os.environ, "TMPDIR": str(tmp_path / "nothing")}
    done = behind_link("--", "getent", "hosts", "machine", cwd=tmp_path, env=environment)
    assert done.stdout.split()[0] == "10.0.0.2", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--delay", "20"], '--delay: "20" has no unit'),
        (["--up-rate", "fast"], "--up-rate: "),
        (["--queue", "10 packets"], "--queue: has no effect without a rate"),
        (["--reach", "web"], "--reach web: 'web' is no port of this machine"),
        (["--reach", "70000"], "70000 is no port"),
        (["--reach", "80", "--reach", "80:8000"], "port 80 of the host leads elsewhere already"),
        (["--publish", "a:b"], "'a:b' names no port"),
        (["--reorder", "1 %"], "write '1 % by 5 ms'"),
        (["--capture"], "--capture needs --out"),
        (["--preset", "lan"], "--preset: 'lan' is none; allowed: 5g, dsl"),
        (["--down-jitter", "3 ms"], "--down-jitter: varies the delay: give --delay, too"),
        (["--delay", "3 ms", "--jitter", "3"], '--jitter: "3" has no unit'),
        (["--burst", "4 packets"], "--burst: is the length of bursts of loss"),
        (["--loss", "90 %", "--burst", "2 packets"], "leave no room between them"),
        (
            ["--rate", "1 Mbit/s", "--trace", "a"],
            "--trace: says when packets are delivered, and so does --rate",
        ),
        (["--trace", "nowhere.trace"], "--trace: 'nowhere.trace' cannot be read"),
        (
            ["--rate", "1 Mbit/s", "--queue", "fq_codl"],
            "--queue: kind 'fq_codl' is unknown; did you mean 'fq_codel'",
        ),
        (["--second-preset", "dsl", "--second-up-loss", "2"], "--second-up-loss: "),
        (["--reach", "8010-8000"], "'8010-8000' is no range of ports"),
        (["--reach", "1-2:8000"], "leads from 2 ports to 1"),
        (["--host", "client"], "--host is a host of a scenario"),
        (["--scenario", "a.toml"], "--scenario needs --host"),
        (["--scenario", "a.toml", "--host", "b", "--up-delay", "1 ms"], "--delay is of one link"),
    ],
)
def test_bad_options_are_told_by_their_names(arguments: list[str], message: str, voxpath):
    called = voxpath("exec", *arguments, "--", "true")
    assert called.code == 2
    assert message in called.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_for_us_is_the_commands(number: signal.Signals, tmp_path: Path):
    code = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(9))\n"
        "print('there', flush=True)\n"
        "time.sleep(600)\n"
    )
    running = process("exec", "--", PYTHON, "-c", code, cwd=tmp_path)
    assert running.stdout is not None
    assert running.stdout.readline() == "there\n"
    running.send_signal(number)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, said(err)) == (9, [])


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command: str, cwd: Path, **environment: str) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.execve(command[0], command, {**os.environ, "TERM": "dumb", **environment})
        self.text = ""

    def says(self, text: str) -> bool:
        """Reads until a text has been printed; or until the end, before which it was not."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            if not select.select([self.descriptor], [], [], 0.1)[0]:
                continue
            try:
                some = os.read(self.descriptor, 4096)
            except OSError:
                # So the kernel tells that nobody has this terminal any more.
                return False
            self.text += some.decode(errors="replace")
        self.text = self.text.partition(text)[2]
        return True

    def expect(self, text: str) -> None:
        """Reads until a text has been printed."""
        assert self.says(text), self.text

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> int:
        """Waits for the end: the exit code."""
        while self.says("\n"):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_ctrl_c_is_the_commands_and_it_may_live_on(tmp_path: Path):
    running = Terminal(PYTHON, "-m", "voxpath", "exec", "--", PYTHON, "-q", cwd=tmp_path)
    running.expect(">>> ")
    running.type("import time; print('as' + 'leep'); time.sleep(600)\n")
    running.expect("asleep")
    running.type("\x03")
    running.expect("KeyboardInterrupt")
    running.type("import os; os.isatty(0) and exit(5)\n")
    assert running.end() == 5


def test_a_second_ctrl_c_kills(tmp_path: Path):
    code = (
        "import signal, time; signal.signal(2, lambda *_: print('no')); print('there')\n"
        "while True: time.sleep(600)"
    )
    running = Terminal(PYTHON, "-m", "voxpath", "exec", "--", PYTHON, "-u", "-c", code, cwd=tmp_path)
    running.expect("there")
    running.type("\x03")
    # On a stalled machine two presses may be one signal, or be more than a second apart: the next may kill.
    while running.says("no"):
        running.type("\x03")
    assert running.end() == 137


def test_a_shell_says_where_it_is_and_leaves_the_terminal_in_order(tmp_path: Path):
    scenario = str(ROOT / "scenarios" / "real-web.toml")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    command = [PYTHON, "-m", "voxpath", "shell", scenario, "--host", "client1"]
    running = Terminal(*command, cwd=tmp_path, SHELL="/bin/bash", HOME=str(tmp_path))
    running.expect("(client1)")
    running.type("echo on $VOXPATH_HOST; exec 3<>/dev/tcp/server1/8000 && echo open\n")
    running.expect("on client1")
    running.expect("open")
    running.type("sh -c 'echo as''leep; exec sleep 600'\n")
    running.expect("asleep")
    running.type("\x03")
    running.expect("(client1)")
    running.type("exit 4\n")
    assert running.end() == 4


def test_a_shells_host_has_to_be_there(voxpath):
    called = voxpath("shell", ROOT / "scenarios" / "real-web.toml", "--host", "cleint1", "--", "true")
    assert called.code == 2
    assert "did you mean 'client1'" in called.err
    called = voxpath("shell", ROOT / "scenarios" / "lossy-download.toml", "--host", "left", "--", "true")
    assert "'left' is no host" in called.err


def test_a_command_runs_on_a_host_of_a_scenario(tmp_path: Path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    running = process("shell", "scenarios/real-web.toml", "--host", "client1", "--", "curl", "-sS",
                      "http://server1:8000/real-web.toml", cwd=tmp_path)  # fmt: skip
    out, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, out) == (0, (ROOT / "scenarios" / "real-web.toml").read_text()), err


def two_hosts(**server: object) -> dict[str, object]:
    hosts = {"client": REAL, "server": REAL | server}
    return {"name": "two", "topology": {"kind": "pipe", "link": LINK}, "hosts": hosts}


def test_programs_run_from_python(tmp_path: Path):
    flow = {
        "name": "page",
        "simulated": True,
        "app": {"kind": "download", "request": "1 B", "response": "20 kB"},
    }
    with voxpath_package.real({**two_hosts(), "flows": [flow]}, capture=["server"], out=tmp_path) as net:
        assert net.addresses == {"client": ("10.0.0.1",), "server": ("10.0.0.2",)}
        server, client = net.host("server"), net.host("client")
        serving = server.popen([PYTHON, "-c", SERVE], stdout=subprocess.PIPE, text=True)
        server.wait_for_port(8000)
        asked = client.run(["bash", "-c", "cat < /dev/tcp/server/8000"], capture_output=True, check=True)
        assert asked.stdout == b"10.0.0.1"
        assert serving.communicate(timeout=PATIENCE_S) == ("there\n", None)
        with pytest.raises(subprocess.CalledProcessError):
            client.run(["false"], check=True)
        with pytest.raises(subprocess.TimeoutExpired):
            client.run(["sleep", "600"], timeout=0.1)
        with pytest.raises(ValueError, match="did you mean 'server'"):
            net.host("servr")
        with pytest.raises(TypeError, match="shell"):
            client.run("true", shell=True)
        left_running = client.popen(["sleep", "600"])
        net.wait()
        assert net.now > 0
        result = net.finish()
    assert left_running.returncode is not None
    assert result.flows["status"].to_list() == ["completed"]
    assert of_the_run(result.problems) == []
    assert result.valid == (not result.problems)
    assert result.tables["elements"]["packets_in"].sum() > 0
    assert set(result.table("elements")["run"]) == {result.folders[0].name}
    assert result.table("elements").drop("run").equals(result.tables["elements"])
    assert list(result.captures) == ["server"]
    assert [json.loads((folder / "verdict.json").read_text())["valid"] for folder in result.folders] == [
        result.valid
    ]


PAGE = {"name": "page", "app": {"kind": "download", "request": "1 B", "response": "20 kB"}}


def shows_its_page(result: voxpath_package.Result) -> None:
    """Holds a result of one real run of the page against its own flows."""
    (row,) = result.summary.filter(metric="completion_s", estimator="real").to_dicts()
    assert row["mean"] == pytest.approx(result.flows["completion_s"][0])
    (data,) = result.plot("completion_s").to_dict()["datasets"].values()
    assert [one["mean"] for one in data] == [pytest.approx(row["mean"])]
    assert "<td>page</td>" in result._repr_html_()


def test_a_real_network_gives_a_result_like_others():
    with voxpath_package.real({**two_hosts(), "flows": [PAGE]}) as net:
        net.wait()
        result = net.finish()
    shows_its_page(result)
    assert result.folders == []
    assert result.table("flows").drop("run").equals(result.tables["flows"])
    with pytest.raises(StoreError, match="the run has no table 'flow'; did you mean 'flows'"):
        result.table("flow")


@pytest.mark.parametrize("is_file", [False, True])
def test_a_dictionary_and_a_file_run_on_real_hosts(is_file: bool, tmp_path: Path):
    scenario = {**two_hosts(), "flows": [PAGE]}
    (tmp_path / "page.toml").write_text(from_dict(scenario).text)
    source = tmp_path / "page.toml" if is_file else scenario
    result = voxpath_package.run(source, backends=["real"], out=tmp_path)
    shows_its_page(result)
    assert result.table("flows")["run"].to_list() == [result.folders[0].name]


def test_an_error_in_the_block_ends_everything():
    with contextlib.suppress(ZeroDivisionError), voxpath_package.real(two_hosts()) as net:
        sleeping = net.host("client").popen(["sleep", "600"])
        raise ZeroDivisionError
    assert sleeping.poll() is not None


def test_a_scenario_reaches_the_machine_and_is_reached(echo: int):
    scenario = two_hosts(reach=[f"7:{echo}"])
    with voxpath_package.real(scenario) as net:
        asked = net.host("client").run(
            [PYTHON, "-c", ASK, "server", "7"], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert asked.stdout == "160000 HEAR ME\n", asked.stderr


def test_a_program_is_asked_to_end_before_it_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(realtime, "end", functools.partial(end, grace_s=PATIENCE_S))
    trap = f"trap 'echo tidy > {tmp_path}/tidied; exit' TERM"
    script = f"{trap}; touch {tmp_path}/there; while :; do sleep 0.1; done"
    with voxpath_package.real(two_hosts()) as net:
        net.host("server").popen(["sh", "-c", script])
        until((tmp_path / "there").exists)
    assert (tmp_path / "tidied").read_text() == "tidy\n"


def test_the_end_of_a_program_can_be_that_of_the_run(tmp_path: Path):
    endless = {"simulated": True, "app": {"kind": "cbr", "packet": "100 B", "interval": "20 ms"}}
    scenario = two_hosts() | {"duration": "10 min", "flows": [endless]}
    scenario["hosts"]["client"] = {"profile": "linux", "run": ["sleep", "0.5"], "ends": True}
    found = voxpath_package.run(voxpath_package.load(scenario), backends=["real"], out=tmp_path)
    assert found.flows.get_column("datagrams_sent").to_list()[0] < 600 / 0.02


def test_a_run_that_nothing_ends_needs_a_duration(voxpath, tmp_path: Path):
    (tmp_path / "s.toml").write_text(from_dict(two_hosts(reach=[8000])).text)
    called = voxpath("run", "s.toml", "--backend", "real")
    assert called.code == 2
    assert "nothing ends this run" in called.err
    called = voxpath("run", "s.toml", "--backend", "sim")
    assert called.code == 2
    assert "the host 'server' joins this machine to the network (reach)" in called.err


def test_inside_of_a_host_the_machine_is_found_where_the_outer_one_found_it(monkeypatch: pytest.MonkeyPatch):
    plan = from_dict(two_hosts(reach=[8000, 9000])).plan.data
    monkeypatch.setenv(REACH, "8000/tcp=10.0.0.2 9000/udp=10.0.0.2")
    monkeypatch.setattr(relays, "in_a_host", lambda: True)
    assert [relay.target for relay in relays.relays(plan)] == [("10.0.0.2", 8000), ("127.0.0.1", 9000)]
    monkeypatch.setenv(REACH, "8000/tcp=10.0.0.2 garbage")
    with pytest.raises(RealError, match="VOXPATH_REACH says 'garbage'"):
        relays.relays(plan)


@pytest.mark.parametrize("told", ["8000/tcp=203.0.113.1", "garbage"])
def test_variables_alone_open_nothing_and_lead_nowhere(told: str, monkeypatch: pytest.MonkeyPatch):
    plan = from_dict(two_hosts(reach=[8000], publish=["9000:client:8000"])).plan.data
    monkeypatch.setenv(HOST, "client")
    monkeypatch.setenv(REACH, told)
    reach, publish = relays.relays(plan)
    assert (reach.target, publish.place) == (("127.0.0.1", 8000), ("127.0.0.1", 9000))


def test_a_command_in_a_command_publishes_at_the_outer_hosts_addresses(tmp_path: Path):
    inner = [PYTHON, "-m", "voxpath", "exec", "--publish", "8000", "--", PYTHON, "-c", SERVE]
    code = (
        "import socket, subprocess, sys\n"
        f"serving = subprocess.Popen({inner!r}, stdout=subprocess.PIPE)\n"
        "serving.stdout.readline()\n"
        "print(socket.create_connection(('10.0.0.1', 8000)).recv(100).decode())\n"
        "sys.exit(serving.wait())\n"
    )
    done = behind_link("--", PYTHON, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "10.0.0.2\n"), done.stderr


def test_the_view_shows_what_links_did_between_two_looks():
    plan = from_dict(two_hosts()).plan.data
    idle = (0, 0, 0, 0, 0, 5_000_000)
    before = (1_000_000_000, [idle, idle])
    after = (1_500_000_000, [(9, 125_000, 2, 1, 7, 12_300_000), idle])
    up, down = live.link_rows(plan, before, after)
    assert up == ("link: client → server", "2.00", "7", "12.3", "2", "1")
    assert down == ("link: server → client", "0.00", "0", "5.0", "0", "0")


def test_a_run_shows_its_time_and_its_links():
    shown = []

    class Shown(terminal.Progress):
        def look(self, at, columns, rows) -> None:
            del columns
            shown.append((at, rows))

    with Shown("x", 1) as progress, voxpath_package.real(two_hosts()) as net:
        view = live.View(progress)

        def seen() -> bool:
            view.look([net._network])
            return bool(shown and shown[-1][1])

        until(seen)
    assert re.fullmatch(r"[0-9.]+ s", shown[-1][0])
    assert [row[0] for row in shown[-1][1]] == ["link: client → server", "link: server → client"]


def test_a_link_in_one_line_is_kept_with_its_page(echo: int, tmp_path: Path):
    (tmp_path / "ride.trace").write_text("1\n2\n3\n")
    done = behind_link(
        *(
            "--preset",
            "dsl",
            "--down-trace",
            "ride.trace",
            "--jitter",
            "1 ms, 50 %",
            "--queue",
            "fq_codel, 90 packets",
        ),
        *("--loss", "0.1 %", "--burst", "3 packets", "--second-delay", "30 ms", "--reach", f"{echo}-{echo}"),
        *("--out", "runs", "--report", "page.html", "--verbose"),
        *("--", PYTHON, "-c", ASK, "machine", str(echo)),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "160000 HEAR ME\n"), done.stderr
    assert " second: machine → client " in done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    made = read(folder / "scenario.toml")
    up, down = (made.plan.data["links"][0][way] for way in ("ab", "ba"))
    assert (up["rate_bps"], up["capacity"], down["rate_bps"]) == (384_000, None, None)
    assert down["capacity"] == {"kind": "trace", "opportunities_ms": [1, 2, 3]}
    assert down["queueing"]["kind"] == "fq_codel"
    assert (down["queue_packets"], down["delay_ns"]) == (90, 25_000_000)
    assert made.plan.data["links"][1]["ab"]["delay_ns"] == 30_000_000
    looks = pl.read_parquet(folder / "links.parquet")
    served = (
        looks.filter(pl.col("link").str.starts_with("link:"))
        .group_by("link")
        .agg(pl.col("served_bytes").last())
    )
    assert min(served["served_bytes"]) > 160_000
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in ("The links over time", "congestion window", "In ", "The network"))


def test_what_leaves_by_a_link_is_answered_by_it(tmp_path: Path):
    found = {}
    for address in ("10.0.0.1", "10.0.0.2"):
        ping = ("ping", "-c", "2", "-i", "0.2", "-q", "-I", address, "machine")
        done = behind_link("--delay", "5 ms", "--second-delay", "40 ms", "--", *ping, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found[address] = float(done.stdout.rsplit("= ", 1)[1].split("/")[0])
    assert found["10.0.0.1"] >= 10
    assert found["10.0.0.2"] >= 80


def test_a_command_runs_in_a_scenario_and_is_summed_up(tmp_path: Path):
    link = 'kind = "pipe"\nlink = { rate = "10 Mbit/s", delay = "1 ms" }'
    host = 'profile = "linux"\nreal = true'
    (tmp_path / "net.toml").write_text(f'name = "x"\n[topology]\n{link}\n[hosts.client]\n{host}\n')
    done = behind_link(
        "--scenario", "net.toml", "--host", "client", "-v", "--", "sh", "-c", "exit 4", cwd=tmp_path
    )
    assert done.returncode == 4, done.stderr
    assert "client" in done.stderr
    assert len(done.stderr.splitlines()) <= 10


def test_the_meter_takes_the_last_line_and_gives_it_back():
    code, shown = on_a_terminal(
        [
            PYTHON,
            "-m",
            "voxpath",
            "exec",
            "--delay",
            "1 ms",
            "--meter",
            "--",
            "sh",
            "-c",
            "stty size; sleep 0.6",
        ]
    )
    assert code == 0
    assert "23 80" in shown
    assert re.search(r" s  up [0-9.]+ Mbit/s, 1 ms  down [0-9.]+ Mbit/s, 1 ms", shown)
    assert shown.index("\x1b[1;23r") < shown.index("23 80") < shown.rindex("\x1b[r")


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """The exit code of a command that has a terminal of 24 lines and 80 columns, and what this showed."""
    child, screen = pty.fork()
    if child == 0:
        termios.tcsetwinsize(0, (24, 80))
        os.execvp(command[0], command)
    shown = b""
    with contextlib.suppress(OSError):
        while some := os.read(screen, 4096):
            shown += some
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


@pytest.mark.parametrize(
    ("name", "program"), [("real-iperf3", "iperf3"), ("real-ftp", "curl"), ("real-web", "python3")]
)
def test_known_programs_run_from_their_scenarios(
    name: str, program: str, voxpath, monkeypatch, tmp_path: Path
):
    assert shutil.which(program), f"{program} is missing: make setup installs it"
    monkeypatch.setenv("PATH", f"{Path(PYTHON).parent}:{os.environ['PATH']}")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    called = voxpath("run", f"scenarios/{name}.toml", "--backend", "real", "--observe", "tcp")
    (folder,) = (tmp_path / "runs").iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert of_the_run(verdict["problems"]) == []
    assert called.code == (0 if verdict["valid"] else 1)
    programs = pl.read_parquet(folder / "programs.parquet")
    assert set(programs["exit_code"].drop_nulls()) <= {0}
    table = called.out.split("programs", 1)[1] if name != "real-web" else ""
    assert all(host in table for host in ("server", "client")) or name == "real-web"
    if name == "real-ftp":
        assert "exit code 0" in table
        assert "2000000 bytes in" in table
    if name == "real-iperf3":
        found = json.loads((folder / "programs" / "client.stdout").read_text())
        assert 0 < found["end"]["sum_received"]["bits_per_second"] < 10e6
        sent_by = f"client:{found['start']['connected'][0]['local_port']} > server:5201"
        values = pl.read_parquet(folder / "series.parquet").filter(flow=sent_by, end="client")
        windows = values.filter(metric="cwnd_bytes")["value"]
        assert windows.max() > windows.min() > 0
        round_trips = values.filter(metric="srtt_ns")["value"]
        assert round_trips.max() > 40e6
    if name == "real-ftp":
        assert (folder / "programs" / "client.stdout").read_text().startswith("2000000 bytes")


def test_a_scenario_without_flows_is_reported(voxpath, tmp_path: Path):
    link = 'kind = "pipe"\nlink = { delay = "1 ms" }'
    host = 'profile = "linux"\nrun = ["echo", "done"]'
    (tmp_path / "only.toml").write_text(f'name = "only"\n[topology]\n{link}\n[hosts.client]\n{host}\n')
    called = voxpath("report", "only.toml", "--backend", "real")
    assert "Traceback" not in called.err
    page = (tmp_path / "only.html").read_text()
    assert all(text in page for text in ("echo done", "exit code 0", "the programs on client"))


def help_examples() -> list[tuple[str, str]]:
    found = [
        (name, re.findall(rf"^  voxpath {name} (.*)$", cli.commands[name].epilog or "", re.MULTILINE))
        for name in ("exec", "shell")
    ]
    return [(name, line) for name, lines in found for line in lines]


@pytest.mark.parametrize(("name", "line"), help_examples())
def test_the_examples_of_the_help_are_understood(name: str, line: str):
    context = cli.commands[name].make_context(name, shlex.split(line))
    assert context.params["command"] or name == "shell"
    if context.params["host"] is not None:
        document = read(ROOT / context.params["scenario"]).with_real(context.params["host"])
        Session(document.plan.json)


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, line in help_examples() if " -- ping " in line]
)
def test_the_examples_of_the_help_that_ping_get_an_answer(name: str, line: str):
    assert shutil.which("ping"), "ping is missing: make setup installs it"
    done = subprocess.run(
        [PYTHON, "-m", "voxpath", name, *shlex.split(line)],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 packets transmitted, 1 received" in done.stdout


def test_doctor_looks_for_every_program_of_the_examples():
    lines = [shlex.split(line) for _, line in help_examples() if " -- " in line]
    started = {line[line.index("--") + 1] for line in lines}
    assert started - {"voxpath", "python3", "bash"} <= set(packages.OF_EXAMPLES | packages.NEEDED)
    setup = (ROOT / "Makefile").read_text().split("PROGRAMS := ", 1)[1].splitlines()[0]
    for package in packages.OF_EXAMPLES.values():
        assert re.search(rf"[ ,]{package}[ )]", setup), package


@pytest.mark.parametrize(
    ("link", "place", "column"),
    [
        (
            {"queue": {"kind": "red", "min": "2 packets", "max": "6 packets", "weight": 0.1}},
            "queue",
            "dropped",
        ),
        ({"queue": {"kind": "codel", "target": "1 ms", "interval": "20 ms"}}, "queue", "dropped"),
        ({"queue": {"kind": "fq_codel", "target": "1 ms", "interval": "20 ms"}}, "queue", "dropped"),
        ({"queue": {"kind": "pie", "target": "1 ms", "max_burst": "0 s"}}, "queue", "in"),
        ({"rate": {"kind": "schedule", "steps": [{"at": "0 s", "rate": "5 Mbit/s"}]}}, "serialiser", "out"),
        ({"loss": {"kind": "gilbert_elliott", "to_bad": "2 %", "to_good": "50 %"}}, "loss", "dropped"),
        ({"delay": {"kind": "normal", "mean": "5 ms", "deviation": "1 ms"}}, "delay", "out"),
        ({"corrupt": "3 %"}, "corruption", "marked"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else str(value),
)
def test_a_kernel_is_behind_every_kind_of_element(link: dict[str, object], place: str, column: str):
    """The kernel finds every wrong bit, and repairs what the link does; the element has done something."""
    flow = {"name": "data", "app": {"kind": "bulk", "size": "500 kB"}}
    whole = {**two_hosts(), "topology": {"kind": "pipe", "link": LINK | link}, "flows": [flow]}
    with voxpath_package.real(whole) as net:
        net.wait()
        result = net.finish()
    assert result.flows.select("status", "bytes_delivered", "bytes_wrong").row(0) == ("completed", 500_000, 0)
    assert of_the_run(result.problems) == []
    elements = result.tables["elements"].filter(pl.col("element") == place)
    assert elements[f"packets_{column}"].sum() > 0


def test_python_asks_any_backend(tmp_path: Path):
    flow = {"name": "data", "app": {"kind": "bulk", "size": "50 kB"}}
    data = {**two_hosts(), "topology": {"kind": "pipe", "link": LINK}, "flows": [flow]}
    document = voxpath_package.load(data)
    asked = ("sim", "real", "formula")
    result = voxpath_package.run(document, out=tmp_path, backends=asked)
    assert result.flows["backend"].to_list() == ["sim", "real"]
    assert result.flows["status"].to_list() == ["completed"] * 2
    assert len(result.folders) == 2
    told = {row.estimator for row in result.rows if row.metric == "completion_s"}
    assert {"sim", "real"} < told

    alone = voxpath_package.run(document, out=tmp_path, backends=["real"])
    assert alone.folders == result.folders[1:]
    assert "backend" not in alone.flows.columns
    compared = voxpath_package.compare(document, out=tmp_path, backends=asked)
    assert compared.flows["backend"].to_list() == ["sim", "real"]
    assert len(list(tmp_path.iterdir())) == 2, "nothing was run again"
    with pytest.raises(ValueError, match=r"'reel' is unknown; did you mean 'real'\?"):
        voxpath_package.sweep(document, out=tmp_path, backends=["reel"])
    with pytest.raises(ValueError, match="names nothing; allowed: sim, formula, real"):
        voxpath_package.run(document, out=tmp_path, backends=[])


def test_signals_reach_programs_that_python_started(tmp_path: Path):
    with voxpath_package.real(two_hosts(), out=tmp_path) as net:
        client = net.host("client")
        for end, code in (("terminate", 128 + signal.SIGTERM), ("kill", -signal.SIGKILL)):
            script = "trap 'echo asked; exit 3' USR1; echo ready; while :; do sleep 0.01; done"
            program = client.popen(["sh", "-c", script], stdout=subprocess.DEVNULL)
            getattr(program, end)()
            assert program.wait(PATIENCE_S) == code
        program = client.popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGUSR1)
        assert program.communicate(timeout=PATIENCE_S) == ("asked\n", None)
        assert program.returncode == 3
        program.terminate()
        with pytest.raises(subprocess.TimeoutExpired, match=r"Command '\['sleep', '600'\]' timed out"):
            client.run(["sleep", "600"], timeout=0.1)
        with pytest.raises(ValueError, match="the command is empty"):
            client.run([])
    assert len(list(tmp_path.glob("*/verdict.json"))) == 1, "it is kept without being asked for"
    with pytest.raises(RealError, match="the network is over"):
        client.run(["true"])


DEAF = """
import socket, sys, time
deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
deaf.bind(("", 7000))
print("ready", flush=True)
time.sleep(600)
"""
TALK = """
import socket
talking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100):
    talking.sendto(bytes(500), ("server", 7000))
"""


def refused(host: realtime.RealHost) -> int:
    """Datagrams that have found their socket full, as the host's kernel counts them."""
    told = host.run(["cat", "/proc/net/snmp"], capture_output=True, text=True, check=True).stdout
    names, counts = (line.split() for line in told.splitlines() if line.startswith("Udp:"))
    return int(counts[names.index("RcvbufErrors")])


def test_datagrams_that_a_program_does_not_read_make_a_run_invalid():
    with voxpath_package.real(two_hosts()) as net:
        deaf = net.host("server").popen([PYTHON, "-c", DEAF], stdout=subprocess.PIPE, text=True)
        assert deaf.stdout.readline() == "ready\n"
        net.host("client").run([PYTHON, "-c", TALK], check=True)
        until(lambda: refused(net.host("server")) > 50)
        result = net.finish()
        deaf.communicate()
    assert not result.valid
    (device,) = (device for device in result.fidelity["devices"] if device["unread"])
    assert 50 < device["unread"] < 100
    assert any("host 'server' and found their sockets full" in problem for problem in result.problems)
