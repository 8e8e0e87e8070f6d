"""What `make docs` gives to Sphinx: pages that follow from the code, and links that lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from voxpath.results.metrics import dictionary
from voxpath.scenario.schema import schema
from voxpath.studies import NAMES


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "packaging/docs/make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_key_of_a_scenario_is_on_its_page(site: ModuleType):
    page = site.scenario_page()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    tables = [schema(), *schema()["$defs"].values()]
    assert rows == {key for table in tables for key in table.get("properties", ())}
    # A table that a key names has a heading of that name.
    headings = {found.lower() for found in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= headings


def test_every_column_is_on_its_page(site: ModuleType):
    page = site.metrics_page()
    for table, columns in dictionary().items():
        own = page.split(f"\n## {table}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \|", own, re.MULTILINE) == list(columns)


def test_every_page_is_listed_once_and_every_study_is_there(site: ModuleType, tmp_path: Path):
    listed = re.findall(r"^(?!```|:|#)(\S+)$", site.index(), re.MULTILINE)
    named = [str(page.relative_to(ROOT).with_suffix("")) for page in site.pages()]
    assert sorted(line for line in listed if "/reference/" not in line) == sorted(named)
    assert [name for name in NAMES if f"\n## {name}\n" not in site.studies(tmp_path, None)] == []


def test_the_links_of_all_pages_lead_to_files(site: ModuleType, tmp_path: Path):
    site.lay_out(tmp_path)
    assert (tmp_path / "docs/images/vowels.png").is_file()
    assert (tmp_path / "tests/scripts/abort.pkt").is_file()


def test_a_link_that_leads_nowhere_is_told_by_its_line(
    site: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tmp_path / "x" / "page.md"
    page.parent.mkdir()
    page.write_text("[good](page.md), [a folder](..)\n```sh\n[code](no.md)\n```\n[bad](gone.md#there)\n")
    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "pages", lambda: [page])
    with pytest.raises(site.BrokenLinkError, match=r"^x/page\.md:5: gone\.md is no file$"):
        site.lay_out(tmp_path / "out")
    assert "[good](page.md), a folder\n" in (tmp_path / "out/x/page.md").read_text()
