"""What sealing costs in time and bytes: `make bench-sealed` writes docs/measured/sealed.md."""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import measured_on  # noqa: E402 - a folder of programs

from voxpath.sealed import Identity, Opener, Owner, Role, Sealer  # noqa: E402
from voxpath.sealing import overhead  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = ROOT / "docs/measured/sealed.md"
SIZES = {"1 B": 1, "100 B": 100, "1 kB": 1000, "100 kB": 100_000, "1 MB": 1_000_000}
TOPIC = "sensors/0/temperature"
NOW, UNTIL = 0, 1


def median_us(act: Callable[[], object], repetitions: int) -> float:
    """The median processor time of a call, in microseconds."""
    took = []
    for _ in range(repetitions):
        begin = time.process_time_ns()
        act()
        took.append(time.process_time_ns() - begin)
    return statistics.median(took) / 1e3


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    owner = Owner(Identity("owner"))
    sensor, reader = Identity("sensor"), Identity("reader")
    owner.allow(TOPIC, sensor.public, Role.PUBLISH, UNTIL)
    owner.allow(TOPIC, reader.public, Role.READ, UNTIL)
    grants = owner.grants(TOPIC, NOW)
    sealer = Sealer(sensor, owner.public, grants["sensor"])
    opener = Opener(reader, owner.public, owner.publishers(TOPIC), grants["reader"])
    rows = []
    for name, size in SIZES.items():
        body = bytes(size)
        sealing = median_us(lambda body=body: sealer.seal(body, NOW), options.repetitions)
        # An object opens once: what comes again is refused.
        sealed = iter([sealer.seal(body, NOW) for _ in range(options.repetitions)])
        opening = median_us(lambda sealed=sealed: opener.open(next(sealed), NOW), options.repetitions)
        added = overhead(sensor.name)
        rows.append(f"| {name} | {sealing:.0f} | {opening:.0f} | {added} | {added / size:.2%} |")
    granting = median_us(lambda: owner.grants(TOPIC, NOW), options.repetitions)
    taking = median_us(lambda: grants["reader"].key(reader, owner.public), options.repetitions)
    options.out.write_text(
        f"""# What sealing costs

`make bench-sealed` writes this page. Measured on {measured_on()}. Medians of {options.repetitions} calls, in microseconds of processor time. A message that is
sealed once is opened by each reader. The owner seals the topic's key for one publisher and one reader in {granting:.0f} us, and one of them opens
it in {taking:.0f} us; that is done when rights change, and not for each message.

| body | sealing us | opening us | bytes more | of the body |
| --- | --- | --- | --- | --- |
"""
        + "\n".join(rows)
        + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
