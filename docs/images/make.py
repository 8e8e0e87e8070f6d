"""Makes the README's picture: a section of a report of `voxpath report`, as Chromium shows it.

Needs Chromium (`make setup` installs it); run it by `make picture`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import voxpath

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "scenarios" / "loss-and-formulas.toml"
PICTURE = Path(__file__).with_name("report.png")
SIZE = "1180,1120"

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


def main() -> int:
    """Writes the picture; 1 where Chromium is missing."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("the picture needs Chromium: make setup installs it\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        voxpath.write_report(voxpath.load(SCENARIO), page, metrics=["completion_s"], out=Path(folder, "runs"))
        text = page.read_text("utf-8").replace("</head>", f"{ALONE}</head>")
        page.write_text(text.replace("</body>", f"{POINT}</body>"), "utf-8")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", f"--window-size={SIZE}", f"--screenshot={PICTURE}"]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True)  # noqa: S603
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
