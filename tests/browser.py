"""Chromium without a window: loads a page, runs a script in it, and tells what it returned.

The script stands in the page itself and leaves its result in the document, which Chromium prints: so nothing
but the browser is needed. It runs as a visitor would act: with events at places of the page.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_S = 120
_VIRTUAL_MS = 8000
"""How long the page lives, on a clock that does not wait."""

_WATCH = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(event.message || `cannot load ${event.target.src}`), true);
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push(`would load ${event.blockedURI}`));
</script>"""

_ACT = """<script>
(async () => {
  const pause = () => new Promise((done) => setTimeout(done, 50));
  const mouse = (target, type, x, y, more = {}) => {
    const box = target.getBoundingClientRect();
    const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height };
    target.dispatchEvent(new MouseEvent(type, { bubbles: true, view: window, ...at, ...more }));
  };
  let result;
  try { result = await (async () => { %s })(); } catch (error) { problems.push(String(error)); }
  document.documentElement.dataset.result = JSON.stringify({ result, problems });
})();
</script>"""


def browse(page: str, script: str, tmp_path: Path, width: int = 1280, scheme: str = "light") -> Any:
    """What a script returns that runs in a page; an error in it, or a request of it, is an error here."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    assert program is not None, "Chromium is missing: make setup installs it"
    file = tmp_path / "browsed.html"
    watched = page.replace("<head>", f"<head>{_WATCH}", 1)
    file.write_text(watched.replace("</body>", f"{_ACT % script}</body>"), "utf-8")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--window-size={width},1000", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--virtual-time-budget={_VIRTUAL_MS}"]
    command += ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    done = subprocess.run(
        [*command, file.as_uri()], capture_output=True, text=True, check=True, timeout=_PATIENCE_S
    )
    found = re.search(r'<html[^>]* data-result="([^"]*)"', done.stdout)
    assert found is not None, f"the script did not end: {done.stderr[-2000:]}"
    told = json.loads(html.unescape(found[1]))
    assert told["problems"] == [], told["problems"]
    return told.get("result")
