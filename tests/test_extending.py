"""What docs/extending.md adds is added to a copy of the tree, and all that voxpath does works with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import PATIENCE_S, ROOT, Called, process, without_progress
from pages import Session, blocks, edits_the_tree, files_of, follow, session_of

PAGE = ROOT / "docs" / "extending.md"
OTHERS = [page for page in (ROOT / "docs").rglob("*.md") if edits_the_tree(str(page)) and page != PAGE]

HEAD = """\
name = "all of them"
seed = 3

[topology]
kind = "pipe"
link = { rate = "10 Mbit/s", delay = "10 ms", queue = { kind = "head_drop", limit = "5 packets" } }

[hosts.client]
simulated = true
tcp.congestion = "fixed"

[hosts.server]
profile = "linux"
"""
"""On real hosts the window that the kernel does not have is that of a simulated one."""

BEEPS = """
[[flows]]
name = "beeps"
from = "server"
to = "client"
app = { kind = "beep", interval = "10 ms", beeps = 5 }
"""

UPLOAD = """
[[flows]]
name = "upload"
app = { kind = "bulk", size = "100 kB" }
"""

ALL = HEAD + BEEPS + UPLOAD

SWEEP = """
[sweep]
"topology.link.queue.kind" = ["drop_tail", "head_drop"]
"""


def sections() -> dict[str, str]:
    """The page's parts by their headings."""
    _, *parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    return dict(part.split("\n", 1) for part in parts)


def diffs() -> dict[str, str]:
    """The diff of each part that has one; what else a part says is held where its things are tested."""
    found = {}
    for title, text in sections().items():
        for block in blocks(text, PAGE.name):
            if block.language == "diff":
                assert title not in found
                found[title] = block.text
    assert len(found) > 5
    return found


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return session_of(PAGE, tmp_path_factory.mktemp("extended"))


Call = Callable[..., Called]


@pytest.fixture
def call(extended: Session, tmp_path: Path) -> Call:
    """The command line of the copy, in an empty directory with two scenarios."""
    (tmp_path / "all.toml").write_text(ALL)
    (tmp_path / "sweep.toml").write_text(ALL + SWEEP)

    def command(*arguments: str) -> Called:
        with process(*arguments, cwd=tmp_path, environment=extended.environment) as started:
            out, err = started.communicate(timeout=PATIENCE_S)
        return Called(started.returncode, out, without_progress(err))

    return command


def table(runs: Path, name: str) -> pl.DataFrame:
    """A table of the only run."""
    (folder,) = runs.iterdir()
    return pl.read_parquet(folder / f"{name}.parquet")


def intervals(runs: Path) -> list[int]:
    return table(runs, "datagrams")["sent_ns"].diff().drop_nulls().to_list()


# Before the copy of the tree is that of the page above.
@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_other_pages_that_edit_the_tree_are_followed(page: Path, tmp_path: Path):
    follow(page, session_of(page, tmp_path))


def test_each_part_takes_no_more_files_than_it_says():
    said = dict(re.findall(r"^\| \[(.*?)\]\(#.*?\) \| (.*?) \|", PAGE.read_text(), re.MULTILINE))
    found = {title.lower(): files_of(diff) for title, diff in diffs().items()}
    study = found.pop("a study")
    assert said.pop("a study") == "one new folder"
    # It has no diff: test_voice_call.py registers a toy of each.
    assert said.pop("a codec, a transport or a measure of a voice") == "2"
    assert {Path(name).parent for name in study} == {Path("python/voxpath/studies/rfc2544")}
    assert {title: str(len(files)) for title, files in found.items()} == said
    assert said == {
        "a congestion control": "2",
        "a queue": "3",
        "an application": "3",
        "a rate control": "3",
        "a column": "2",
    }


@pytest.mark.parametrize("title", list(diffs()))
def test_each_diff_applies_to_the_tree_by_itself(title: str):
    done = subprocess.run(
        ["git", "apply", "--check", "-"],
        cwd=ROOT,
        input=diffs()[title],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_is_followed(extended: Session):
    follow(PAGE, extended)


def test_property_tests_draw_what_was_added(extended: Session):
    done = subprocess.run(
        ["cargo", "test", "--locked", "--package", "voxpath-sim", "--test", "properties"],
        cwd=extended.directory,
        env={**os.environ, **extended.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "test every_kind_is_drawn_and_nothing_is_wrong_with_a_plan ... ok" in done.stdout


def test_scenarios_and_the_metric_dictionary_know_what_was_added(extended: Session, call: Call):
    schema = call("schema")
    assert schema.code == 0, schema.err
    json.loads(schema.out)
    for kind in ("beep", "fixed", "head_drop", "equation"):
        assert f'"{kind}"' in schema.out
    script = """if True:
        from voxpath.results.metrics import dictionary
        known = dictionary()
        print(known["connections"]["segments_received"].about)
        print(known["flows"]["server_segments_received"].where)
    """
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **extended.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Segments of any kind that arrived.\nserver TCP\n"
    assert ", rfc2544, " in call("study", "--help").out


def test_a_wrong_value_is_refused_at_its_key(call: Call, tmp_path: Path):
    (tmp_path / "wrong.toml").write_text(ALL.replace('"10 ms", beeps', '"100000 h", beeps'))
    called = call("run", "wrong.toml")
    assert called.code == 2
    assert "interval" in called.err
    assert "longer than 500000 h" in called.err


def test_a_run_has_all_of_them(call: Call, tmp_path: Path):
    called = call("run", "all.toml")
    assert called.code == 0, called.err
    runs = tmp_path / "runs"
    assert intervals(runs) == [10_000_000, 20_000_000, 40_000_000, 80_000_000]
    flows = table(runs, "flows")
    assert flows["status"].to_list() == ["completed"] * 2
    upload = flows.row(1, named=True)
    assert upload["bytes_delivered"] == 100_000
    # Ten segments at once are four more than the queue takes beside the one in service.
    elements = table(runs, "elements")
    dropped = elements.filter(pl.col("element") == "queue")["packets_dropped"].sum()
    assert dropped > 0
    assert upload["server_segments_received"] == upload["client_packets_sent"] - dropped
    # The window is ten segments again after the losses; timestamps take 12 octets of each.
    ends = table(runs, "connections").filter(pl.col("end") == "client")
    assert ends["cwnd_bytes"].to_list() == [10 * 1448]


def test_a_sweep_a_comparison_and_a_report_have_all_of_them(call: Call, tmp_path: Path):
    swept = call("sweep", "sweep.toml", "--backend", "sim")
    assert swept.code == 0, swept.err
    assert all(name in swept.out for name in ("beeps", "upload", "drop_tail", "head_drop"))
    compared = call("compare", "sweep.toml", "--backend", "sim", "--metric", "server_segments_received")
    assert compared.code == 0, compared.err
    kept = pl.concat(pl.read_parquet(path) for path in sorted((tmp_path / "runs").rglob("flows.parquet")))
    kept = kept.filter(pl.col("flow") == "upload")
    assert kept.height == 2
    for count in kept["server_segments_received"]:
        assert re.search(rf"upload .*\b{count}\b", compared.out), compared.out
    metrics = ("--metric", "server_segments_received", "--metric", "delay_p50_ns")
    reported = call("report", "sweep.toml", "--backend", "sim,formula", *metrics)
    assert reported.code == 0, reported.err
    page = (tmp_path / "sweep.html").read_text()
    assert all(text in page for text in ("head_drop", "upload", "beeps", "server segments received"))


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (HEAD + BEEPS, "the forms know nothing of the application beep"),
        (HEAD + UPLOAD, "a queue on the way is under head_drop: the forms know drop-tail alone"),
        (
            HEAD.replace('{ kind = "head_drop", limit = "5 packets" }', '"100 packets", loss = "1 %"')
            + UPLOAD,
            "the sender runs fixed, the form is of Reno",
        ),
    ],
    ids=["beep", "head_drop", "fixed"],
)
def test_formulas_say_what_they_do_not_know(scenario: str, reason: str, call: Call, tmp_path: Path):
    (tmp_path / "one.toml").write_text(scenario)
    called = call("run", "one.toml", "--backend", "formula")
    assert called.code == 0, called.err
    assert reason in called.out


def test_real_hosts_have_all_of_them(call: Call, tmp_path: Path):
    called = call("run", "all.toml", "--backend", "real")
    runs = tmp_path / "runs"
    (folder,) = runs.iterdir()
    verdict = json.loads((folder / "verdict.json").read_text())
    # A busy machine may make the run invalid: late, but right.
    assert called.code == (0 if verdict["valid"] else 1), called.err
    assert intervals(runs) == [10_000_000, 20_000_000, 40_000_000, 80_000_000]
    flows = table(runs, "flows")
    assert flows["status"].to_list() == ["completed"] * 2
    assert flows["bytes_delivered"].to_list()[1] == 100_000
    assert flows["bytes_wrong"].to_list() == [0, 0]
    counted = dict(table(runs, "connections").select("end", "segments_received").iter_rows())
    assert counted["client"] > 0
    assert counted["server"] is None
