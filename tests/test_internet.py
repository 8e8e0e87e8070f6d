"""`--internet`: what a command reaches of the machine's networks, and what it does not.

The machine's network is one of our own making here: a namespace in which this machine has an address of
documentation (RFC 5737) and a name server of ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PATIENCE_S
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real import internet
from voxpath.backends.real.configuration import configurations
from voxpath.scenario import ScenarioError, from_dict

LINK = {"kind": "pipe", "link": {"delay": "30 ms"}}
PYTHON = sys.executable

SERVE = """
import http.server, os, socket, threading

class Told(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.client_address[0].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

def names():
    answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answers.bind((os.environ["NAMES"], 53))
    print("names", flush=True)
    while True:
        asked, whose = answers.recvfrom(512)
        end = asked.index(b"\\0", 12) + 5
        is_a = asked[end - 4 : end - 2] == b"\\0\\1"
        head = asked[:2] + b"\\x81\\x80\\0\\1" + (b"\\0\\1" if is_a else b"\\0\\0") + b"\\0\\0\\0\\0"
        found = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4" + bytes([192, 0, 2, 10]) if is_a else b""
        answers.sendto(head + asked[12:end] + found, whose)

threading.Thread(target=names, daemon=True).start()
http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Told).serve_forever()
"""

INSIDE = """
import json, socket, sys, time, urllib.request
found = {}
def tries(name, what):
    try:
        found[name] = what()
    except OSError as error:
        found[name] = type(error).__name__
def fetch(address):
    began = time.monotonic()
    body = urllib.request.urlopen(f"http://{address}:8080/", timeout=20).read().decode()
    return [body, time.monotonic() - began]
tries("address", lambda: fetch("192.0.2.10"))
tries("name", lambda: fetch("www.voxpath.example"))
tries("loopback", lambda: fetch("127.0.0.1"))
tries("its loopback", lambda: fetch("198.51.100.2"))
json.dump(found, open("found.json", "w"))
"""

# The machine: a loopback, an address, a name server; then what runs in it.
MACHINE = """
set -e
ip link set lo up
ip address add 192.0.2.10/32 dev lo
echo "nameserver $NAMES" > resolv.conf
mount --bind resolv.conf /etc/resolv.conf
"$PYTHON" -c "$SERVE" > served &
server=$!
trap 'kill $server' EXIT
until grep -q names served; do sleep 0.05; done
"$PYTHON" -m voxpath exec --delay "30 ms" "$@" --out kept -- "$PYTHON" -c "$INSIDE"
"""


def machine(folder: Path, *options: str, names: str = "192.0.2.10") -> tuple[dict, str]:
    """What a command reached in a machine of our own, whose name server is there, and what we said."""
    import json

    told = {"PYTHON": PYTHON, "SERVE": SERVE, "INSIDE": INSIDE, "NAMES": names}
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", MACHINE, "sh", *options],
        cwd=folder, env={**os.environ, **told}, capture_output=True,
        text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text()), done.stderr


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a machine of its own")


@ROOT_ONLY
def test_addresses_and_names_are_reached_over_the_link_and_loopback_is_not(tmp_path: Path):
    found, told = machine(tmp_path, "--internet")
    assert told.count("internet: the command reaches what this machine does, but for its loopback") == 1
    for how in ("address", "name"):
        body, seconds = found[how]
        # The machine itself asks, by its own address.
        assert body == "192.0.2.10"
        # A handshake, and a request with its answer: two round trips of the link.
        assert seconds > 0.12, how
    assert found["loopback"] == "URLError"
    assert found["its loopback"] == "URLError"
    (run,) = (tmp_path / "kept").iterdir()
    import polars as pl

    connections = pl.read_parquet(run / "connections.parquet")
    assert any("192.0.2.10:8080" in flow for flow in connections["flow"].unique())


@ROOT_ONLY
def test_names_are_found_where_the_machine_asks_a_name_server_on_its_loopback(tmp_path: Path):
    """As with systemd-resolved: the name server is reached, the loopback it listens at is not."""
    found, _ = machine(tmp_path, "--internet", names="127.0.0.53")
    assert found["name"][0] == "192.0.2.10"
    assert found["loopback"] == "URLError"


@ROOT_ONLY
def test_without_being_asked_for_nothing_is_reached(tmp_path: Path):
    found, told = machine(tmp_path)
    assert "internet" not in told
    assert [found[how] for how in ("address", "name", "loopback", "its loopback")] == ["URLError"] * 4


def scenario(**server: object) -> dict:
    return {"name": "x", "topology": LINK, "hosts": {"client": {"real": True}, "server": server}}


def test_addresses_of_the_way_out_are_refused():
    data = scenario(internet=True)
    data["hosts"]["client"]["addresses"] = [internet.NAME_SERVER]
    with pytest.raises(UnanswerableError, match=r"198\.51\.100\.3, but 198\.51\.100\.0/24 lies between"):
        configurations(from_dict(data).plan.data)


def test_the_host_that_stands_for_the_internet_keeps_its_routes_to_the_others():
    plan = from_dict(scenario(internet=True)).plan.data
    assert plan["relays"] == [{"kind": "internet", "node": 1}]
    client, server = configurations(plan).values()
    assert "route add 0.0.0.0/0 dev net0" in client.ip
    assert "0.0.0.0/0" not in server.ip
    assert "route add 10.0.0.1/32 dev net0" in server.ip
    assert set(internet.SYSCTL) <= set(server.sysctl)
    assert not set(internet.SYSCTL) & set(client.sysctl)


def test_a_simulated_host_and_two_of_them_are_refused():
    with pytest.raises(ScenarioError, match="internet: a simulated host has no way out"):
        from_dict(scenario(internet=True, simulated=True))
    two = scenario(internet=True)
    two["hosts"]["client"]["internet"] = True
    with pytest.raises(ScenarioError, match=r"hosts\.server\.internet: another host stands for the Internet"):
        from_dict(two)


def test_what_to_do_without_slirp4netns_is_said(voxpath, monkeypatch: pytest.MonkeyPatch):
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "slirp4netns" else found(name))
    called = voxpath("exec", "--internet", "--", "true")
    assert called.code == 125
    assert "slirp4netns is not installed (apt-get install slirp4netns)" in called.err
