"""Pages as people see them, at two widths, light and dark: what overflows, complains, or is a fault to axe.

`python tests/look.py PAGE ...` looks at files, and at every page below a directory. `--pictures DIR` keeps
what it saw.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from conftest import PATIENCE_S
from devtools import Browser, chromium

WIDTHS = (400, 1300)
SCHEMES = ("light", "dark")

_AXE = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
_SERIOUS = """
axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations
  .filter((fault) => ["serious", "critical"].includes(fault.impact))
  .map((fault) => [fault.id, ...fault.nodes.slice(0, 3).map((node) => node.html.slice(0, 120))].join(" | "))))
"""
_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_FITTED = """
[...document.querySelectorAll(".uplot")].every((plot) => {
  const [inside, around] = [plot, plot.parentElement].map((element) => element.getBoundingClientRect().width);
  return Math.abs(inside - around) < 1 || around < 240;
})
"""
"""Whether every plot has the width of its place: it takes it a frame after the place has it."""
_COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded")
_TALLEST = 4000


async def look(
    addresses: Mapping[str, str], profile: Path, pictures: Path | None = None
) -> dict[str, list[str]]:
    """What is wrong with each page by `NAME WIDTH SCHEME`; its complaints stand with the last of these.

    Args:
        addresses: Pages by name. One browser looks at all of them, as it starts slowly.
        profile: A directory for the browser.
        pictures: A directory for what was seen.
    """
    wrong: dict[str, list[str]] = {}
    async with chromium(profile, f"--window-size={WIDTHS[-1]},900") as browser:
        for name, address in addresses.items():
            async with asyncio.timeout(PATIENCE_S):
                await browser.open(address)
                await browser.until("location.href !== 'about:blank'")
                await browser.call("Runtime.enable")
                await browser.call("Log.enable")
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        key = f"{name} {width} {scheme}"
                        wrong[key] = await _seen(browser, width, scheme)
                        if pictures is not None:
                            await _picture(browser, pictures / f"{key.replace(' ', '-')}.png", width)
                wrong[key] += [
                    str(event["params"]) for event in browser.events if event.get("method") in _COMPLAINTS
                ]
                browser.events.clear()
    return wrong


async def _seen(browser: Browser, width: int, scheme: str) -> list[str]:
    await browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    await browser.call("Emulation.setEmulatedMedia", features=[feature])
    await browser.until("document.readyState === 'complete'")
    # What a page asks for is there a moment later.
    await browser.until("!document.querySelector('main:empty')")
    at_once = await browser.value(_WIDE)
    await browser.until(_FITTED)
    wide = await browser.value(_WIDE)
    await browser.value(f"{_AXE}; true")
    told = await browser.call("Runtime.evaluate", expression=_SERIOUS, returnByValue=True, awaitPromise=True)
    assert "exceptionDetails" not in told, told
    return [
        *([f"is {at_once} pixels too wide at first"] if at_once > 0 else []),
        *([f"is {wide} pixels too wide"] if wide > 0 else []),
        *json.loads(told["result"]["value"]),
    ]


async def _picture(browser: Browser, file: Path, width: int) -> None:
    height = min(await browser.value("document.documentElement.scrollHeight"), _TALLEST)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    taken = await browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    file.write_bytes(base64.b64decode(taken["data"]))


def main() -> int:
    """Looks at pages; 1 if something is wrong with one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--pictures", type=Path)
    asked = parser.parse_args()
    found = [page for one in asked.pages for page in (sorted(one.rglob("*.html")) if one.is_dir() else [one])]
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    addresses = {"-".join(page.parts[-3:]).removesuffix(".html"): page.resolve().as_uri() for page in found}
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(look(addresses, Path(folder), asked.pictures))
    wrong = {key: faults for key, faults in seen.items() if faults}
    for key, faults in wrong.items():
        sys.stdout.writelines(f"{key}: {fault}\n" for fault in faults)
    sys.stdout.write(f"look: {len(found)} pages, {len(wrong)} of {len(seen)} looks found something\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
