"""What is installed only on request."""

from __future__ import annotations


def install(extra: str) -> str:
    """How to get an extra. voxpath is on no package index, so it is installed from its sources."""
    return f"pip install '.[{extra}]' in the directory of voxpath's sources"
