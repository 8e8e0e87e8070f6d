"""What works on this machine, and why the rest does not."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import _engine, terminal
from voxpath.backends.real.internet import closed
from voxpath.cli.actions.common import print_json
from voxpath.extras import EXTRAS, install, lacking
from voxpath.packages import NEEDED, OF_EXAMPLES, OUTSIDE, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PATIENCE_S = 60

_REAL = "the backend real, voxpath exec and shell"

_OWN = ("/proc", "/sys")
"""What programs of a host have of their own, where the kernel lets them."""


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


def doctor(as_json: bool) -> int:
    """Prints what works here; 1 where voxpath itself does not."""
    findings = examine()
    if as_json:
        print_json(
            {"command": "doctor", "build": _engine.BUILD, "parts": [asdict(found) for found in findings]}
        )
        return 1 if any(found.required and not found.works for found in findings) else 0
    rows = [
        [found.name, "works" if found.works else "no", f"{found.serves}; {found.detail}"]
        for found in findings
    ]
    terminal.print_table(None, ["part", "state", "what it serves; how it is"], rows)
    return 1 if any(found.required and not found.works for found in findings) else 0


def examine() -> list[Finding]:
    """Looks at everything; changes nothing on the machine."""
    return [
        _engine_works(),
        _tshark(),
        _tun(),
        _programs(),
        _outside(),
        _examples(),
        _namespaces(),
        _real_hosts("tun"),
        _real_hosts("veth"),
        *map(_extra, EXTRAS),
    ]


def _extra(name: str) -> Finding:
    """What is installed only on request, and the command that brings it."""
    missing_of_it = lacking(name)
    detail = f"{', '.join(missing_of_it)} missing: {install(name)}" if missing_of_it else "installed"
    return Finding(f"extra {name}", works=not missing_of_it, detail=detail, serves=EXTRAS[name])


def _engine_works() -> Finding:
    serves = "voxpath run, voxpath study"
    try:
        _engine.profile(_engine.profiles()[0])
    except (RuntimeError, ValueError) as error:
        return Finding("engine", works=False, detail=str(error), serves=serves, required=True)
    return Finding("engine", works=True, detail=f"build {_engine.BUILD}", serves=serves, required=True)


def _tshark() -> Finding:
    serves = "voxpath replay of captures; the tests check ours by it"
    path = shutil.which("tshark")
    if path is None:
        return Finding("tshark", works=False, detail="not installed (apt-get install tshark)", serves=serves)
    works, text = _try([path, "--version"])
    return Finding("tshark", works=works, detail=text, serves=serves)


def _programs() -> Finding:
    """What the backend real starts."""
    problems = list(filter(None, map(missing, NEEDED)))
    detail = "; ".join(problems) or _try(["ip", "-V"])[1]
    return Finding(", ".join(NEEDED), works=not problems, detail=detail, serves=_REAL)


def _outside() -> Finding:
    """What joins hosts to the machine's networks."""
    (program,) = OUTSIDE
    problem = missing(program) or closed()
    detail = problem or _try([program, "--version"])[1]
    return Finding(program, works=problem is None, detail=detail, serves="voxpath exec --internet")


def _examples() -> Finding:
    """What the examples of the help and the shipped scenarios start on real hosts."""
    problems = list(filter(None, map(missing, OF_EXAMPLES)))
    detail = "; ".join(problems) or "all of them are here"
    serves = "examples of voxpath exec and shell, scenarios/real-*.toml"
    return Finding(", ".join(OF_EXAMPLES), works=not problems, detail=detail, serves=serves)


def _tun() -> Finding:
    device = Path("/dev/net/tun")
    if platform.system() != "Linux":
        return Finding("TUN", works=False, detail="only Linux has it", serves=_REAL)
    if not device.exists():
        return Finding("TUN", works=False, detail=f"{device} is missing (modprobe tun)", serves=_REAL)
    try:
        device.open("r+b", buffering=0).close()
    except OSError as error:
        detail = f"{device}: {error.strerror} (chmod 0666 {device})"
        return Finding("TUN", works=False, detail=detail, serves=_REAL)
    return Finding("TUN", works=True, detail=str(device), serves=_REAL)


def _namespaces() -> Finding:
    serves = f"{_REAL}, without root"
    path = shutil.which("unshare")
    if path is None:
        return Finding(
            "namespaces", works=False, detail="unshare is not installed (util-linux)", serves=serves
        )
    works, text = _try([path, "--user", "--map-root-user", "--net", "true"])
    return Finding("namespaces", works=works, detail=text or "user and network namespaces", serves=serves)


def _real_hosts(edge: str) -> Finding:
    """Makes two hosts with a link between them, and lets one run a program."""
    name = f"real hosts by {edge}, {'as' if os.geteuid() == 0 else 'without'} root"
    serves = _REAL if edge == "tun" else f"{_REAL}, where TUN cannot be used"
    if platform.system() != "Linux":
        return Finding(name, works=False, detail="only Linux has them", serves=serves)
    from voxpath.backends.real.entered import Entered
    from voxpath.backends.real.problems import RealError
    from voxpath.backends.real.session import Session
    from voxpath.scenario import from_dict

    host = {"profile": "linux", "real": True, "edge": edge}
    topology = {"kind": "pipe", "link": {"delay": "1 ms"}}
    document = from_dict({"name": "a trial", "topology": topology, "hosts": {"client": host, "server": host}})
    try:
        with Session(document.plan.json) as session:
            session.start(0, "{}")
            enter = partial(Entered, session, session.host("client"))
            works, text = _try(["ip", "-brief", "address"], enter)
            _, theirs = _try(["stat", "--printf=%d ", *_OWN], enter)
            _, told = session.finish()
    except RealError as error:
        return Finding(name, works=False, detail=str(error), serves=serves)
    if not works:
        return Finding(name, works=False, detail=f"a host cannot be entered: {text}", serves=serves)
    fidelity = json.loads(told)
    ours = (str(Path(path).stat().st_dev) for path in _OWN)
    common = [path for path, one, other in zip(_OWN, ours, theirs.split(), strict=True) if one == other]
    detail = f"two were made and joined, with {fidelity['scheduling']}"
    if fidelity["scheduling"] != "SCHED_FIFO":
        detail += ": packets are late where others want the processors too"
    if not fidelity["kept_awake"]:
        detail += "; idle processors sleep (/dev/cpu_dma_latency is not ours to open), and wake up late"
    if common:
        detail += f"; programs see the machine's {' and '.join(common)}, as the kernel grants no others"
    return Finding(name, works=True, detail=detail, serves=serves)


def _try(
    command: Sequence[str], start: Callable[..., subprocess.Popen[Any]] = subprocess.Popen
) -> tuple[bool, str]:
    """Whether a command succeeds, and the first line of what it says."""
    try:
        with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                out, err = process.communicate(timeout=_PATIENCE_S)
            except BaseException:
                process.kill()
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = (out or err).splitlines()
    return process.returncode == 0, lines[0] if lines else ""
