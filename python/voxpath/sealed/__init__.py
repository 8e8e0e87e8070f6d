"""Sealed objects: what an owner lets some read, whoever carries or keeps it.

An owner says who may read and who may publish a topic. A publisher seals each object with the topic's
key and signs it; the key comes to each reader sealed for that reader alone. A broker has neither, so it
can read nothing, and what it alters, repeats or moves to another topic is noticed. An object does not
depend on what carries it: the same bytes go over MQTT, over a socket, or lie in a file.

| file | idea |
| --- | --- |
| `owner.py` | who may do what until when; topic keys, which change when a reader leaves |
| `objects.py` | sealing, opening, and the account of who opened what |

Keys are sealed by HPKE (RFC 9180), objects by AES-128-GCM (SP 800-38D), and both are signed by Ed25519
(RFC 8032), all of the package `cryptography` (the extra `sealed`). In the spirit of the platform of
Thapa et al. 2023; its own format is not published.
"""

from __future__ import annotations

from voxpath.sealed.objects import Opener, Receipt, Sealer, verify
from voxpath.sealed.owner import Grant, Identity, Owner, Refused, Role

__all__ = ["Grant", "Identity", "Opener", "Owner", "Receipt", "Refused", "Role", "Sealer", "verify"]
