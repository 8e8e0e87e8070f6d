"""The container file is never built by the tests; what it says has to be what the rest of the tree says."""

from __future__ import annotations

import re
import tomllib

from conftest import ROOT
from voxpath.packages import NEEDED, OF_EXAMPLES, OUTSIDE, READING

TEXT = (ROOT / "Containerfile").read_text()


def test_it_builds_with_the_versions_of_the_tree():
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert f"rust:{rust}-" in TEXT
    (maturin,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert f"pip install --no-cache-dir {maturin} " in TEXT


def test_it_has_every_program_that_voxpath_starts():
    (installed,) = re.findall(r"install -y --no-install-recommends ((?!python3-venv).*?) *\\", TEXT)
    wanted = NEEDED | OUTSIDE | READING | OF_EXAMPLES
    assert set(wanted.values()) <= set(installed.split())


def test_what_is_built_on_this_machine_is_left_out():
    ignored = (ROOT / ".containerignore").read_text().split()
    assert {".venv", ".stamps", "target", ".git"} <= set(ignored)
