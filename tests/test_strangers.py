"""What strangers put into names, outputs and folders neither steers a terminal nor ends in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SMALL, process
from voxpath import halts, interrupts, terminal, texts

EVIL = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x1b[2K\x9b1A\x08end"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (EVIL, "redend"),
        ("two\nlines", "two\nlines"),
        ("\x1bc\x1b(B\x1b[", ""),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;cut off", ""),
        ("abc\u202edef\r", "abcdef"),
        ("größe – ⠿", "größe – ⠿"),
    ],
)
def test_a_text_is_shown_without_what_steers_a_terminal(text: str, shown: str):
    assert texts.safe(text) == shown


def steers(text: str) -> bool:
    return any(not character.isprintable() and character != "\n" for character in text)


def toml(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) > 126 else c for c in text)


@pytest.mark.parametrize(
    "scenario",
    [
        SMALL.replace('name = "small"', f'name = "{toml(EVIL)}"'),
        SMALL.replace('name = "download"', f'name = "{toml(EVIL)}"'),
        SMALL.replace('kind = "pipe"', f'kind = "{toml(EVIL)}"'),
        SMALL.replace("[topology]", f'["{toml(EVIL)}"]'),
        SMALL + f'\n[hosts.client]\nprofile = "{toml(EVIL)}"\n',
    ],
)
def test_names_of_a_scenario_do_not_steer_the_terminal(scenario: str, voxpath, tmp_path: Path):
    (tmp_path / "evil.toml").write_text(scenario)
    called = voxpath("run", "evil.toml")
    assert not steers(called.out)
    assert not steers(called.err)
    assert "Traceback" not in called.err


def test_a_name_is_no_markup(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminal.Console, "is_terminal", True)
    with terminal.Progress("[/red] [bold", 1) as progress:
        progress.advance()


PROGRAM = """\
name = "rude"

[topology]
kind = "pipe"
link = { delay = "1 ms" }

[hosts.server]
profile = "linux"
listens = 5000
run = ["sh", "-c", "printf '\\\\033]0;owned\\\\007rude\\\\n' >&2; exit 3"]

[hosts.client]
profile = "linux"
run = ["true"]
"""


def test_the_last_words_of_a_program_do_not_steer_the_terminal(voxpath, tmp_path: Path):
    (tmp_path / "rude.toml").write_text(PROGRAM)
    called = voxpath("run", "rude.toml", "--backend", "real")
    assert called.code == 1
    assert "has ended before it listened: rude" in called.err
    assert not steers(called.err)


def test_the_process_with_the_hosts_ends_quietly_when_nobody_listens():
    code = "from voxpath.backends.real.runner import main; main()"
    runner = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    runner.stdout.close()
    assert runner.stderr.read() == b""
    runner.stderr.close()
    runner.stdin.close()
    assert runner.wait() == 0


@pytest.fixture
def interrupts_are_heard() -> Iterator[None]:
    """A shell that starts tests in the background has these signals ignored, which processes inherit."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in interrupts.FROM_KEYS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("interrupts_are_heard")
def test_ctrl_c_while_the_command_line_is_imported_is_no_accident(tmp_path: Path):
    running = process("doctor", cwd=tmp_path, environment={halts.VARIABLE: "start.imported"})
    os.waitpid(running.pid, os.WUNTRACED)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    _, err = running.communicate()
    assert (running.returncode, err) == (130, "voxpath: interrupted\n")
