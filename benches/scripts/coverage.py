#!/usr/bin/env python3
"""`make tcp-scripts`: which rule of the RFCs which script covers, from the list of rules and the scripts' heads.

Runs every script on every stack that it names, the live kernel too, and writes docs/measured/tcp-coverage.md where all hold.
"""
# SPDX-License-Identifier: Apache-2.0

import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from voxpath import scripts
from voxpath.scripts import Script

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "scripts"
PAGE = ROOT / "docs" / "measured" / "tcp-coverage.md"


def read_all() -> list[Script]:
    """Every script, by name."""
    return [scripts.read(path) for path in sorted(FOLDER.glob("*.pkt"))]


def rules() -> Iterator[tuple[str, str, str, str]]:
    """Every rule: its document and that document's title, its name as scripts say it, and what it asks for."""
    listed = tomllib.loads((FOLDER / "rules.toml").read_text(encoding="utf-8"))
    for document, entries in listed.items():
        for name, text in entries.items():
            if name != "title":
                # The options' rules name their own documents.
                full = name if document == "options" else f"{document}-{name}"
                yield document, entries["title"], full, text


def problems(everything: Sequence[Script]) -> list[str]:
    """Rules that scripts name and nobody has listed, and scripts that cover none."""
    known = {name for _, _, name, _ in rules()}
    found = [
        f"{script.path.name}: there is no rule {rule} in rules.toml"
        for script in everything
        for rule in script.rules
        if rule not in known
    ]
    return found + [f"{script.path.name} covers no rule" for script in everything if not script.rules]


def page(everything: Sequence[Script]) -> str:
    """The page for docs/."""
    covered: dict[str, list[Script]] = defaultdict(list)
    for script in everything:
        for rule in script.rules:
            covered[rule].append(script)
    all_rules = list(rules())
    with_kernel = [name for _, _, name, _ in all_rules if any("kernel" in s.stacks for s in covered[name])]
    count = sum(bool(covered[name]) for _, _, name, _ in all_rules)
    text = f"""# Which script covers which rule of TCP

Written by `make tcp-scripts` from [the list of rules](../../tests/scripts/rules.toml) and the heads of
[the scripts](../../tests/scripts); do not edit. How scripts are written and run: [tcp-scripts.md](../tcp-scripts.md).

{len(everything)} scripts cover {count} of {len(all_rules)} rules, {len(with_kernel)} of them on the live kernel, too. **none** marks a rule that no
script covers; tests in Rust (`crates/tcp/tests`) cover many of these.
"""
    last = ""
    for document, title, name, rule in all_rules:
        if document != last:
            heading = title if document == "options" else f"RFC {document}: {title}"
            text += f"\n## {heading}\n\n| rule | what it asks for | scripts (stacks) |\n| --- | --- | --- |\n"
            last = document
        by = ", ".join(
            f"[{script.path.stem}](../../tests/scripts/{script.path.name}) ({' '.join(script.stacks)})"
            for script in covered[name]
        )
        text += f"| {name} | {rule.replace('|', chr(92) + '|')} | {by or '**none**'} |\n"
    text += "\n## Where the kernel differs from `linux`\n\n"
    text += "".join(f"- `{s.path.stem}`: {s.differs}\n" for s in everything if s.differs)
    text += "\n## Scripts of `linux` that the kernel does not run\n\n"
    text += "".join(f"- `{s.path.stem}`: {s.simulated}\n" for s in everything if s.simulated)
    return text


def main() -> int:
    """The command line."""
    everything = read_all()
    wrong = problems(everything)
    for script in everything:
        for stack in script.stacks:
            failure = scripts.run(script, stack).failure
            if failure is not None:
                wrong.append(f"{script.path.name}:{failure[0]} on {stack}: {failure[1]}")
    if wrong:
        sys.stderr.write("\n".join(wrong) + "\n")
        return 1
    PAGE.write_text(page(everything), encoding="utf-8")
    sys.stdout.write(f"{len(everything)} scripts hold; written: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
