"""What a first user ran into."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from voxpath.scenario import from_dict, read

DOWNLOAD = {"kind": "download", "request": "100 B", "response": "50 kB"}


def transport(client: list[str], server: list[str], **tcp: object):
    hosts = {"client": {"addresses": client, "tcp": tcp}, "server": {"addresses": server}}
    data = {
        "name": "families",
        "topology": {"kind": "pipe", "link": {"delay": "1 ms"}},
        "hosts": hosts,
        "flows": [{"name": "f", "app": DOWNLOAD}],
    }
    return from_dict(data).plan.data["flows"][0]["transport"]


def test_an_ipv6_segment_leaves_room_for_the_longer_header():
    v6 = transport(["fd00::1"], ["fd00::2"])
    assert (v6["client"]["mss"], v6["server"]["mss"]) == (1440, 1440)
    assert transport(["10.0.0.1", "fd00::1"], ["fd00::2", "10.0.0.2"])["client"]["mss"] == 1460
    assert transport(["fd00::1"], ["fd00::2"], mss="1400 B")["client"]["mss"] == 1400


@pytest.mark.parametrize("name", ["[/]", "[bold]x[/bold] [red", "{0}%s"])
def test_brackets_in_a_name_are_no_markup(voxpath, small, name):
    text = small.read_text("utf-8").replace('name = "small"', f"name = {json.dumps(name)}")
    small.write_text(text, "utf-8")
    called = voxpath("run", small)
    assert (called.code, called.err) == (0, "")
    assert name in called.out


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('name = "a\\u001b[31mb"', "cannot be printed"),
        ('name = "x"\nhosts.client.addresses = ["fe80::1%eth0"]', "zone"),
    ],
)
def test_what_belongs_to_no_scenario_is_refused(voxpath, small, line, what):
    small.write_text(small.read_text("utf-8").replace('name = "small"', line), "utf-8")
    called = voxpath("run", small)
    assert called.code == 2
    assert what in called.err
    assert not Path("runs").exists()


def test_the_scenario_in_the_folder_gives_the_same_run_again(voxpath, small):
    assert voxpath("run", small, "--seed", "9", "--out", "first").code == 0
    (folder,) = Path("first").iterdir()
    assert read(folder / "scenario.toml").plan.json == (folder / "plan.json").read_text("utf-8").strip()
    assert voxpath("run", folder / "scenario.toml", "--out", "second").code == 0
    (again,) = Path("second").iterdir()
    assert again.name == folder.name


def test_a_directory_with_stars_is_itself_and_no_pattern(voxpath, small):
    assert voxpath("run", small, "--out", "gg").code == 0
    called = voxpath("run", small, "--out", "g*")
    assert (called.code, called.err) == (0, "")
    assert Path("g*").is_dir()


@pytest.mark.parametrize(
    ("name", "contents"), [("verdict.json", b"{"), ("verdict.json", b"{}"), ("flows.parquet", None)]
)
def test_a_run_that_lost_files_is_made_again(voxpath, small, name, contents):
    assert voxpath("run", small, "--out", "store").code == 0
    (folder,) = Path("store").iterdir()
    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "environment.json"}
    (folder / name).unlink() if contents is None else (folder / name).write_bytes(contents)
    called = voxpath("run", small, "--out", "store")
    assert called.code == 0
    assert f"{folder.name} was damaged ({name} is " in called.err
    assert "and was made again" in called.err
    assert whole == {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "environment.json"}


def test_a_run_with_a_damaged_table_is_made_again(voxpath, small):
    assert voxpath("run", small, "--out", "store").code == 0
    (folder,) = Path("store").iterdir()
    (folder / "flows.parquet").write_bytes(b"junk")
    called = voxpath("run", small, "--out", "store")
    assert called.code == 0
    assert "flows.parquet is not what was written" in called.err
    assert pl.read_parquet(folder / "flows.parquet").height == 1


def test_a_flow_that_got_nothing_has_a_goodput_of_zero(voxpath, small):
    small.write_text(small.read_text("utf-8").replace('loss = "1 %"', 'loss = "100 %"'), "utf-8")
    voxpath("run", small, "--out", "dead")
    (folder,) = Path("dead").iterdir()
    frame = pl.read_parquet(folder / "flows.parquet")
    assert frame.get_column("status").to_list() == ["timed_out"]
    assert frame.get_column("goodput_bps").to_list() == [0.0]
    # The server never heard of it: it sent nothing, which is known.
    assert frame.select(pl.col("^server_.*$")).row(0) == (0,) * 7
    assert frame.get_column("client_retransmissions").item() > 0
