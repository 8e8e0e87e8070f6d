"""What is installed only on request."""

from __future__ import annotations

import re

EXTRAS = {
    "notebook": "charts of results: .plot()",
    "pandas": "frames of results for pandas",
    "dask": "sweeps on a cluster: --dask",
    "objects": "runs of a cluster through an object store: --shards",
    "call": "voxpath call: a recording through a network, and its measures",
    "speech": "voxpath speech: recognition as a service",
    "speech-sherpa": "its recogniser sherpa-onnx",
    "speech-vosk": "its recogniser Vosk",
    "speech-whisper": "its recogniser Whisper",
    "vowels": "voxpath vowels, and what codecs do to speech",
    "images": "voxpath vowels trace: contours from images",
    "quic": "the download of the study sarkar2022 over QUIC",
    "rooms": "echo paths of rooms",
    "sealed": "voxpath.sealed: objects that only some can read",
}
"""What each gives; `pyproject.toml` says what it brings."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+).*;.*extra == ['\"]([a-z0-9-]+)['\"]")


def install(extra: str) -> str:
    """How to get an extra. voxpath is on no package index, so it is installed from its sources."""
    return f"pip install '.[{extra}]' in the directory of voxpath's sources"


def lacking(extra: str) -> list[str]:
    """What an extra brings and is not here, as far as the installed package says what that is."""
    # Not at once: what lists the commands imports this module.
    from importlib import metadata

    found = (_REQUIREMENT.match(line) for line in metadata.requires("voxpath") or ())
    names = [match[1] for match in found if match is not None and match[2] == extra and match[1] != "voxpath"]
    return [name for name in names if not _is_here(name)]


def _is_here(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
