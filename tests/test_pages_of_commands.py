"""Pages that commands write, looked at in a browser: a call, a command behind links, a site, every study."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import PATIENCE_S, ROOT, SMALL
from look import SCHEMES, WIDTHS, look
from voxpath.studies import NAMES, load
from voxpath.studies.base import COMPUTE

SWEEP = '\n[sweep]\n"topology.link.loss" = ["0 %", "1 %"]\n"topology.link.delay" = ["5 ms", "9 ms"]\n'


def looks_right(folder: Path, tmp_path: Path) -> None:
    """Every page below a directory is looked at, and none has a fault."""
    pages = sorted(folder.rglob("*.html"))
    addresses = {page.stem: page.as_uri() for page in pages}
    wrong = asyncio.run(look(addresses, tmp_path / "profile"))
    assert len(wrong) == len(pages) * len(WIDTHS) * len(SCHEMES) > 0
    assert {key: faults for key, faults in wrong.items() if faults} == {}


def test_the_page_of_a_call_looks_right(voxpath, tmp_path: Path):
    (tmp_path / "pages").mkdir()
    made = voxpath("call", "--delay", "80 ms", "--loss", "5 %", "--save", "pages/call.html")
    assert made.code == 0, made.err
    looks_right(tmp_path / "pages", tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")
def test_the_page_of_a_command_behind_two_links_looks_right(tmp_path: Path):
    (tmp_path / "pages").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    links = ["--preset", "lte", "--loss", "1 %", "--second-delay", "30 ms"]
    ask = f"curl -sS -o /dev/null http://machine:{port}/; ping -c 5 -i 0.2 machine"
    arguments = [*links, "--reach", str(port), "--report", "pages/exec.html", "--", "sh", "-c", ask]
    done = subprocess.run(
        [sys.executable, "-m", "voxpath", "exec", *arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    server.shutdown()
    server.server_close()
    assert (tmp_path / "pages" / "exec.html").is_file(), done.stderr
    looks_right(tmp_path / "pages", tmp_path)


def test_a_site_of_runs_and_a_sweep_looks_right(voxpath, tmp_path: Path):
    Path("one.toml").write_text(SMALL)
    Path("swept.toml").write_text(SMALL.replace('"small"', '"swept"') + SWEEP)
    Path("voice.toml").write_text((ROOT / "scenarios" / "voice-request.toml").read_text())
    for name in ("one", "swept", "voice"):
        assert voxpath("sweep" if name == "swept" else "run", f"{name}.toml", "--replications", "2").code == 0
    made = voxpath("site", "runs", "--out", "site")
    assert made.code == 0, made.err
    assert len(list((tmp_path / "site").glob("*.html"))) == 4
    looks_right(tmp_path / "site", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_study_begins_with_claim_finding_and_picture_and_looks_right(
    name: str, voxpath, tmp_path: Path
):
    # Real runs take minutes, and a busy machine makes them invalid; make docs looks at pages that have them.
    asked = [backend for backend in load(name).backends if backend not in {"real", COMPUTE}]
    chosen = ["--backend", ",".join(asked)] if asked else []
    called = voxpath("study", name, "--quick", *chosen)
    assert called.code == 0, called.err
    page = (tmp_path / f"{name}.html").read_text("utf-8")
    places = [page.index(mark) for mark in ('class="claim"', 'class="lead"', 'class="lead-picture"', "<h2")]
    assert places == sorted(places)
    (tmp_path / "pages").mkdir()
    (tmp_path / f"{name}.html").rename(tmp_path / "pages" / f"{name}.html")
    looks_right(tmp_path / "pages", tmp_path)
