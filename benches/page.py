"""The page that benchmarks write, docs/benchmarks.md: its sections, and the machine that they were measured on."""
# SPDX-License-Identifier: Apache-2.0

import os
import platform
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def machine() -> str:
    """What the numbers are measured on, and what else it does now."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load average {os.getloadavg()[0]:.1f} at the start"


def section(text: str, title: str) -> str:
    """What a page says in a section; empty if it has none of that title."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def with_section(text: str, title: str, body: str) -> str:
    """A page in which a section says something else; at the end if it has none of that title."""
    section = f"## {title}\n{body.strip()}\n"
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return f"{text.rstrip()}\n\n{section}"
    rest = text[found.end() :]
    return text[: found.start()] + section + (f"\n{rest}" if rest else "")
