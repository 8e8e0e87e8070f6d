"""What tshark says of captures of calls."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TSHARK = shutil.which("tshark")


def dissect(capture: Path, condition: str, *names: str) -> list[list[str]]:
    """Fields of packets that a display filter lets through: RTP and RTCP on one port, VP8 and Opus."""
    assert TSHARK is not None, "tshark is not installed: `make setup` installs it"
    command = [TSHARK, "-r", str(capture), "-Y", condition, "-T", "fields", "-E", "separator=;"]
    for rule in ("udp.port==1-65535,rtp", "rtp.pt==96,vp8", "rtp.pt==111,opus"):
        command += ["-d", rule]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split(";") for line in done.stdout.splitlines()]
