"""Makes the pictures of the README and of vowels.md: parts of reports, as Chromium shows them.

Needs Chromium (`make setup` installs it); run it by `make picture`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import voxpath
from voxpath.document import Report, Section
from voxpath.report.html import render
from voxpath.studies.karaoui2023 import vocal_tract

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "scenarios" / "loss-and-formulas.toml"
PICTURE = Path(__file__).with_name("report.png")
SIZE = "1180,1120"
VOWELS_PICTURE = Path(__file__).with_name("vowels.png")
VOWELS_SIZE = "1180,1500"

ALONE = """<style>
header, nav, footer, section:not([id$="completion"]), .table { display: none !important; }
p { max-width: none; } body { padding-block: 0; } h2 { margin: 0; border: 0; }
</style>"""
"""Leaves the section of the completion time."""

POINT = """<script>
const over = document.querySelector(".u-over"), box = over.getBoundingClientRect();
over.dispatchEvent(new MouseEvent("mousemove", {
  bubbles: true, clientX: box.left + 0.57 * box.width, clientY: box.top + 0.6 * box.height }));
</script>"""
"""Reads a value, as a pointer would."""


def vowels_of() -> Report:
    """Contours and sound of the tuned postures of the study karaoui2023."""
    pair, _ = vocal_tract.tuned()
    found = vocal_tract.find(pair, quick=True)
    return Report("", "", [], [Section("Plain and pharyngealised /a/", vocal_tract.pictures(found))], [])


def shoot(chromium: str, page: Path, size: str, picture: Path) -> None:
    """Writes what Chromium shows of a page."""
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={page.parent}/profile", f"--window-size={size}", f"--screenshot={picture}"]
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True)  # noqa: S603


def main() -> int:
    """Writes the pictures; 1 where Chromium is missing."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("the picture needs Chromium: make setup installs it\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        voxpath.write_report(voxpath.load(SCENARIO), page, metrics=["completion_s"], out=Path(folder, "runs"))
        text = page.read_text("utf-8").replace("</head>", f"{ALONE}</head>")
        page.write_text(text.replace("</body>", f"{POINT}</body>"), "utf-8")
        shoot(chromium, page, SIZE, PICTURE)
        vowels = Path(folder, "vowels.html")
        vowels.write_text(render(vowels_of()), "utf-8")
        shoot(chromium, vowels, VOWELS_SIZE, VOWELS_PICTURE)
    for picture in (PICTURE, VOWELS_PICTURE):
        sys.stdout.write(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1024} KiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
