"""Equal flows share a link equally, and fill it."""

from pathlib import Path

import numpy as np
import pytest

import voxpath as voxpath_package

START_UP_S, MEASURED_S = 15, 60
RATE = 100e6
PACKET, PAYLOAD = 1500, 1448

STACKS = {
    "newreno": {"profile": "rfc", "tcp": {"window_scaling": True, "timestamps": True}},
    "cubic": {"profile": "linux", "tcp": {"congestion": "cubic"}},
}
ROOM = {"receive_buffer": "8 MB", "send_buffer": "8 MB"}


def delivered(stack: str, flows: int, seconds: int, out: Path) -> np.ndarray:
    """What each of some flows has brought over, bytes, which all start within the first second."""
    host = {**STACKS[stack], "tcp": {**STACKS[stack]["tcp"], **ROOM}}
    starts = np.random.default_rng(flows).uniform(0, 1000, flows)
    document = voxpath_package.load(
        {
            "name": f"{flows} {stack}",
            "seed": 1,
            "duration": f"{seconds} s",
            # The buffer holds what the path holds: 100 Mbit/s for 40 ms.
            "topology": {
                "kind": "pipe",
                "link": {"rate": "100 Mbit/s", "delay": "20 ms", "queue": "500 kB"},
            },
            "hosts": {"client": host, "server": host},
            "flows": [
                {"name": f"flow{i}", "start": f"{start:.3f} ms", "app": {"kind": "bulk"}}
                for i, start in enumerate(starts)
            ],
        }
    )
    result = voxpath_package.run(document, out=out, backends=["sim"])
    return result.flows["bytes_delivered"].to_numpy()


@pytest.mark.parametrize("flows", [2, 10, 50])
@pytest.mark.parametrize("stack", STACKS)
def test_equal_flows_share_equally_and_fill_the_link(stack: str, flows: int, tmp_path: Path):
    """Jain, Chiu and Hawe 1984: (sum x)² / (n sum x²)."""
    before, after = (
        delivered(stack, flows, seconds, tmp_path) for seconds in (START_UP_S, START_UP_S + MEASURED_S)
    )
    shares = (after - before).astype(float)
    assert shares.sum() ** 2 / (flows * (shares**2).sum()) > 0.95
    used = shares.sum() * 8 * PACKET / PAYLOAD / MEASURED_S / RATE
    assert 0.95 < used <= 1.0 + 1e-3
