"""What the tests share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import slow
from voxpath.canonical import canonical
from voxpath.results import digests

ROOT = Path(__file__).parent.parent
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))

PATIENCE_S = 600
"""How long a test waits for what has to happen, before it fails. A busy machine needs long."""


def of_the_run(problems: Iterable[str]) -> list[str]:
    """What is wrong with a real run, but for what is due to a busy machine."""
    busy = ("late", "had no time for them", "was busy with something else")
    return [problem for problem in problems if not any(word in problem for word in busy)]


SMALL = """\
name = "small"
seed = 7

[topology]
kind = "pipe"
link = { rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets", loss = "1 %" }

[[flows]]
name = "download"
app = { kind = "download", request = "100 B", response = "200 kB" }
"""
"""A scenario that runs in a moment and loses packets."""


_PROGRESS = re.compile(r"^.*: \d+(?: of \d+(?:, .*)?|, \d.*)\n", re.MULTILINE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that `make check` leaves out."""
    names = slow.listed()
    for item in items:
        if item.nodeid.partition("[")[0] in names:
            item.add_marker(pytest.mark.slow)


def without_progress(err: str) -> str:
    """Standard error without lines of progress, which come or not, depending on how long something took."""
    return _PROGRESS.sub("", err)


@dataclass(frozen=True)
class Called:
    """What a call of the command line gave; standard error without progress."""

    code: int
    out: str
    err: str


@pytest.fixture
def voxpath(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Calls the command line in this process, inside an empty directory."""
    from voxpath.cli.main import run_command

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Called:
        capfd.readouterr()
        code = run_command([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Called(code, out, without_progress(err))

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with the small scenario."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def process(
    *arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None, **options
) -> subprocess.Popen[str]:
    """The command line as a process of its own, in a process group of its own."""
    return subprocess.Popen(
        # Whatever a shell in the background has ignored for the tests, this hears of Ctrl-C.
        ["env", "--default-signal=INT,QUIT", sys.executable, "-m", "voxpath", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a directory by its path, but for what may differ between machines."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.stem != "environment"
    }


def digests_of(files: Mapping[str, bytes]) -> bytes:
    """What a folder says of the files in it."""
    return canonical({path: digests.of(path, data) for path, data in files.items()}).encode()


# Neither an example nor making them has a time to keep.
_TIMELESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("voxpath", _TIMELESS, derandomize=True)
settings.load_profile("voxpath")
