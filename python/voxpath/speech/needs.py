"""Whether the extra `speech` is there, before anything of it is imported."""

from __future__ import annotations

from importlib.util import find_spec

import click

from voxpath.extras import install

_PACKAGES = ("aiohttp", "av", "pocketsphinx")


def check() -> None:
    """Says what is missing, and how to get it."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise click.UsageError(f"{', '.join(missing)} missing: {install('speech')}")
