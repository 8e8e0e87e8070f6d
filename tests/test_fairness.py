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


def delivered(stack: str, flows: int, seconds: int, out: Path, chance: int = 0) -> np.ndarray:
    """What each of some flows has brought over, bytes, which all start within the first second."""
    host = {**STACKS[stack], "tcp": {**STACKS[stack]["tcp"], **ROOM}}
    starts = np.random.default_rng([flows, chance]).uniform(0, 1000, flows)
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


def jain(shares: np.ndarray) -> float:
    """Jain, Chiu and Hawe 1984: (sum x)² / (n sum x²)."""
    return float(shares.sum() ** 2 / (len(shares) * (shares**2).sum()))


def measured(stack: str, flows: int, out: Path, chance: int = 0) -> np.ndarray:
    """What each brings over once they have started, bytes."""
    before, after = (
        delivered(stack, flows, seconds, out, chance) for seconds in (START_UP_S, START_UP_S + MEASURED_S)
    )
    shares = (after - before).astype(float)
    used = shares.sum() * 8 * PACKET / PAYLOAD / MEASURED_S / RATE
    assert 0.95 < used <= 1.0 + 1e-3
    return shares


@pytest.mark.parametrize(
    ("stack", "flows"), [("newreno", 2), ("newreno", 10), ("newreno", 50), ("cubic", 10), ("cubic", 50)]
)
def test_equal_flows_share_equally_and_fill_the_link(stack: str, flows: int, tmp_path: Path):
    assert jain(measured(stack, flows, tmp_path)) > 0.95


def test_two_cubic_flows_come_as_near_to_equal_shares_as_the_kernels(tmp_path: Path):
    """Live kernels reach 0.83 to 1.00 over the 75 s, as their starts are drawn: LIMITATIONS.md."""
    assert np.mean([jain(measured("cubic", 2, tmp_path, chance)) for chance in range(8)]) > 0.83
