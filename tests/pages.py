"""Follows pages of documentation: what docs/README.md promises of their blocks.

A page is followed from top to bottom in one directory, as a reader would. `python tests/pages.py PAGE ...`
writes what the commands of a console print now into pages that say something else; look at the difference.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conftest import PATIENCE_S, ROOT
from voxpath.cli.main import cli
from voxpath.scenario import parse

_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4}[^\n]*\n)+")
_OPENED = re.compile(r"^```", re.MULTILINE)


class PageError(AssertionError):
    """A page that says what is not so."""


@dataclass(frozen=True)
class Block:
    """A block of code of a page.

    Attributes:
        place: Page and line, for messages.
        language: The first word after the fence; `sh` for what is indented.
        words: The other words; `key=value` by key.
        text: What stands in it.
    """

    place: str
    language: str
    words: dict[str, str]
    text: str


def blocks(text: str, page: str) -> list[Block]:
    """Every block of a page, in its order."""
    found = []
    if len(_OPENED.findall(text)) % 2:
        raise PageError(f"{page}: a fence is not closed")
    for match in _FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        pairs = dict((*word.split("=", 1), "")[:2] for word in words)
        found.append((match.start(), language, pairs, match["text"]))
    # Without the fenced ones, so that nothing in them counts as indented.
    rest = _FENCE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
    found += [
        (match.start(), "sh", {}, re.sub(r"^ {4}", "", match[0], flags=re.MULTILINE))
        for match in _INDENTED.finditer(rest)
    ]
    return [Block(f"{page}:{text.count(chr(10), 0, start) + 1}", *block) for start, *block in sorted(found)]


@dataclass(frozen=True)
class Difference:
    """A command that prints something else than the page says.

    Attributes:
        block: Where it stands.
        command: The command.
        expected: Lines of the page.
        said: Lines that it printed.
    """

    block: Block
    command: str
    expected: list[str]
    said: list[str]


def raised(found: Difference) -> None:
    """Raises a `PageError`."""
    wanted, got = "\n".join(_printed(found.expected)), "\n".join(_printed(found.said))
    raise PageError(
        f"{found.block.place}: $ {found.command}\n--- the page says\n{wanted}\n--- it prints\n{got}"
    )


@dataclass
class Session:
    """Follows a page.

    Attributes:
        directory: Where.
        environment: Of the commands, beside that of this process.
        make: Performs a target of the Makefile; without it a target only has to be there.
        is_patched: Whether the page's diffs of several files are there already.
        differs: Told of each command of a console that prints something else than the page says.
    """

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)
    make: Callable[[str], None] | None = None
    is_patched: bool = False
    differs: Callable[[Difference], None] = raised

    def follow(self, block: Block) -> None:
        """Does what a block says.

        Raises:
            PageError: It does not do what the page says.
        """
        match block.language:
            case "console":
                for command, expected in dialogue(block):
                    self._console(block, command, expected)
            case "sh":
                for command in _commands(block.text):
                    self._command(block, command)
            case "diff" if "file" in block.words:
                self._edit(block)
            case "diff":
                self._patch(block)
            case "python" | "toml" | "rust" | "text" if "file" in block.words:
                path = self.directory / block.words["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            case "python":
                done = self._run([sys.executable, "-c", block.text])
                if done.returncode or not done.stdout:
                    raise PageError(f"{block.place}: the script ends with {done.returncode}\n{done.stderr}")
            case "toml":
                # A whole scenario has to run; a part of one, to be TOML.
                if "topology" in tomllib.loads(block.text):
                    parse(block.text, block.place)
            case "text":
                pass
            case other:
                raise PageError(f"{block.place}: nobody knows how to follow a block of {other or 'nothing'}")

    def _console(self, block: Block, command: str, expected: list[str]) -> None:
        done = self._command(block, command, fails=any(line.startswith("Error:") for line in expected))
        if done is None or not expected:
            return
        said = (done.stderr if done.returncode else done.stdout).splitlines()
        if not matches(expected, said):
            self.differs(Difference(block, command, expected, said))

    def _command(
        self, block: Block, command: str, *, fails: bool = False
    ) -> subprocess.CompletedProcess[str] | None:
        """Runs a command, or checks one that is not to be run here."""
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            self._target(block, words[1])
            return None
        if Path(words[0]).name == "voxpath" and (
            "long" in block.words or (words[1] == "study" and "--quick" not in words)
        ):
            arguments = words[2 : words.index(">") if ">" in words else None]
            cli.commands[words[1]].make_context(words[1], arguments)
            return None
        done = self._run(["bash", "-euc", command])
        if bool(done.returncode) != fails:
            raise PageError(f"{block.place}: $ {command}\nends with {done.returncode}\n{done.stderr}")
        return done

    def _target(self, block: Block, name: str) -> None:
        if name not in targets():
            raise PageError(f"{block.place}: the Makefile has no target {name}")
        if self.make is not None:
            self.make(name)

    def _edit(self, block: Block) -> None:
        """Applies the hunks of a diff; its context says where, not line numbers."""
        path = self.directory / block.words["file"]
        text = path.read_text()
        for hunk in re.split(r"^@@.*\n", block.text, flags=re.MULTILINE):
            if not hunk:
                continue
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            if text.count(old) != 1:
                raise PageError(f"{block.place}: this stands {text.count(old)} times in {path}:\n{old}")
            text = text.replace(old, new)
        path.write_text(text)

    def _patch(self, block: Block) -> None:
        """Applies a diff of several files as `git apply` does; no repository around the directory counts."""
        if self.is_patched:
            return
        done = subprocess.run(
            ["git", "apply", "-"],
            cwd=self.directory,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(self.directory.parent)},
            input=block.text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PageError(f"{block.place}: the diff does not apply\n{done.stderr}")

    def _run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        programs = Path(sys.executable).parent
        with subprocess.Popen(
            arguments,
            cwd=self.directory,
            env={
                **os.environ,
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "LC_ALL": "C.UTF-8",
                **self.environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE_S)
            except BaseException:
                # A server that is left would answer the commands of other pages.
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def dialogue(block: Block) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console and what they are said to print."""
    command, expected = "", list[str]()
    for line in block.text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        elif not command:
            raise PageError(f"{block.place}: a console begins with a command after '$ '")
        else:
            expected.append(line)
    if command:
        yield command, expected


def matches(expected: list[str], said: list[str]) -> bool:
    """Whether lines are those expected, blank ones and blanks at their ends left out.

    `...` stands for anything, on a line of its own for any lines.
    """
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in _printed(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _printed(said))) is not None


def targets() -> set[str]:
    """Targets of the Makefile that are meant for people."""
    (line,) = re.findall(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(line.split())


def _commands(text: str) -> list[str]:
    lines = text.replace("\\\n", "").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def _printed(lines: list[str]) -> list[str]:
    # Plots end in empty cells of Braille, which are no blanks to Python.
    return [line.rstrip(" \t\u2800") for line in lines if line.strip()]


TUTORIAL_BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tutorial"
_TREE = TUTORIAL_BUILD / "tree"
"""One for all pages: in one target directory cargo mistakes the build of one tree for that of another."""


OWN_CONGESTION_CONTROL = "-own-congestion-control.md"


def edits_the_tree(name: str) -> bool:
    """Whether a page changes our sources, so that it is followed in a copy of them."""
    return name.endswith(("/extending.md", OWN_CONGESTION_CONTROL))


def session_of(page: Path, scratch: Path) -> Session:
    """Where a page is followed: in an empty directory with our scenarios, or in a copy of the tree."""
    if page.name.endswith(OWN_CONGESTION_CONTROL):
        return _copy_of_the_tree()
    if edits_the_tree(str(page)):
        return _extended(page)
    (scratch / "scenarios").symlink_to(ROOT / "scenarios")
    (scratch / ".venv").symlink_to(sys.prefix)
    return Session(scratch)


def follow(page: Path, session: Session) -> None:
    """Follows every block of a page."""
    for block in blocks(page.read_text(), page.name):
        session.follow(block)


def _extended(page: Path) -> Session:
    """A copy of the tree with all diffs of a page, built once for all of them."""
    diffs = [block for block in blocks(page.read_text(), page.name) if block.language == "diff"]
    names = {name for diff in diffs for name in files_of(diff.text)}
    built = {path: (path.read_bytes(), path.stat()) for path in map(_TREE.joinpath, names) if path.exists()}
    session = _copy_of_the_tree()
    for diff in diffs:
        session.follow(diff)
    for path, (contents, was) in built.items():
        if path.read_bytes() == contents:
            # What the build has seen already it need not see again.
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    session.is_patched = True
    assert session.make is not None
    session.make("setup")
    return session


def files_of(diff: str) -> list[str]:
    """The files that a diff touches."""
    return re.findall(r"^diff --git a/(\S+) b/\1$", diff, re.MULTILINE)


def _copy_of_the_tree() -> Session:
    """The copy stays, as its build does: only what an edit touches is built again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = {Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in _TREE.rglob("*") if path.is_file()]:
        if path.relative_to(_TREE) not in files:
            path.unlink()
    for name in files:
        contents, copy = (ROOT / name).read_bytes(), _TREE / name
        if not copy.is_file() or copy.read_bytes() != contents:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(contents)
    environment = {
        "CARGO_TARGET_DIR": str(TUTORIAL_BUILD),
        # Half a minute from the first dependency on, where the tests' own settings take three.
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_PYTHON": sys.executable,
        "PYTHONPATH": str(_TREE / "python"),
    }

    def make(target: str) -> None:
        # `make setup` builds for release: minutes, where the profile of the tests takes seconds.
        assert target == "setup", target
        subprocess.run(
            ["cargo", "build", "--quiet", "--locked", "--profile", "test", "-p", "voxpath-py"],
            cwd=_TREE,
            env={**os.environ, **environment},
            check=True,
        )
        shutil.copy2(TUTORIAL_BUILD / "debug" / "lib_engine.so", _TREE / "python/voxpath/_engine.abi3.so")

    return Session(_TREE, environment, make)


def renew(page: Path) -> int:
    """Writes what commands print now into a page; how many of them differ."""
    found: list[Difference] = []
    text = page.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        session = session_of(page, Path(scratch))
        session.differs = found.append
        for block in blocks(text, page.name):
            session.follow(block)
    for difference in found:
        old, new = (
            f"$ {difference.command}\n" + "".join(f"{line}\n" for line in lines)
            for lines in (difference.expected, _printed(difference.said))
        )
        # The names of runs and builds change with every change of the engine.
        new = re.sub(r"[0-9a-f]{32}", "...", new)
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    page.write_text(text)
    return len(found)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(f"{argument}: {renew(Path(argument))} renewed\n")
