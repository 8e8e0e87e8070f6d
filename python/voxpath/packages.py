"""Programs that voxpath starts or that its examples do, and the packages that they come with."""

from __future__ import annotations

import shutil

NEEDED = {"ip": "iproute2", "nsenter": "util-linux"}
"""By the backend real."""

READING = {"tshark": "tshark"}
"""By what reads captures."""

OUTSIDE = {"slirp4netns": "slirp4netns"}
"""By hosts that stand for the Internet."""

OF_EXAMPLES = {"ping": "iputils-ping", "curl": "curl", "iperf3": "iperf3"}
"""By the help, the documentation and the scenarios that are shipped."""


def missing(program: str) -> str | None:
    """What to do about a program that is not there; none if it is."""
    if shutil.which(program):
        return None
    package = (NEEDED | READING | OUTSIDE | OF_EXAMPLES).get(program)
    return f"{program} is not installed" + (f" (apt-get install {package})" if package else "")
