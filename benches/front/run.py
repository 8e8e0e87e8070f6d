"""What a first use costs: `make bench-front` writes docs/measured/first-use.md.

The start of `voxpath --help`, what `voxpath exec` adds to a command, and with `--demo` the time of `make demo` in a fresh clone.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import machine  # noqa: E402 - a folder of programs, not a package

PAGE = ROOT / "docs/measured/first-use.md"
TIMES = 15
HELP_S = 0.15
EXEC_S = 1.0
DEMO_S = 180.0


class Took(NamedTuple):
    """What a command took, in seconds: by the clock, and of processors, its children with it."""

    wall: float
    processor: float


def took(*command: str, cwd: Path = ROOT) -> Took:
    """Runs a command and measures it."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - ours
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def demo() -> Took:
    """What `make demo` takes in a fresh clone; registries' caches are as they are."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "voxpath"
        took("git", "clone", "--quiet", str(ROOT), str(clone), cwd=Path(folder))
        return took("make", "demo", cwd=clone)


def main() -> int:
    """Writes the page; 1 where a bar is not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", action="store_true", help="time make demo in a fresh clone, too")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    where = machine()
    voxpath = str(Path(sys.executable).with_name("voxpath"))
    started = [took(voxpath, "--help") for _ in range(TIMES)]
    bare = statistics.median(took("true").wall for _ in range(TIMES))
    behind = [took(voxpath, "exec", "--delay", "1 ms", "--", "true") for _ in range(TIMES)]
    behind = [one._replace(wall=one.wall - bare) for one in behind]
    rows = [
        ("`voxpath --help`", started, HELP_S),
        ("`voxpath exec` of `true` over 1 ms, above `true`", behind, EXEC_S),
    ]
    if options.demo:
        rows.append(("`make demo` in a fresh clone", [demo()], DEMO_S))
    lines, failed = [], 0
    for what, found, bar in rows:
        # Other work of the machine only ever adds.
        least, median = min(one.wall for one in found), statistics.median(one.wall for one in found)
        processor = min(one.processor for one in found)
        failed += least >= bar
        yes = "yes" if least < bar else "no"
        lines.append(
            f"| {what} | {least:.3f} s | {median:.3f} s | {processor:.3f} s | under {bar:g} s | {yes} |"
        )
        sys.stdout.write(lines[-1] + "\n")
    options.out.write_text(_PAGE.format(where=where, rows="\n".join(lines), times=TIMES))
    return int(failed > 0)


_PAGE = """# What a first use costs

`make bench-front` writes this page. Measured on: {where}. Each command ran {times} times, `make demo` once, in a clone of its own: without an
environment and a build, with the package registries' caches of the machine. The least time counts, since other work of a machine only ever adds;
processor time, the least too, hardly depends on it.

| what | least | median | processor time | bar | reached |
| --- | --- | --- | --- | --- | --- |
{rows}
"""


if __name__ == "__main__":
    sys.exit(main())
