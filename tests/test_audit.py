"""`make audit` passes only where it was told of every package; its programs are played here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PATIENCE_S, ROOT

SOUND = {"name": "a", "version": "1", "vulns": []}
FAULTY = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found on PyPI"}


def audited(directory: Path, *packages: dict, deny: str = "true", pip: str = "") -> tuple[int, str]:
    told = json.dumps({"dependencies": packages})
    for name, body in (("cargo-deny", deny), ("pip-audit", pip or f"cat <<'E'\n{told}\nE")):
        (directory / name).write_text(f"#!/bin/sh\n{body}\n")
        (directory / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "audit" / "run.py"],
        env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_is_sound_passes(tmp_path: Path):
    code, said = audited(tmp_path, SOUND)
    assert code == 0, said
    assert "python advisories: 1 packages without known vulnerabilities" in said
    assert "rust advisories: no known vulnerabilities" in said


@pytest.mark.parametrize(
    ("packages", "played", "message"),
    [
        ([SOUND, FAULTY], {}, "b 2: PYSEC-1"),
        ([SOUND, UNKNOWN], {}, "1 of 2 packages are not in its data, or it cannot be reached"),
        ([], {}, "0 of 0 packages"),
        (
            [],
            {"pip": "echo 'no such host' >&2; exit 1"},
            "cannot reach its data, so nothing was checked\nno such",
        ),
        (
            [SOUND],
            {"deny": "echo gone >&2; test $2 != fetch"},
            "cannot reach its data, so nothing was checked\ngone",
        ),
        (
            [SOUND],
            {"deny": "echo 'RUSTSEC-1' >&2; test \"$6\" != advisories"},
            "rust advisories: FAILED: RUSTSEC-1",
        ),
    ],
)
def test_what_is_faulty_or_was_not_looked_up_fails(
    packages: list[dict], played: dict[str, str], message: str, tmp_path: Path
):
    code, said = audited(tmp_path, *packages, **played)
    assert code == 1, said
    assert message in said
