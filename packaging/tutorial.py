"""Follows pages of the tutorial with the commands of another environment, which a wheel was installed into.

python packaging/tutorial.py PROGRAMS PAGE ...: the directory of the programs, and pages of docs/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from pages import blocks, session_of


def main(programs: str, *pages: str) -> None:
    """Follows each page; what a page says and its commands do not is an error."""
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            session = session_of(page, Path(folder))
            session.environment["PATH"] = f"{programs}:/usr/bin:/bin"
            for block in blocks(page.read_text(), page.name):
                session.follow(block)
        sys.stdout.write(f"{page}: holds\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
