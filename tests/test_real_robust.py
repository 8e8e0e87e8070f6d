"""What goes wrong around real hosts: whatever is killed, nothing is left behind, and the next run works."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from conftest import PATIENCE_S
from processes import Process, Tool, until
from voxpath import halts

ENDLESS = """\
name = "endless"

[topology]
kind = "pipe"
link = { delay = "5 ms" }

[hosts.server]
profile = "linux"
run = ["sleep", "86401"]
"""
"""A scenario whose program does not end by itself."""

CALL = """\
name = "call"
seed = {seed}

[topology]
kind = "pipe"
link = {{ delay = "2 ms" }}

[hosts.server]
profile = "linux"
listens = 5000
run = ["{python}", "-c", '''
import socket
server = socket.create_server(("0.0.0.0", 5000))
while True:
    connection, _ = server.accept()
    with connection: connection.sendall(b"I am {seed}")
''']

[hosts.client]
profile = "linux"
run = ["{python}", "-c", '''
import socket
with socket.create_connection(("server", 5000)) as connection: print(connection.recv(100).decode())
''']
"""
"""A scenario that is over in a moment: a program asks another one who it is."""


def call(directory: Path, seed: int = 1) -> Path:
    path = directory / f"call{seed}.toml"
    path.write_text(CALL.format(seed=seed, python=sys.executable))
    return path


class Hosts(Tool):
    """A tool that holds real hosts."""

    seen: frozenset[str] = frozenset()
    """Network namespaces that were looked at."""

    def runner(self) -> Process:
        """The process that holds the namespaces."""
        (found,) = [
            found
            for found in self.processes()
            if "real.runner" in found.command and found.parent == self.popen.pid
        ]
        return found

    def namespaces(self) -> set[str]:
        """Network namespaces that its processes are in or hold, but for the machine's own."""
        found = {name for one in self.processes() for name in namespaces_of(one.pid)}
        found -= {str(Path("/proc/self/ns/net").readlink())}
        self.seen |= found
        return found


def namespaces_of(pid: int | str) -> Iterator[str]:
    for folder in (Path(f"/proc/{pid}/ns"), Path(f"/proc/{pid}/fd")):
        try:
            for entry in folder.iterdir():
                name = str(entry.readlink())
                if name.startswith("net:"):
                    yield name
        except OSError:
            continue


def all_namespaces() -> set[str]:
    """Every network namespace of the machine that a process is in or holds, or that is mounted somewhere."""
    held = {name for folder in Path("/proc").glob("[0-9]*") for name in namespaces_of(folder.name)}
    return held | set(re.findall(r" (net:\[\d+\]) ", Path("/proc/self/mountinfo").read_text()))


@contextlib.contextmanager
def leaving_nothing(tool: Hosts, directory: Path) -> Iterator[None]:
    """Whatever happens to a run in here, nothing of it is left afterwards, and the next one works."""
    devices = set(Path("/sys/class/net").iterdir())
    try:
        yield
        until(lambda: not tool.processes())
        until(lambda: not tool.seen & all_namespaces())
        until(lambda: not set(Path("/sys/class/net").iterdir()) - devices)
        assert list(tool.temporary.iterdir()) == []
        assert not list(directory.glob("runs/.partial-*"))
    finally:
        tool.killed()
    assert_works(directory)


@pytest.fixture
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosts]:
    """A run that is going on; a parameter is where it is to halt."""
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    halt_at = getattr(request, "param", None)
    tool = Hosts(tmp_path, "run", path, "--backend", "real", "--out", tmp_path / "runs", halt_at=halt_at)
    with leaving_nothing(tool, tmp_path):
        tool.running("^sleep 86401")
        assert len(tool.namespaces()) == 1, "the other host has nothing to run"
        yield tool


def assert_works(directory: Path) -> None:
    tool = Tool(directory, "run", call(directory), "--backend", "real", "--out", directory / "next")
    code, err = tool.ended()
    (folder,) = (directory / "next").iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert code == 0 or not verdict["kept_up"], err
    assert (folder / "programs" / "client.stdout").read_text() == "I am 1\n"


def test_nothing_survives_a_tool_that_is_killed(started: Hosts):
    started.popen.kill()
    assert started.ended()[0] == -signal.SIGKILL


@pytest.mark.parametrize("point", ["session.runner-started", "session.hosts-made", "session.ends"])
def test_nothing_survives_a_tool_that_is_killed_while_it_makes_or_ends_hosts(
    point: halts.Point, tmp_path: Path
):
    arguments = ("run", call(tmp_path), "--backend", "real", "--out", tmp_path / "runs")
    tool = Hosts(tmp_path, *arguments, halt_at=point)
    with leaving_nothing(tool, tmp_path):
        tool.halted()
        tool.namespaces()
        tool.popen.kill()
        assert tool.ended()[0] == -signal.SIGKILL


def test_nothing_survives_a_runner_that_is_killed(started: Hosts, tmp_path: Path):
    started.runner().kill()
    code, err = started.ended()
    assert code == 1
    assert "the process that holds the hosts has ended (SIGKILL)" in err
    assert not list(tmp_path.glob("runs/*"))


def test_nothing_survives_a_killed_runner_whose_processes_are_stopped(started: Hosts):
    runner = started.runner()
    (first,) = [found for found in started.processes() if found.parent == runner.pid]
    for stopped in (first, runner):
        os.kill(stopped.pid, signal.SIGSTOP)
    runner.kill()
    assert started.ended()[0] == 1


def test_a_program_that_is_killed_makes_the_run_invalid(started: Hosts, tmp_path: Path):
    started.running("^sleep 86401").kill()
    code, err = started.ended()
    assert code == 1
    assert "invalid run" in err
    (folder,) = (tmp_path / "runs").iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert "the program 'sleep' on host 'server' ended with" in "\n".join(verdict["problems"])
    programs = pl.read_parquet(folder / "programs.parquet")
    assert programs["exit_code"].to_list() != [0]


@pytest.mark.parametrize("started", [None, "session.ends"], indirect=True)
def test_ctrl_c_ends_everything(started: Hosts, tmp_path: Path, request: pytest.FixtureRequest):
    """Pressed once, or again while the hosts are put away."""
    started.interrupt()
    if request.node.callspec.params["started"]:
        started.halted()
        started.interrupt()
    code, err = started.ended()
    assert (code, err.strip()) == (130, "voxpath: interrupted")
    assert not list(tmp_path.glob("runs/*"))


def test_a_full_disk_leaves_no_half_of_a_run(tmp_path: Path):
    """The capture does not fit; once there is room, the same run works."""
    text = call(tmp_path).read_text()
    flow = '[[flows]]\nname = "f"\napp = {{ kind = "download", request = "100 B", response = "{} kB" }}\n'
    path = tmp_path / "full.toml"
    path.write_text(text + flow.format(2000))
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "voxpath-test", disk], check=True)
    try:
        arguments = ["run", path, "--backend", "real", "--capture", "client", "--out", disk / "runs"]
        code, err = Tool(tmp_path, *arguments).ended()
        assert code == 1
        assert "cannot write a run to" in err
        assert "No space left on device" in err
        assert list((disk / "runs").iterdir()) == []
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        tool = Tool(tmp_path, *arguments)
        code, err = tool.ended()
        (folder,) = (disk / "runs").iterdir()
        assert code == 0 or not json.loads((folder / "verdict.json").read_text())["kept_up"], err
        assert (folder / "captures" / "client.pcapng").stat().st_size > 2_000_000
        assert not tool.processes()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_twenty_runs_at_a_time_keep_apart(tmp_path: Path):
    """All have the same addresses; their timing may be invalid, and then says so."""
    seeds = range(1, 21)

    def run(seed: int) -> tuple[int, str]:
        return Tool(
            tmp_path, "run", call(tmp_path, seed), "--backend", "real", "--out", tmp_path / "runs"
        ).ended()

    with ThreadPoolExecutor(len(seeds)) as pool:
        answers = list(pool.map(run, seeds))
    for code, err in answers:
        assert code == 0 or "invalid run" in err, err
    folders = list((tmp_path / "runs").iterdir())
    said = {}
    for folder in folders:
        verdict = json.loads((folder / "verdict.json").read_text())
        assert verdict["valid"] or not verdict["kept_up"], verdict["problems"]
        seed = json.loads((folder / "plan.json").read_text())["seed"]
        said[seed] = (folder / "programs" / "client.stdout").read_text()
    assert said == {seed: f"I am {seed}\n" for seed in seeds}


FLOOD = """\
name = "flood"
duration = "1 s"

[topology]
kind = "pipe"
link = { delay = "2 ms" }

[hosts]
client.profile = "linux"
server.profile = "linux"

[[flows]]
name = "flood"
transport = { kind = "udp" }
app = { kind = "cbr", packet = "100 B", interval = "300 ns" }
"""
"""Ten times as many packets as the network can forward on any machine that we have seen."""


@pytest.mark.parametrize("hogs", [0, 2])
def test_an_overloaded_run_ends_and_says_that_it_is_worth_nothing(hogs: int, tmp_path: Path):
    path = tmp_path / "flood.toml"
    path.write_text(FLOOD)
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
    try:
        tool = Tool(tmp_path, "run", path, "--backend", "real", "--out", tmp_path / "runs")
        code, err = tool.ended()
        assert not tool.processes()
    finally:
        for hog in beside:
            hog.kill()
            hog.wait()
    assert code == 1
    assert "invalid run" in err
    (folder,) = (tmp_path / "runs").iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert (verdict["valid"], verdict["kept_up"]) == (False, False)
    problems = "\n".join(verdict["problems"])
    assert "could not keep up" in problems
    # What was lost at the edge is lost; nothing else went wrong.
    assert "not what was sent" not in problems
    attempts = json.loads((folder / "environment.json").read_text())["attempts"]
    assert len(attempts) == 2, "and it was tried again before"
    assert json.loads((folder / "fidelity.json").read_text())["packets_in"] > 0


FAST = """\
name = "fast"
seed = 1

[topology]
kind = "pipe"
link = { rate = "300 Mbit/s", delay = "10 ms", queue = "500 packets" }

[hosts.client]
profile = "linux"

[hosts.server]
profile = "linux"

[[flows]]
name = "bulk"
app = { kind = "bulk", size = "75 MB" }
"""
"""282 Mbit/s where its hosts have a processor; without one packets are on time all the same, but fewer."""


def test_a_run_whose_senders_had_no_processor_is_not_accepted(tmp_path: Path):
    path = tmp_path / "fast.toml"
    path.write_text(FAST)
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    try:
        tool = Tool(tmp_path, "run", path, "--backend", "real", "--out", tmp_path / "runs")
        tool.ended()
    finally:
        for hog in beside:
            hog.kill()
            hog.wait()
    (folder,) = (tmp_path / "runs").iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    (goodput,) = pl.read_parquet(folder / "flows.parquet")["goodput_bps"]
    assert verdict["kept_up"] == (not verdict["problems"])
    assert not verdict["valid"] or goodput > 0.95 * 282e6


class User:
    """Somebody without privileges, who can read this project and its interpreter, and write to a folder."""

    number = 65534

    def __init__(self, folder: Path, *preparations: str) -> None:
        """`preparations` are commands that root runs before, in a mount namespace of their own."""
        self.folder = folder
        hidden = [
            self._uncovered(Path(place).resolve())
            for place in (sys.base_prefix, sys.prefix, Path(__file__).parent.parent)
        ]
        self.preparations = [*(command for commands in hidden for command in commands), *preparations]

    def _uncovered(self, place: Path) -> list[str]:
        """Commands after which the user can reach `place`, though a directory above it is private."""
        private = [one for one in reversed(place.parents) if not one.stat().st_mode & 0o001]
        if not private:
            return []
        held = self.folder / "held"
        return [
            f"mkdir -p {held}",
            f"mount --bind {place} {held}",
            f"mount -t tmpfs -o mode=755 none {private[0]}",
            f"mkdir -p {place}",
            f"mount --move {held} {place}",
        ]

    def voxpath(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return self.call(sys.executable, "-m", "voxpath", *arguments)

    def call(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        user = [
            "setpriv",
            f"--reuid={self.number}",
            f"--regid={self.number}",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--",
            "env",
            f"HOME={self.folder}",
            f"TMPDIR={self.folder}",
            "PYTHONDONTWRITEBYTECODE=1",
        ]
        script = "\n".join(["set -e", *self.preparations, 'exec "$@"'])
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", *user, *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the user's own."""
    with tempfile.TemporaryDirectory(prefix="voxpath-test-") as name:
        path = Path(name)
        os.chown(path, User.number, User.number)
        yield path


FLOW = '[[flows]]\nname = "f"\napp = { kind = "download", request = "100 B", response = "500 kB" }\n'


@pytest.mark.parametrize("edge", ["tun", "veth"])
def test_it_works_without_privileges(edge: str, folder: Path):
    """Over TUN where everybody may use it, as on most machines; over veth where only root may."""
    mode = {"tun": "0666", "veth": "0600"}[edge]
    node = folder / "tun"
    user = User(folder, f"mknod {node} c 10 200", f"chmod {mode} {node}", f"mount --bind {node} /dev/net/tun")
    path = call(folder)
    path.write_text(path.read_text() + FLOW)
    done = user.voxpath("run", path, "--backend", "real", "--capture", "client", "--out", "runs")
    assert done.returncode in (0, 1), done.stderr
    (run,) = (folder / "runs").iterdir()
    verdict = json.loads((run / "verdict.json").read_text())
    assert verdict["valid"] or not verdict["kept_up"], verdict["problems"]
    assert (run / "programs" / "client.stdout").read_text() == "I am 1\n"
    assert (run / "verdict.json").stat().st_uid == User.number
    flows = pl.read_parquet(run / "flows.parquet")
    assert (flows["bytes_delivered"].to_list(), flows["bytes_wrong"].to_list()) == ([500_000], [0])
    fidelity = json.loads((run / "fidelity.json").read_text())
    assert {device["edge"] for device in fidelity["devices"]} == {edge}
    # The others have what the first one was found to need.
    because = fidelity["devices"][0]["not_tun_because"]
    assert because is None if edge == "tun" else "chmod 0666 /dev/net/tun" in because
    assert fidelity["scheduling"] == "SCHED_OTHER", "real-time scheduling is root's"


@pytest.fixture(params=["tun", "veth"])
def user(request: pytest.FixtureRequest, folder: Path) -> User:
    """Somebody without privileges, where everybody may use TUN and where only root may."""
    node = folder / "tun"
    mode = {"tun": "0666", "veth": "0600"}[request.param]
    make = f"test -e {node} || mknod {node} c 10 200"
    return User(folder, make, f"chmod {mode} {node}", f"mount --bind {node} /dev/net/tun")


def test_a_command_behind_a_link_works_without_privileges(user: User):
    done = user.voxpath(
        "exec", "--delay", "5 ms", "--", "sh", "-c", "id -u; ip -brief address show net0; exit 7"
    )
    assert done.returncode == 7, done.stderr
    own, device = done.stdout.splitlines()
    assert own == str(User.number)
    assert "10.0.0.1" in device


SEEN = "echo /proc/[0-9]*; readlink /proc/self; echo $$; echo /sys/class/net/*; echo /sys/fs/cgroup/*"


def seen(told: str) -> None:
    """What a program sees of processes and interfaces is its run's and its host's."""
    processes, own, number, devices, groups = told.splitlines()
    assert number in {Path(process).name for process in processes.split()}
    # The first process, the launcher, the shell.
    assert len(processes.split()) == 3
    # That of `readlink`, which the shell started.
    assert int(own) > int(number)
    assert devices.split() == ["/sys/class/net/lo", "/sys/class/net/net0"]
    # What is mounted in the machine's /sys is still there.
    assert groups.split() == sorted(str(path) for path in Path("/sys/fs/cgroup").iterdir())


def test_programs_see_their_own_processes_and_interfaces(voxpath):
    called = voxpath("exec", "--delay", "1 ms", "--", "sh", "-c", SEEN)
    assert called.code == 0, called.err
    seen(called.out)


def test_programs_see_their_own_processes_and_interfaces_without_privileges(user: User):
    done = user.voxpath("exec", "--delay", "1 ms", "--", "sh", "-c", SEEN)
    assert done.returncode == 0, done.stderr
    seen(done.stdout)


def test_commands_nest_without_privileges(user: User):
    inner = (sys.executable, "-m", "voxpath", "exec", "--delay", "5 ms", "--", "id", "-u")
    done = user.voxpath("exec", "--delay", "5 ms", "--", *inner)
    assert (done.returncode, done.stdout) == (0, f"{User.number}\n"), done.stderr


def test_a_shell_works_without_privileges(user: User, folder: Path):
    done = user.voxpath(
        "shell", call(folder), "--host", "client", "--", "sh", "-c", "getent hosts server; pwd"
    )
    assert done.returncode == 0, done.stderr
    address, here = done.stdout.splitlines()
    assert re.fullmatch(r"10\.\S+ +server", address)
    assert here == str(folder)


def test_doctor_says_what_works_without_privileges(user: User):
    done = user.voxpath("doctor")
    assert done.returncode == 0, done.stderr
    lines = {edge: _line(done.stdout, f"real hosts by {edge}, without root") for edge in ("tun", "veth")}
    assert "two were made and joined, with SCHED_OTHER" in lines["veth"]
    assert "the machine's" not in lines["veth"]
    if " TUN " in _line(done.stdout, "TUN") and "works" in _line(done.stdout, "TUN"):
        assert "two were made and joined" in lines["tun"]
    else:
        assert "open /dev/net/tun" in lines["tun"]


def _line(text: str, part: str) -> str:
    (found,) = (line for line in text.splitlines() if line.strip().startswith(part))
    return found


def test_an_edge_that_is_asked_for_is_not_replaced(tmp_path: Path):
    path = call(tmp_path)
    arguments = ["run", path, "--backend", "real", "--force", "--out", tmp_path / "runs"]
    code, err = Tool(tmp_path, *arguments, environment={"VOXPATH_EDGE": "pigeon"}).ended()
    assert (code, err) == (1, 'Error: there is no edge "pigeon"; use tun, veth or tap\n')
    for edge in ("veth", "tun"):
        Tool(tmp_path, *arguments, environment={"VOXPATH_EDGE": edge}).ended()
        (run,) = (tmp_path / "runs").iterdir()
        fidelity = json.loads((run / "fidelity.json").read_text())
        assert {(device["edge"], device["not_tun_because"]) for device in fidelity["devices"]} == {
            (edge, None)
        }


@pytest.mark.parametrize(("edge", "kind"), [("tap", "tun"), ("bridge", "bridge")])
def test_a_host_may_speak_ethernet(tmp_path: Path, edge: str, kind: str):
    """A TAP device is of the kernel's kind "tun" too; only over Ethernet has it a neighbour."""
    path = tmp_path / "ethernet.toml"
    ask = "import socket; print(socket.create_connection(('server', 5000)).recv(99).decode())"
    look = "ip -json -details link show net0; ip -json neighbour"
    path.write_text(
        CALL.format(seed=1, python=sys.executable).split("[hosts.client]", maxsplit=1)[0]
        + f'''[hosts.client]
profile = "linux"
edge = "{edge}"
run = ["sh", "-c", """{sys.executable} -c "{ask}"; {look}"""]
{FLOW}'''
    )
    Tool(tmp_path, "run", path, "--backend", "real", "--out", tmp_path / "runs").ended()
    (run,) = (tmp_path / "runs").iterdir()
    said, link, neighbours = (run / "programs" / "client.stdout").read_text().splitlines()
    assert json.loads(link)[0]["linkinfo"]["info_kind"] == kind
    (neighbour,) = json.loads(neighbours)
    assert (neighbour["dev"], neighbour["lladdr"]) == ("net0", "02:00:00:00:00:02")
    assert said == "I am 1"
    fidelity = json.loads((run / "fidelity.json").read_text())
    assert {device["edge"] for device in fidelity["devices"]} == {"tun", "tap"}
    flows = pl.read_parquet(run / "flows.parquet")
    assert (flows["bytes_delivered"].to_list(), flows["bytes_wrong"].to_list()) == ([500_000], [0])


def test_who_may_make_no_namespaces_is_told_what_to_do(tmp_path: Path):
    """In a user namespace in which there is room for no other one."""
    path = call(tmp_path)
    limit = "echo 0 > /proc/sys/user/max_user_namespaces"
    drop = "exec setpriv --inh-caps=-all --bounding-set=-all -- "
    command = f"{sys.executable} -m voxpath run {path} --backend real --out {tmp_path}/runs"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", f"{limit}; {drop}{command}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert "cannot make a user namespace" in done.stderr
    assert "sysctl user.max_user_namespaces" in done.stderr
    assert "or run as root" in done.stderr
