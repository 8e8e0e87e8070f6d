"""The changelog, in the shape of Keep a Changelog."""

from __future__ import annotations

import datetime
import re
import tomllib

from conftest import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)


def test_what_is_not_released_yet_stands_first_and_the_newest_version_is_the_builds():
    versions = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", one) for one in HEADINGS[1:]]
    assert HEADINGS[0] == "[Unreleased]"
    assert versions
    assert None not in versions
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert versions[0][1] == cargo["workspace"]["package"]["version"]
    dates = [datetime.date.fromisoformat(one[2]) for one in versions]
    assert dates == sorted(dates, reverse=True)


def test_changes_are_grouped_by_their_kind():
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for release in re.split(r"^## .+$", CHANGELOG, flags=re.MULTILINE)[1:]:
        found = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert found == [kind for kind in kinds if kind in found]
        before, _, _ = release.partition("###")
        assert "\n- " not in before
