"""How many bytes sealed objects have. What seals and opens them is `voxpath.sealed`, which needs an extra."""

from __future__ import annotations

import struct

HEAD = struct.Struct("!BIQB")
"""Version, epoch, number of the object, length of the publisher's name."""
SIGNATURE = 64
"""Of Ed25519 (RFC 8032)."""
TAG = 16
"""Of AES-GCM (SP 800-38D)."""
NONCE = 12
"""Random, as SP 800-38D section 8.2.2 has it: good for 2^32 objects of a key."""


def overhead(name: str) -> int:
    """Bytes that sealing adds to an object of the publisher of this name."""
    return HEAD.size + len(name.encode()) + NONCE + TAG + SIGNATURE
