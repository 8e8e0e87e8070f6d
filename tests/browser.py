"""Chromium without a window: loads a page, runs a script in it, and tells what it returned.

The script stands in the page itself and leaves its result in the document. It runs as a visitor would act:
with events at places of the page.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from conftest import PATIENCE_S
from devtools import chromium

_WATCH = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(event.message || `cannot load ${event.target.src}`), true);
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) =>
  problems.push(`would load ${event.blockedURI} (${event.effectiveDirective}, line ${event.lineNumber})`));
</script>"""

_ACT = """
(async () => {
  // What an event has changed is drawn in the next frame, however long that takes.
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const pause = async () => { await frame(); await frame(); };
  const mouse = (target, type, x, y, more = {}) => {
    const box = target.getBoundingClientRect();
    const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height };
    target.dispatchEvent(new MouseEvent(type, { bubbles: true, view: window, ...at, ...more }));
  };
  let result;
  try { result = await (async () => { %s })(); } catch (error) { problems.push(String(error)); }
  document.documentElement.dataset.result = JSON.stringify({ result, problems });
})();
"""


def browse(page: str, script: str, tmp_path: Path, width: int = 1280, scheme: str = "light") -> Any:
    """What a script returns that runs in a page; an error in it, or a request of it, is an error here."""
    file = tmp_path / "browsed.html"
    watched = page.replace("<head>", f"<head>{_WATCH}", 1)
    act = _ACT % script
    # Only scripts that the page's policy names run in it.
    digest = base64.b64encode(hashlib.sha256(act.encode()).digest()).decode()
    watched = watched.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    file.write_text(watched.replace("</body>", f"<script>{act}</script></body>"), "utf-8")
    # Scripts act for a visitor, whose clicks let a page play sounds.
    flags = [f"--window-size={width},1000", "--autoplay-policy=no-user-gesture-required"]
    flags += ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []

    async def visit() -> str:
        async with asyncio.timeout(PATIENCE_S), chromium(tmp_path / "profile", *flags) as browser:
            await browser.open(file.as_uri())
            await browser.until("document.documentElement?.dataset.result !== undefined")
            return await browser.value("document.documentElement.dataset.result")

    told = json.loads(asyncio.run(visit()))
    assert told["problems"] == [], told["problems"]
    return told.get("result")
