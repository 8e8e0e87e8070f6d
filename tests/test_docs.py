"""The documentation is followed: every block of every page, and what it says of commands and other pages."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import ROOT
from pages import (
    Block,
    PageError,
    Session,
    blocks,
    edits_the_tree,
    follow,
    matches,
    renew,
    session_of,
    targets,
)
from voxpath.cli.main import cli

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "LIMITATIONS.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "python/voxpath/studies").glob("*/README.md")),
]
SAMPLE = ROOT / "python/voxpath/voice/call/sample.flac"
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


# `tests/test_extending.py` follows the others: there is one copy of the tree.
@pytest.mark.parametrize("name", [name for name in NAMES if not edits_the_tree(name)])
def test_a_page_is_followed(name: str, tmp_path: Path):
    follow(ROOT / name, session_of(ROOT / name, tmp_path))


def test_the_package_says_how_it_is_used(tmp_path: Path):
    page = tmp_path / "voxpath.md"
    page.write_text(voxpath_package.__doc__ or "")
    assert "```python" in page.read_text()
    follow(page, session_of(page, tmp_path))


def test_a_page_is_renewed_where_it_is_wrong(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ echo a b\na ...\n```\n")
    assert renew(page) == 1
    assert page.read_text() == "```console\n$ echo one\none\n$ echo a b\na ...\n```\n"


def help_examples() -> list[str]:
    return [
        example
        for command in (cli, *cli.commands.values())
        for example in re.findall(r"^  voxpath (.*)$", command.epilog or "", re.MULTILINE)
        # These wait for people, or for servers: tests/test_real_use.py and test_measuring.py; or need
        # recordings: docs/aec.md.
        if example.split()[0] not in {"exec", "shell", "aec", "measure", "replay"}
    ]


@pytest.mark.parametrize("line", sorted(set(help_examples())))
def test_the_examples_of_the_help_run(line: str, voxpath, tmp_path: Path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    if line.startswith("show "):
        voxpath("run", "scenarios/lossy-download.toml", "--replication", "0", "--observe", "tcp")
        (folder,) = (tmp_path / "runs").iterdir()
        line = line.replace("3f2a", folder.name[:4])
    if line.startswith(("gc", "list", "site")):
        voxpath("run", "scenarios/lossy-download.toml", "--replication", "0")
        line = line.replace(" sarkar2022.html", "")
    if line.startswith("call "):
        for name in re.findall(r"\w+\.wav", line):
            shutil.copy(SAMPLE, tmp_path / name)
    called = voxpath(*shlex.split(line.split(">", maxsplit=1)[0]))
    assert called.code == 0, called.err


@pytest.mark.parametrize("name", NAMES)
def test_commands_in_a_sentence_exist(name: str):
    """`voxpath x --y` and `make x` between backquotes: the command, each option, the target."""
    prose = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text(), flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`\n]+)`", prose):
        words = code.split()
        if words[0] == "make" and len(words) == 2:
            assert words[1] in targets(), code
        if words[0] == "voxpath" and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in cli.commands, code
            known = {option for parameter in cli.commands[words[1]].params for option in parameter.opts}
            assert {word for word in words[2:] if word.startswith("--")} <= known | {"--help"}, code


@pytest.mark.parametrize("name", NAMES)
def test_a_page_links_to_what_is_there(name: str):
    text = (ROOT / name).read_text()
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in link:
            assert ((ROOT / name).parent / link).exists(), link


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in index, page


def block(language: str, text: str, **words: str) -> Block:
    return Block("page:1", language, words, text)


@pytest.mark.parametrize(
    "wrong",
    [
        block("console", "$ echo one\ntwo\n"),
        block("console", "$ echo one; echo two\none\n"),
        block("console", "$ false\n"),
        block("console", "$ voxpath run nothing.toml\nError: all is well\n"),
        block("console", "one\n"),
        block("sh", "exit 3\n"),
        block("sh", "make nothing-of-that-name\n"),
        block("python", "x = 1\n"),
        block("python", "raise SystemExit(1)\n"),
        block("diff", "@@\n nothing of the kind\n+x\n", file="README.md"),
        block("diff", "@@\n a\n+x\n", file="README.md"),
        block("cobol", "STOP RUN.\n"),
    ],
)
def test_a_page_that_is_wrong_fails(wrong: Block, tmp_path: Path):
    (tmp_path / "README.md").write_text("a\na\n")
    with pytest.raises(PageError):
        Session(tmp_path).follow(wrong)


def test_an_option_that_a_study_does_not_have_is_found_without_running_it(tmp_path: Path):
    Session(tmp_path).follow(block("sh", "voxpath study sarkar2022\n"))
    with pytest.raises(Exception, match="--fast"):
        Session(tmp_path).follow(block("sh", "voxpath study sarkar2022 --fast\n"))


def test_dots_stand_for_what_differs():
    assert matches(["a ... z", "...", "end"], ["a b z", "c", "d", "end"])
    assert matches(["...", "end"], ["end"])
    assert not matches(["a ... z"], ["a b"])
    assert not matches(["a.b"], ["axb"])


def test_blocks_are_found_with_their_place():
    text = "x\n\n```sh long\na\n```\n\n    b\n    c\n\n```python file=x.py\n    d\n```\n"
    assert [(b.place, b.language, b.words, b.text) for b in blocks(text, "p")] == [
        ("p:3", "sh", {"long": ""}, "a\n"),
        ("p:7", "sh", {}, "b\nc\n"),
        ("p:10", "python", {"file": "x.py"}, "    d\n"),
    ]
    with pytest.raises(PageError, match="not closed"):
        blocks("```sh\na\n", "p")


def told() -> list[Path]:
    """Every text that people read: pages, and the sources, whose messages and comments they see."""
    pages = [*PAGES, ROOT / "CHANGELOG.md"]
    return [*pages, ROOT / "Makefile", *sorted((ROOT / "python").rglob("*.py"))]


def test_nobody_is_told_to_install_voxpath_from_an_index():
    """It is on none: what works is an installation from its own directory."""
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in told()
        for line in path.read_text().splitlines()
        if re.search(r"voxpath\[|(pip|pipx|uv) install [^.]*\bvoxpath\b", line)
    ]
    assert found == []


def test_every_extra_that_people_are_told_of_is_there():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = "\n".join(path.read_text() for path in told())
    named = set(re.findall(r"install '\.\[([\w-]+)\]'", text)) | set(
        re.findall(r'install\("([\w-]+)"\)', text)
    )
    assert "dask" in named
    assert named <= set(extras)
