"""Runs from workers that do not see the store: each folder of it comes as a shard.

A worker makes its runs into a store of its own, which lasts as long as the batch. What then lies there,
folders of runs and loose packs, goes to the command as archives: with the answer, or through an object store.
The command keeps them as if they had been made here, so the bytes are the same. An object store holds shards
until the command has taken them. What a killed command left there, the next one for the same store takes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import platform
import re
import secrets
import tarfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from voxpath import terminal
from voxpath.canonical import canonical
from voxpath.extras import install
from voxpath.results import digests, packs
from voxpath.results.folders import Folders
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from obstore.store import ObjectStore

WITH_ANSWER = "return"
"""In place of an object store's address."""

_SUFFIX = ".tar"
_RUN = re.compile(r"[0-9a-f]{32}")
"""What folders of runs are called (`Identity.name`)."""


@dataclass(frozen=True)
class Shard:
    """A folder of a store on its way.

    Attributes:
        root: The store's directory, where the command is.
        place: Of the folder below it: `NAME`, or `packs/NAME`.
        archive: The folder; nothing, where it waits in an object store.
        key: There, where it waits.
    """

    root: str
    place: str
    archive: bytes | None = None
    key: str | None = None


@dataclass(frozen=True)
class Courier:
    """How shards come to the command: with the answer, where there is no address.

    Attributes:
        address: Of an object store, such as `s3://bucket/sweep`.
        marks: Folders that the command holds while it lives, one in each store (`Store.marked`).
        node: The command's machine.
    """

    address: str | None
    marks: tuple[Path, ...] = ()
    node: str = platform.node()

    @classmethod
    def of(cls, shards: str) -> Courier:
        """By what a user has asked for.

        Raises:
            ValueError: It is neither `return` nor an object store's address, or obstore is not installed.
        """
        if shards == WITH_ANSWER:
            return cls(None)
        if re.match(r"[a-z][a-z0-9]*://.", shards) is None:
            raise ValueError(
                f"{shards!r} is no way for runs: write {WITH_ANSWER}, or the address of an object store, "
                "such as s3://bucket/sweep"
            )
        _store(shards)
        return cls(shards)

    def send(self, shard: Shard) -> Shard:
        """Sends a shard off; what goes with the answer.

        Raises:
            StoreError: The object store does not take it.
        """
        if self.address is None or shard.archive is None:
            return shard
        (mark,) = (mark for mark in self.marks if str(mark.parent) == shard.root)
        key = f"{self._own(shard.root)}/{mark.name}/{shard.place}{_SUFFIX}"
        with _errors_of(f"cannot write to {self.address}"):
            _store(self.address).put(key, shard.archive)
        return replace(shard, archive=None, key=key)

    def keep(self, shard: Shard) -> None:
        """Keeps a shard that has come in its store, and removes it from the object store.

        Raises:
            StoreError: It cannot be read, is not what was sent, or cannot be kept.
        """
        if shard.archive is not None:
            _keep(shard, shard.archive)
        elif self.address is not None and shard.key is not None:
            with _errors_of(f"cannot take {shard.key} from {self.address}"):
                _keep(shard, bytes(_store(self.address).get(shard.key).bytes()))
                _store(self.address).delete(shard.key)

    def take_left(self, root: Path) -> None:
        """Keeps what commands have left of a store; what is no shard stays where it is, which is told.

        Raises:
            StoreError: The object store cannot be read.
        """
        count = 0
        for shard in self.left(root):
            try:
                self.keep(shard)
            except StoreError as error:
                terminal.warn(f"left where it is: {error}")
            else:
                count += 1
        if count:
            terminal.warn(f"{count} shards of a command that was ended are taken from {self.address}")

    def left(self, root: Path) -> Iterator[Shard]:
        """What commands have left of a store that ended before they could take it.

        Raises:
            StoreError: The object store cannot be read.
        """
        if self.address is None:
            return
        with _errors_of(f"cannot read {self.address}"):
            listed = _store(self.address).list(self._own(str(root)))
            found = [each["path"] for some in listed for each in some]
        for key in sorted(found):
            _, mark, place = (*key.split("/", 2), "", "")[:3]
            if not (root / mark).exists():
                yield Shard(str(root), place.removesuffix(_SUFFIX), key=key)

    def unfit(self) -> str | None:
        """Why this process cannot send shards, if it cannot."""
        if self.address is None:
            return None
        probe = f"probe-{secrets.token_hex(8)}"
        try:
            store = _store(self.address)
            with _errors_of(f"cannot write to {self.address}"):
                store.put(probe, b"")
                store.delete(probe)
        except (StoreError, ValueError) as error:
            return str(error)
        return None

    def _own(self, root: str) -> str:
        """Where the shards of a store are: others may use the address, too."""
        return hashlib.sha256(canonical([self.node, root]).encode()).hexdigest()[:16]


@contextlib.contextmanager
def _errors_of(what: str) -> Iterator[None]:
    """Has what goes wrong with an object store be an error of the store."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        raise StoreError(f"{what}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """The library goes on with all that its own errors hold."""
    return str(error).strip().partition("\n")[0]


@cache
def _store(address: str) -> ObjectStore:
    """An object store; who may use it the environment says, as the providers' own tools read it.

    Raises:
        ValueError: There is no such kind, or obstore is not installed.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise ValueError(f"obstore is not installed: {install('objects')}") from None
    try:
        return from_url(address)
    except (BaseError, ValueError, OSError) as error:
        raise ValueError(f"{address!r}: {_first_line(error)}") from None


def shards_of(directory: Path, root: str) -> Iterator[Shard]:
    """Everything that lies in a store, as shards of another one."""
    for below in ("", f"{packs.DIRECTORY}/"):
        folders = Folders(directory / below)
        for name in folders.names():
            if name != packs.DIRECTORY:
                yield Shard(root, below + name, _archive(folders.root / name))


def _archive(folder: Path) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                # Of a file there is its name and what is in it, and nothing of the worker's machine.
                entry = tarfile.TarInfo(str(path.relative_to(folder)))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


def _keep(shard: Shard, archive: bytes) -> None:
    """Keeps a shard in its store.

    Raises:
        StoreError: It is not what was sent, or cannot be written.
    """
    place = PurePosixPath(shard.place)
    in_packs = place.parts[:-1] == (packs.DIRECTORY,)
    called = packs.NAME if in_packs else _RUN
    if not called.fullmatch(place.name) or len(place.parts) != 1 + in_packs:
        raise StoreError(f"{shard.place} is no folder of a store")
    damaged = StoreError(f"the shard {shard.place} is not what a worker sent")
    try:
        # Nothing is taken that holds more than it has octets: compressed, or with holes.
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            files = {
                member.name: contents.read()
                for member in tar
                if member.isreg()
                and not member.issparse()
                and member.size <= len(archive)
                and (contents := tar.extractfile(member)) is not None
            }
    except (tarfile.TarError, EOFError, ValueError):
        raise damaged from None
    inside = all(".." not in Path(path).parts and not Path(path).is_absolute() for path in files)
    if not digests.sound(files) or not inside:
        raise damaged
    del files[digests.FILE]
    Folders(Path(shard.root) / place.parent).keep(place.name, files)
