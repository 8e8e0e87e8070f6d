"""Objects, sealed and opened, and the account of who opened what."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from voxpath.sealed.owner import Grant, Identity, Public, Refused, Role
from voxpath.sealing import HEAD, NONCE, SIGNATURE, TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = 1


class Sealer:
    """Seals objects of a topic.

    An object is a head (version, epoch, number of the object, length of the publisher's name), the name, a
    nonce, what was sealed, and the publisher's signature. The topic is bound to it and does not travel.
    """

    def __init__(self, one: Identity, owner: Public, grant: Grant, sent: int = 0) -> None:
        """Begins behind the number `sent`: that of the last object that was sealed before."""
        if Role.PUBLISH not in grant.role:
            raise Refused(f"{one.name!r} may not publish {grant.topic!r}")
        self._one, self._grant = one, grant
        self._cipher = AESGCM(grant.key(one, owner))
        self._number = sent

    def seal(self, body: bytes, now: int) -> bytes:
        """A sealed object.

        Raises:
            Refused: The right to publish is over at `now`.
        """
        if now >= self._grant.until:
            raise Refused(f"the right to publish {self._grant.topic!r} is over")
        self._number += 1
        name = self._one.name.encode()
        head = HEAD.pack(_VERSION, self._grant.epoch, self._number, len(name)) + name
        bound = head + self._grant.topic.encode()
        nonce = secrets.token_bytes(NONCE)
        sealed = nonce + self._cipher.encrypt(nonce, body, bound)
        return head + sealed + self._one.signing.sign(bound + sealed)


@dataclass(frozen=True)
class Receipt:
    """That somebody opened an object, signed by that one; each follows on the one before."""

    reader: str
    topic: str
    object: bytes
    at: int
    before: bytes
    signature: bytes

    @property
    def told(self) -> bytes:
        """What is signed."""
        return _receipt(self.reader, self.topic, self.object, self.at, self.before)

    @property
    def digest(self) -> bytes:
        """By which the next one names it."""
        return hashlib.sha256(self.told + self.signature).digest()


def _receipt(reader: str, topic: str, digest: bytes, at: int, before: bytes) -> bytes:
    names = b"".join(len(text.encode()).to_bytes(2, "big") + text.encode() for text in (reader, topic))
    return b"voxpath receipt 1" + names + digest + at.to_bytes(8, "big") + before


def verify(receipts: list[Receipt], reader: Public) -> None:
    """Checks that receipts are a reader's, all of them and in their order.

    Raises:
        Refused: One is missing, moved, or not the reader's.
    """
    before = bytes(32)
    for receipt in receipts:
        try:
            reader.signing.verify(receipt.signature, receipt.told)
        except InvalidSignature:
            raise Refused("a receipt is not the reader's") from None
        if receipt.before != before or receipt.reader != reader.name:
            raise Refused("a receipt does not follow on the one before")
        before = receipt.digest


class Opener:
    """Opens objects of a topic, each once, and gives a receipt for each."""

    def __init__(self, one: Identity, owner: Public, publishers: Mapping[str, Public], grant: Grant) -> None:
        if Role.READ not in grant.role:
            raise Refused(f"{one.name!r} may not read {grant.topic!r}")
        self._one, self._grant, self._publishers = one, grant, dict(publishers)
        self._cipher = AESGCM(grant.key(one, owner))
        self._last: dict[str, int] = {}
        self.receipts: list[Receipt] = []

    def open(self, sealed: bytes, now: int) -> bytes:
        """The body of an object.

        Raises:
            Refused: It was altered, repeated or moved to another topic; it is of another key or of nobody who
                may publish; or the right to read is over at `now`.
        """
        if now >= self._grant.until:
            raise Refused(f"the right to read {self._grant.topic!r} is over")
        if len(sealed) < HEAD.size + NONCE + TAG + SIGNATURE:
            raise Refused("it is too short for a sealed object")
        version, epoch, number, length = HEAD.unpack_from(sealed)
        name = sealed[HEAD.size : HEAD.size + length].decode(errors="replace")
        publisher = self._publishers.get(name)
        if version != _VERSION or publisher is None:
            raise Refused("it is of nobody who may publish here")
        if epoch != self._grant.epoch:
            raise Refused(f"it is sealed with key {epoch} of the topic, this is key {self._grant.epoch}")
        head = sealed[: HEAD.size + length]
        body, signature = sealed[len(head) : -SIGNATURE], sealed[-SIGNATURE:]
        bound = head + self._grant.topic.encode()
        try:
            publisher.signing.verify(signature, bound + body)
            opened = self._cipher.decrypt(body[:NONCE], body[NONCE:], bound)
        except (InvalidSignature, InvalidTag):
            raise Refused("it was altered, or is of another topic") from None
        if number <= self._last.get(name, 0):
            raise Refused(f"object {number} of {name!r} has come already, or is late")
        self._last[name] = number
        self._note(sealed, now)
        return opened

    def _note(self, sealed: bytes, now: int) -> None:
        before = self.receipts[-1].digest if self.receipts else bytes(32)
        digest = hashlib.sha256(sealed).digest()
        told = _receipt(self._one.name, self._grant.topic, digest, now, before)
        signature = self._one.signing.sign(told)
        self.receipts.append(Receipt(self._one.name, self._grant.topic, digest, now, before, signature))
