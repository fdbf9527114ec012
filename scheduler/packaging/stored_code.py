"""New code for a topology whose containers are on other machines, by way of the state store.

Code of the submit travels with the submit. Later code is packed as well, and kept in the state
store under the digest of its contents, in parts of a size for any store. In the plan its folders
are called FOLDER/DIGEST: a path that exists nowhere, and so is unambiguous even if the new file
lies in the folder of the old one. A container of such a plan fetches the archive and unpacks the
archive beside itself. An archive too large for a state store lies in a folder reachable by all
machines (code_folder.py), and the state store has the folder's URL.
"""

import base64
import binascii
import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable, Sequence

from msgspec import Struct

from heron_core.errors import HeronError, StateStoreError, UsageError
from heron_core.plans import MIB
from heron_core.state_tree import code_archive_path, code_part_path, code_path
from heron_engine.scheduler.packaging.code_folder import FOLDER_BYTES_MAX, CodeFolder
from heron_engine.scheduler.packaging.relocation import FOLDER, Relocated
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("scheduler")

PART_BYTES = 512 * 1024
"""As text two thirds of what ZooKeeper takes as one value."""
ARCHIVE_BYTES_MAX = 8 * MIB
"""Compressed. ZooKeeper keeps all values in memory; code of more is data."""
REGISTERED_BYTES_MAX = 64 * MIB
"""Maximum for all versions remembered by one process: an agent itself has some ten MiB."""
UNPACKED = "new-code"
"""The folder, in a container's own, of what is unpacked there."""
DIGEST_CHARACTERS = 32
URL = "folder"
"""In an archive's node: the URL of the folder with a large archive."""


class StoredCode(Struct, frozen=True):
    """The archive of a folder with code."""

    root: str
    """Where it was packed."""
    digest: str
    data: bytes

    @property
    def path(self) -> str:
        """Name of the archive in plans."""
        return f"{FOLDER}/{self.digest}"


def packed_code(
    search_paths: Iterable[str], in_folder: CodeFolder | None = None
) -> tuple[StoredCode, ...]:
    """Archives of a topology's folders; UsageError if too large for the state store, or for the
    folder of large archives if configured.
    """
    # Late, as below: a scheduler and a container whose code stays here pack and unpack nothing.
    from heron_engine.scheduler.packaging.bundle import code_archives

    with tempfile.TemporaryDirectory(prefix="heronpy-code-") as folder:
        return tuple(_read(*each, in_folder) for each in code_archives(search_paths, folder))


def _read(root: str, path: str, in_folder: CodeFolder | None) -> StoredCode:
    size = os.path.getsize(path)
    if in_folder is not None and size > FOLDER_BYTES_MAX:
        raise UsageError(
            f"the archive of {root} has {size / MIB:.0f} MiB, and {FOLDER_BYTES_MAX // MIB} is the "
            "limit: move what is not code out of it, or install its packages in the image"
        )
    if in_folder is None and size > ARCHIVE_BYTES_MAX:
        raise UsageError(
            f"the archive of {root} has {size / MIB:.1f} MiB, and code gets to other machines by "
            f"the state store, which takes {ARCHIVE_BYTES_MAX // MIB}: move what is not code out "
            "of it, install its packages there (on Kubernetes, in the image, or name a folder for "
            "larger code with `code_folder` in the cluster's file), or, for an update, "
            "`heronpy kill --savepoint` and `heronpy submit --from-savepoint`"
        )
    with open(path, "rb") as file:
        data = file.read()
    return StoredCode(root, _digest(data), data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST_CHARACTERS]


def relocations(archives: Iterable[StoredCode]) -> Relocated:
    """(local folder, name in plans)"""
    return tuple((each.root, each.path) for each in archives)


def put_code(
    store: StateStore,
    name: str,
    archives: Iterable[StoredCode],
    in_folder: CodeFolder | None = None,
) -> None:
    """Write the parts, of a large archive into the folder; an archive exists once its own node, the
    last one, does."""
    for archive in archives:
        node = code_archive_path(name, archive.digest)
        if store.get(node) is not None:
            continue
        if in_folder is not None and len(archive.data) > ARCHIVE_BYTES_MAX:
            in_folder.write(name, archive.digest, archive.data)
            store.put(node, {"parts": 0, URL: in_folder.url})
            continue
        starts = range(0, len(archive.data), PART_BYTES)
        for number, at in enumerate(starts):
            text = base64.b64encode(archive.data[at : at + PART_BYTES]).decode("ascii")
            store.put(code_part_path(name, archive.digest, number), text)
        store.put(node, {"parts": len(starts)})


def fetched(store_url: str, name: str, paths: Iterable[str], folder: str) -> Relocated:
    """(name in plans, local folder) of all stored code in `paths`, unpacked below `folder` if
    missing. HeronError if unavailable."""
    digests = dict.fromkeys(
        each.removeprefix(f"{FOLDER}/").split("/")[0]
        for each in paths
        if each.startswith(f"{FOLDER}/")
    )
    return tuple((f"{FOLDER}/{each}", _fetched(store_url, name, each, folder)) for each in digests)


def _fetched(store_url: str, name: str, digest: str, folder: str) -> str:
    from heron_engine.scheduler.packaging.archive import unpacked

    cache = os.path.join(folder, UNPACKED)
    packed_path = os.path.join(cache, f"{digest}.packed")
    if not os.path.exists(packed_path):
        with open_store(store_url) as store:
            data = stored_archive(store, name, digest)
        try:
            os.makedirs(cache, mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=cache, delete=False) as file:
                file.write(data)
            os.replace(file.name, packed_path)
        except OSError as error:
            raise HeronError(f"{cache} cannot be written: {error.strerror}") from None
    return unpacked(packed_path, cache).folder


def stored_archive(store: StateStore, name: str, digest: str) -> bytes:
    """An archive from the state store, or from its folder; HeronError if missing or changed."""
    node = store.get(code_archive_path(name, digest)) or {}
    if URL in node:
        data = CodeFolder(node[URL]).read(name, digest)
        if _digest(data) != digest:
            raise HeronError(f"{node[URL]} has not the code {digest} of {name}: update it again")
        return data
    texts: Sequence[object] = [
        store.get(code_part_path(name, digest, number)) for number in range(node.get("parts", 0))
    ]
    try:
        data = b"".join(base64.b64decode(str(text), validate=True) for text in texts)
    except binascii.Error:
        data = b""
    if _digest(data) != digest:
        raise HeronError(f"the state store has not the code {digest} of {name}: update it again")
    return data


class RegisteredCode:
    """A topology's archives, remembered by the process that maintains its nodes, to be restored
    after a loss of the state store."""

    def __init__(self, store: StateStore, name: str) -> None:
        self._store = store
        self._name = name
        self._parts: dict[str, bytes] = {}
        """digest -> archive; empty if not remembered"""
        self._folders: dict[str, str] = {}
        """digest -> URL of the folder with a large archive"""

    def poll(self) -> None:
        """Learn what was added. StateStoreError if the store does not answer."""
        for digest in self._store.children(code_path(self._name)):
            if digest in self._parts or digest in self._folders:
                continue
            node = self._store.get(code_archive_path(self._name, digest)) or {}
            if URL in node:
                self._folders[digest] = node[URL]
                continue
            try:
                data = stored_archive(self._store, self._name, digest)
            except StateStoreError:
                raise
            except HeronError:  # it is still being written: the next look has it
                continue
            if len(data) + sum(map(len, self._parts.values())) > REGISTERED_BYTES_MAX:
                log.warning(
                    "the code %s is not retained: the topology has too many versions", digest
                )
                data = b""
            self._parts[digest] = data

    def write_again(self) -> None:
        """After a loss of the store's contents: the missing archives. StateStoreError without an
        answer."""
        for digest, data in self._parts.items():
            if data and self._store.get(code_archive_path(self._name, digest)) is None:
                put_code(self._store, self._name, [StoredCode("", digest, data)])
                log.warning("the code %s was lost with the state store's contents", digest)
        for digest, url in self._folders.items():
            if self._store.get(code_archive_path(self._name, digest)) is None:
                self._store.put(code_archive_path(self._name, digest), {"parts": 0, URL: url})
                log.warning("the place of the code %s was lost with the store's contents", digest)


def forget_code(store: StateStore, name: str) -> None:
    """Remove all archives of a topology. A file that cannot be removed is a warning: the folder may
    be out of reach of the machine that cleans up."""
    for digest in store.children(code_path(name)):
        archive = code_archive_path(name, digest)
        url = (store.get(archive) or {}).get(URL)
        if url is not None:
            try:
                CodeFolder(url).remove(name, digest)
            except HeronError as error:
                log.warning("%s", error)
        for part in store.children(archive):
            store.delete(f"{archive}/{part}")
        store.delete(archive)
