"""Captures against another analyser: what tshark's TCP analysis sees is what we counted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

TSHARK = shutil.which("tshark")

LOSSY = """\
name = "lossy"

[topology]
kind = "pipe"
link = {{ rate = "10 Mbit/s", delay = "10 ms", down = {{ loss = "{loss}" }} }}

[hosts.client]
profile = "{profile}"

[hosts.server]
profile = "{profile}"

[[flows]]
name = "download"
app = {{ kind = "download", request = "100 B", response = "500 kB" }}
"""


def fields(capture: Path, condition: str, *names: str) -> list[list[str]]:
    """Fields of the packets that a display filter lets through; checksums are verified."""
    assert TSHARK is not None, "tshark is not installed: `make setup` installs it"
    command = [TSHARK, "-r", str(capture), "-Y", condition, "-T", "fields"]
    for option in ("tcp.check_checksum:TRUE", "ip.check_checksum:TRUE"):
        command += ["-o", option]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("profile", ["rfc", "linux", "riverbed16"])
@pytest.mark.parametrize("loss", ["0 %", "2 %"])
def test_tshark_sees_what_we_counted(profile: str, loss: str, voxpath, tmp_path: Path):
    (tmp_path / "lossy.toml").write_text(LOSSY.format(profile=profile, loss=loss))
    called = voxpath("run", "lossy.toml", "--capture", "server", "--observe", "packets")
    assert called.code == 0, called.err
    (folder,) = (tmp_path / "runs").iterdir()
    capture = folder / "captures" / "server.pcapng"
    (flow,) = pl.read_parquet(folder / "flows.parquet").to_dicts()

    sent = fields(capture, "ip.src == 10.0.0.2", "frame.number")
    assert len(sent) == flow["server_packets_sent"]
    data = fields(capture, "ip.src == 10.0.0.2 && tcp.len > 0", "tcp.seq", "tcp.len")
    assert len(data) == flow["server_data_segments_sent"]
    # A sequence number at or below what was sent before, seen where it is sent, is sent again.
    highest, again = 0, 0
    for seq, length in data:
        end = int(seq) + int(length)
        again += end <= highest
        highest = max(highest, end)
    assert again == flow["server_retransmissions"]
    # What its sender sends out of order is sent again; tshark calls it so within a round trip.
    kinds = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    analysed = " || ".join(f"tcp.analysis.{kind}" for kind in kinds)
    seen = fields(capture, f"ip.src == 10.0.0.2 && tcp.len > 0 && ({analysed})", "frame.number")
    assert len(seen) == again
    assert fields(capture, "tcp.checksum.status != 1 || ip.checksum.status != 1", "frame.number") == []
    assert fields(capture, "_ws.malformed", "frame.number") == []
