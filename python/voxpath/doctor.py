"""What works on this machine, and why the rest does not."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE_S = 20


@dataclass(frozen=True)
class Finding:
    """One thing that voxpath can use.

    Attributes:
        name: What.
        works: Whether it does.
        detail: The version, or why it does not work.
        serves: What it is for.
        required: Whether voxpath is broken without it.
    """

    name: str
    works: bool
    detail: str
    serves: str
    required: bool = False


def examine() -> list[Finding]:
    """Looks at everything; changes nothing on the machine."""
    return [_engine_works(), _tshark(), _tun(), _namespaces()]


def _engine_works() -> Finding:
    serves = "voxpath run, voxpath study"
    try:
        _engine.profile(_engine.profiles()[0])
    except (RuntimeError, ValueError) as error:
        return Finding("engine", works=False, detail=str(error), serves=serves, required=True)
    return Finding("engine", works=True, detail=f"build {_engine.BUILD}", serves=serves, required=True)


def _tshark() -> Finding:
    serves = "checking captures against another analyser, in the tests"
    path = shutil.which("tshark")
    if path is None:
        return Finding("tshark", works=False, detail="not installed (apt-get install tshark)", serves=serves)
    works, text = _try([path, "--version"])
    return Finding("tshark", works=works, detail=text, serves=serves)


def _tun() -> Finding:
    serves = "the backend real, which is to come"
    device = Path("/dev/net/tun")
    if platform.system() != "Linux":
        return Finding("TUN/TAP", works=False, detail="only Linux has it", serves=serves)
    if not device.exists():
        return Finding("TUN/TAP", works=False, detail=f"{device} is missing (modprobe tun)", serves=serves)
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding("TUN/TAP", works=False, detail=f"no permission for {device}", serves=serves)
    return Finding("TUN/TAP", works=True, detail=str(device), serves=serves)


def _namespaces() -> Finding:
    serves = "the backend real, which is to come"
    path = shutil.which("unshare")
    if path is None:
        return Finding(
            "namespaces", works=False, detail="unshare is not installed (util-linux)", serves=serves
        )
    works, text = _try([path, "--user", "--map-root-user", "--net", "true"])
    return Finding("namespaces", works=works, detail=text or "user and network namespaces", serves=serves)


def _try(command: Sequence[str]) -> tuple[bool, str]:
    """Whether a command succeeds, and the first line of what it says."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)  # noqa: S603 - a path that which() found
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = (done.stdout or done.stderr).splitlines()
    return done.returncode == 0, lines[0] if lines else ""
