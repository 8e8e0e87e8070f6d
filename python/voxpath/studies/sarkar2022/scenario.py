"""The download of the study, for a stack and a probability of loss."""

from __future__ import annotations

from typing import Any

from voxpath.scenario import Document, from_dict

LOSSES = ("0 %", "0.01 %", "0.1 %", "1 %", "10 %")
"""Table 3: the five channel conditions."""

VARIANTS = ("riverbed16", "linux")
"""The simulation of section 2.3, and the testbed of section 4.4."""

_STACKS: dict[str, dict[str, Any]] = {
    "riverbed16": {"profile": "riverbed16"},
    # The testbed's window is the simulation's, so that the two can be compared (section 5.1, Figure 10).
    "linux": {
        "profile": "linux",
        "tcp": {
            "receive_buffer": "8760 B",
            "window_scaling": False,
            "sack": False,
            "timestamps": False,
            "congestion": "reno",
        },
    },
}


def scenario(variant: str, loss: str) -> dict[str, Any]:
    """The scenario of one cell, as a file would say it.

    client - 10 Mbit/s Ethernet - cloud: 20 ms each way, loss each way - 10 Mbit/s Ethernet - server.
    """
    return {
        "name": f"sarkar2022: {variant}, {loss} loss",
        "seed": 2022,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {"delay": "20 ms", "loss": loss},
            "access": {"rate": "10 Mbit/s", "framing": "ethernet"},
        },
        "hosts": {"client": _STACKS[variant], "server": _STACKS[variant]},
        "flows": [
            {
                "name": "download",
                "from": "client",
                "to": "server",
                "app": {"kind": "download", "request": "100 B", "response": "10 MB"},
            }
        ],
    }


def document(variant: str, loss: str) -> Document:
    """The same, ready to run."""
    return from_dict(scenario(variant, loss), f"sarkar2022/{variant}/{loss}")
