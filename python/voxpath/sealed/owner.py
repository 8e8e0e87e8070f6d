"""An owner, who may do what with a topic until when, and the topic's keys."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntFlag

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_GRANT = b"voxpath grant 1"
_FIELDS = struct.Struct("!BIQ")


class Refused(Exception):  # noqa: N818 - it is an outcome
    """What was to be opened is not what its owner or its publisher made, or not for who opens it."""


class Role(IntFlag):
    """What somebody may do with a topic."""

    READ = 1
    PUBLISH = 2


@dataclass(frozen=True)
class Identity:
    """Somebody: a key to sign with, and a key to which others seal.

    Attributes:
        name: For people, and in accounts; at most 65 535 bytes of UTF-8.
        signing: Ed25519.
        opening: X25519.
    """

    name: str
    signing: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate, repr=False)
    opening: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate, repr=False)

    @property
    def public(self) -> Public:
        """What others may know."""
        return Public(self.name, self.signing.public_key(), self.opening.public_key())


@dataclass(frozen=True)
class Public:
    """What others know of somebody."""

    name: str
    signing: Ed25519PublicKey
    opening: X25519PublicKey


@dataclass(frozen=True)
class Grant:
    """A topic's key for one, sealed for that one and signed by the owner.

    Attributes:
        topic: The topic.
        epoch: Which of its keys; it counts up when somebody loses the right to read.
        role: What the one may do.
        until: When that ends, in seconds of the clock that all go by.
        sealed: The key, by HPKE.
        signature: Of all of this, by the owner.
    """

    topic: str
    epoch: int
    role: Role
    until: int
    sealed: bytes
    signature: bytes

    def key(self, one: Identity, owner: Public) -> bytes:
        """The topic's key.

        Raises:
            Refused: It is not of this owner, or not for this one.
        """
        told = _told(self.topic, self.epoch, self.role, self.until, one.public)
        try:
            owner.signing.verify(self.signature, told + self.sealed)
            return SUITE.decrypt(self.sealed, one.opening, told)
        except (InvalidSignature, InvalidTag):
            raise Refused(f"the grant of {self.topic!r} is not its owner's for {one.name!r}") from None


def _told(topic: str, epoch: int, role: Role, until: int, one: Public) -> bytes:
    """What a grant says, in bytes; each part tells its length."""
    parts = (
        topic.encode(),
        one.name.encode(),
        one.signing.public_bytes_raw(),
        one.opening.public_bytes_raw(),
    )
    lengths = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    return _GRANT + _FIELDS.pack(int(role), epoch, until) + lengths


@dataclass
class _Topic:
    epoch: int
    key: bytes
    allowed: dict[str, tuple[Public, Role, int]]


class Owner:
    """Owns topics. Whoever may read one has its key; a new key is made once somebody may no longer."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._topics: dict[str, _Topic] = {}

    @property
    def public(self) -> Public:
        """What others know of the owner."""
        return self.identity.public

    def allow(self, topic: str, one: Public, role: Role, until: int) -> None:
        """Has somebody read, or publish, or both, until a time in seconds."""
        known = self._topics.setdefault(topic, _Topic(1, AESGCM.generate_key(128), {}))
        known.allowed[one.name] = (one, role, until)

    def remove(self, topic: str, name: str) -> None:
        """Takes somebody's rights; the topic has a new key, which what comes after is sealed with."""
        known = self._topics[topic]
        del known.allowed[name]
        known.epoch, known.key = known.epoch + 1, AESGCM.generate_key(128)

    def grants(self, topic: str, now: int) -> dict[str, Grant]:
        """The grants of all who have rights at `now`, by their names; those whose time is over lose them."""
        known = self._topics[topic]
        for name in [name for name, (_, _, until) in known.allowed.items() if until <= now]:
            self.remove(topic, name)
        found = {}
        for name, (one, role, until) in known.allowed.items():
            told = _told(topic, known.epoch, role, until, one)
            sealed = SUITE.encrypt(known.key, one.opening, told)
            signature = self.identity.signing.sign(told + sealed)
            found[name] = Grant(topic, known.epoch, role, until, sealed, signature)
        return found

    def publishers(self, topic: str) -> dict[str, Public]:
        """Who may publish; readers have to know this from the owner."""
        allowed = self._topics[topic].allowed.items()
        return {name: one for name, (one, role, _) in allowed if Role.PUBLISH in role}
