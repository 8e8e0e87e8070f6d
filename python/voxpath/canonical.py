"""The one JSON text of a value: it is hashed into identities, so it must not depend on who writes it."""

from __future__ import annotations

import json


def canonical(value: object) -> str:
    """Keys sorted, no white space, shortest exact numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
