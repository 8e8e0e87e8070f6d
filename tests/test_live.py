"""The page of `voxpath exec --live`: what it shows, who may change links by it, what becomes of a change."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest

from conftest import PATIENCE_S, process
from devtools import chromium
from voxpath.backends.real.steering import links_of
from voxpath.cli.actions.watch import Look, told
from voxpath.scenario import from_dict

MS = 1_000_000

DATA = {
    "name": "x",
    "topology": {
        "kind": "pipe",
        "link": {"rate": "2 Mbit/s", "delay": "5 ms", "up": {"loss": "1 %"}, "down": {"loss": "0 %"}},
    },
    "hosts": {"client": {"real": True}, "server": {"real": True}},
    "events": [{"at": "2 s", "link": "link", "rate": "3 Mbit/s", "down": {"delay": "9 ms"}}],
}


def test_links_are_what_the_timeline_made_of_them():
    plan = from_dict(DATA).plan.data
    up, down = links_of(plan, 0)
    assert (up["way"], up["ends"], up["rate"], up["delay"], up["loss"]) == (
        "up",
        ["client", "server"],
        "2 Mbit/s",
        "5 ms",
        "1 %",
    )
    assert (down["ends"], down["loss"], down["varies"]) == (["server", "client"], "0 %", {})
    assert [way["delay"] for way in links_of(plan, 2_000 * MS)] == ["5 ms", "9 ms"]
    assert {way["rate"] for way in links_of(plan, 2_000 * MS)} == {"3 Mbit/s"}


def test_what_varies_by_itself_is_named_until_a_hand_sets_it():
    jitter = {"kind": "normal", "mean": "9 ms", "deviation": "1 ms"}
    schedule = {"kind": "schedule", "steps": [{"at": "0 s", "rate": "1 kbit/s"}], "every": "1 s"}
    bursts = {"kind": "gilbert_elliott", "to_bad": "1 %", "to_good": "25 %"}
    link = {"rate": schedule, "delay": jitter, "loss": bursts}
    events = [{"at": "1 s", "link": "link", "up": {"delay": "3 ms"}}]
    plan = from_dict({**DATA, "topology": {"kind": "pipe", "link": link}, "events": events}).plan.data
    assert links_of(plan, 0)[0]["varies"] == {
        "rate": "schedule",
        "delay": "normal",
        "loss": "gilbert_elliott",
    }
    up, down = links_of(plan, 1_000 * MS)
    assert set(up["varies"]) == {"rate", "loss"}
    assert "delay" in down["varies"]


class Page:
    """The page of a run that goes on, asked as a browser asks, or as somebody else does."""

    def __init__(self, address: str) -> None:
        self.parts = urlsplit(address)
        self.host = self.parts.netloc
        self.path = self.parts.path

    def ask(self, path: str, *, whole: bool = False, body: object = None, **headers: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.parts.port, timeout=PATIENCE_S)
        told = {key.replace("_", "-"): value for key, value in headers.items()}
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        connection.request(method, path if whole else self.path + path, data, {"Host": self.host, **told})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def change(self, body: object, **headers: str) -> tuple[int, str]:
        usual = {"Origin": f"http://{self.host}", "Content_Type": "application/json"}
        return self.ask("changes", body=body, **{**usual, **headers})

    def state(self, after: int = 0) -> dict:
        status, text = self.ask(f"looks?after={after}")
        assert status == 200
        return json.loads(text)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Page]]:
    """A command that lasts until its input ends."""
    arguments = ["exec", "--delay", "5 ms", "--rate", "2 Mbit/s", *options, "--live", "--", "cat"]
    with process(*arguments, cwd=folder, stdin=subprocess.PIPE) as running:
        try:
            assert running.stderr is not None
            told = ""
            while not (found := re.search(r"live: (http://\S+)", told)):
                line = running.stderr.readline()
                assert line, told
                told += line
            yield running, Page(found[1])
        finally:
            running.kill()


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")


@ROOT_ONLY
def test_only_who_has_the_address_sees_the_page_and_only_the_page_changes_links(tmp_path: Path):
    change = {"link": "link", "ways": {"up": {"delay": "80 ms"}}}
    with running(tmp_path) as (_, page):
        status, text = page.ask("")
        assert status == 200
        assert "default-src 'none'" in text
        # Without the secret, with a wrong one, and by a name that somebody has led to this address.
        assert page.ask("/", whole=True)[0] == 404
        assert page.ask("/wrong/", whole=True)[0] == 404
        assert page.ask("/w%C3%A9/", whole=True)[0] == 404
        assert page.ask("", Host=f"attacker.example:{page.parts.port}")[0] == 404
        assert page.ask("looks", Host="attacker.example")[0] == 404
        # A page of another site, a form of one, and nobody's page.
        assert page.change(change, Origin="https://attacker.example")[0] == 403
        assert page.change(change, Origin="null")[0] == 403
        assert page.ask("changes", body=change, Content_Type="application/json")[0] == 403
        assert page.change(change, Content_Type="text/plain")[0] == 415
        assert page.change(change, Content_Length="99999999")[0] == 413
        assert page.state()["changes"] == []


@ROOT_ONLY
def test_what_cannot_be_is_said_and_changes_nothing(tmp_path: Path):
    def told(ways: object, link: object = "link") -> str:
        status, text = page.change({"link": link, "ways": ways})
        assert status == 400
        return json.loads(text)["wrong"]

    with running(tmp_path) as (_, page):
        assert "delay" in told({"up": {"delay": "soon"}})
        assert "'lnk' is none" in told({"up": {"delay": "1 ms"}}, "lnk")
        assert "a change has a link" in told({"up": {"loss": {"kind": "trace", "file": "/etc/passwd"}}})
        assert "a change has a link" in told({"sideways": {"delay": "1 ms"}})
        assert "a change has a link" in told({"up": {"file": "x"}})
        assert "nothing changes of it" in told({"up": {}})
        assert page.state()["changes"] == []


@ROOT_ONLY
def test_a_change_by_hand_is_in_the_run_which_can_be_run_again(tmp_path: Path, voxpath):
    with running(tmp_path, "--out", "kept") as (command, page):
        ways = {"up": {"delay": "80 ms", "loss": "2 %"}, "down": {"rate": "1 Mbit/s"}}
        assert page.change({"link": "link", "ways": ways}) == (200, "{}")
        until = time.monotonic() + PATIENCE_S
        while (state := page.state())["looks"][0][-1:] == [] or state["looks"][0][-1][3] < 80 * MS:
            assert time.monotonic() < until, state
        assert [way["delay"] for way in state["links"]] == ["80 ms", "5 ms"]
        assert state["links"][1]["rate"] == "1 Mbit/s"
        (told,) = state["changes"]
        assert told.endswith("s: link, up: delay 80 ms, loss 2 %; down: rate 1 Mbit/s")
        assert page.state(state["seen"])["seen"] >= state["seen"]
        command.stdin.close()
        assert command.wait(PATIENCE_S) == 0
    (run,) = (tmp_path / "kept").iterdir()
    happened = pl.read_parquet(run / "events.parquet")
    assert happened["name"].to_list() == ["link ab", "link ab", "link ba"]
    (event,) = voxpath_events(run / "scenario.toml")
    assert event["up"] == ways["up"]
    assert set(happened["time_ns"]) == {json.loads((run / "plan.json").read_text())["events"][0]["at_ns"]}
    # Another program meets the same changes.
    assert voxpath("replay", run, "--network", "--save", "network.toml").code == 0
    again = voxpath("exec", "--scenario", "network.toml", "--host", "client", "--out", "again", "--", "true")
    assert again.code == 0, again.err
    assert voxpath_events(tmp_path / "network.toml") == [event]


def voxpath_events(scenario: Path) -> list[dict]:
    import tomllib

    return tomllib.loads(scenario.read_text())["events"]


@ROOT_ONLY
def test_changes_of_a_run_that_is_not_kept_are_counted(tmp_path: Path):
    with running(tmp_path) as (command, page):
        assert page.change({"link": "link", "ways": {"up": {"loss": "5 %"}}})[0] == 200
        _, told = command.communicate("", timeout=PATIENCE_S)
    assert "1 change by hand: --out keeps a run with them" in told


FIELD = "document.getElementById('link up delay')"
WROTE = "document.querySelector('form .wrong').textContent"


def writes(text: str) -> str:
    """Somebody writes a delay and presses the button."""
    return (
        f"(() => {{ {FIELD}.value = {text!r}; {FIELD}.form.querySelector('button').click(); return true }})()"
    )


@ROOT_ONLY
def test_a_hand_changes_a_link_in_a_browser_and_is_told_what_it_wrote_wrong(tmp_path: Path):
    async def acts(command: subprocess.Popen[str], address: str) -> list[str]:
        async with asyncio.timeout(PATIENCE_S), chromium(tmp_path / "profile") as browser:
            await browser.open(address)
            await browser.until(f"Boolean({FIELD})")
            assert await browser.value(f"{FIELD}.value") == "5 ms"
            await browser.value(writes("80 quarks"))
            await browser.until(f"{WROTE}.includes('quarks')")
            await browser.value(writes("80 ms"))
            await browser.until("document.getElementById('count').textContent === '1'")
            told = await browser.value("document.querySelector('#changes li').textContent")
            # Nothing is wrong any more, and a press without a change says so.
            await browser.until(f"{WROTE} === ''")
            await browser.until(f"{FIELD}.dataset.now === '80 ms'")
            await browser.value(writes("80 ms"))
            await browser.until(f"{WROTE} === 'nothing is changed'")
            command.stdin.close()
            await browser.until("document.getElementById('state').textContent === 'ended'")
            assert await browser.value(f"{FIELD}.form.querySelector('button').disabled")
            return [told, await browser.value("document.getElementById('count').textContent")]

    with running(tmp_path, "--out", "kept") as (command, page):
        told, count = asyncio.run(acts(command, page.parts.geturl()))
        assert command.wait(PATIENCE_S) == 0
    assert told.endswith("s: link, up: delay 80 ms")
    assert count == "1"
    (run,) = (tmp_path / "kept").iterdir()
    (event,) = voxpath_events(run / "scenario.toml")
    assert event["up"] == {"delay": "80 ms"}


def test_a_meter_has_both_directions_in_80_columns():
    looks = [
        Look(250_000_000 * count, way, 900 * count, 150_000 * count, 0, 0, count, 123_000_000)
        for count in range(3)
        for way in ("link: client → machine", "link: machine → client")
    ]
    assert len(told(looks, 2)) > 80 > len(told(looks, 2, brief=True))
    brief = told(looks, 2, brief=True)
    assert brief == "0.5 s  up 4.80 Mbit/s, 123 ms, 2 waiting  down 4.80 Mbit/s, 123 ms, 2 waiting"
