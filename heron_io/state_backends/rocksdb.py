"""The state backend for state larger than memory: a RocksDB of the instance, by rocksdict.

Every get reads and unpacks, every put packs and writes: some microseconds each, independent of the
state's size. A snapshot is a RocksDB checkpoint: hard links to its immutable table files, and
copies of a few small files. The small files travel in the snapshot's bytes; table files are named
after their content, and a checkpoint store writes only the new ones
(heron_core.state.file_snapshot).
"""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import count
from typing import Any

import msgpack

from heron_core.errors import StateError, UsageError
from heron_core.state.codec import StateCodec
from heron_core.state.file_snapshot import DIGEST_CHARACTERS, DeferredSnapshot, FileSnapshot
from heron_core.state.keys import KEY_GROUPS
from heron_core.state.memory import wrong_kind
from heron_core.state.protocol import ABSENT, StateKind, StateTable, TableId
from heron_core.state.snapshot import Chunk, Snapshot, decode, encode
from heron_io.left_folders import remove_left
from heron_io.state_backends.entry_keys import (
    after,
    index_in,
    key_part,
    key_prefix,
    sub_bytes,
    table_prefix,
)

ROCKSDB = "rocksdb"
_TABLE_FILE = ".sst"
_READ_BYTES = 1 << 20
BATCH_ENTRIES = 10_000
"""So many are written at once when keys come from a previous task: some MiB of memory."""
_MISSING = (
    "topology.state.backend is rocksdb, which needs the package rocksdict:"
    " pip install 'heronpy-topologies[rocksdb]'"
)


def _rocksdict() -> Any:
    try:
        import rocksdict
    except ImportError:
        raise UsageError(_MISSING) from None
    return rocksdict


class RocksTable:
    """A StateTable whose entries are in a RocksDB: the packed (key, sub, value) of each."""

    def __init__(self, backend: "RocksBackend", table_id: TableId, number: int) -> None:
        self.id = table_id
        self.number = number
        self._backend = backend
        self._is_plain = table_id.kind is StateKind.PLAIN
        self._is_list = table_id.indexed

    def _prefix(self, key: Any) -> bytes:
        return key_prefix(self.number, key, is_plain=self._is_plain)

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        data = self._backend.db.get(self._prefix(key) + sub_bytes(sub, self._is_list))
        return ABSENT if data is None else self._backend.codec.unpack(data)[2]

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        name, codec = self.id.name, self._backend.codec
        parts = [codec.pack_value(each, name, key) for each in (key, sub, value)]
        entry = self._prefix(key) + sub_bytes(sub, self._is_list)
        self._backend.db.put(entry, b"\x93" + b"".join(parts))  # an array of three

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        self._backend.db.delete(self._prefix(key) + sub_bytes(sub, self._is_list))

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        unpack = self._backend.codec.unpack
        entries = self._backend.entries(self._prefix(key))
        return [(sub, value) for _, sub, value in (unpack(data) for _, data in entries)]

    def last(self, key: Any) -> Any:
        """See StateTable."""
        prefix = self._prefix(key)
        entry = self._backend.last_before(after(prefix))
        return index_in(entry) if entry is not None and entry.startswith(prefix) else None

    def all_keys(self) -> Iterator[Any]:
        """See StateTable: RocksDB's iterators read a snapshot of their start."""
        return self.keys_of(range(1 if self._is_plain else KEY_GROUPS))

    def keys_of(self, groups: Iterable[int]) -> Iterator[Any]:
        """The keys of some key groups, each once."""
        unpack = self._backend.codec.unpack
        for group in groups:
            before = b""
            for entry, data in self._backend.entries(table_prefix(group, self.number)):
                if key_part(entry) != before:
                    before = key_part(entry)
                    yield unpack(data)[0]

    def clear(self) -> None:
        """See StateTable."""
        for group in range(KEY_GROUPS):
            prefix = table_prefix(group, self.number)
            self._backend.db.delete_range(prefix, after(prefix))


class RocksBackend:
    """A StateBackend of one RocksDB, in a private folder that is removed at the end."""

    def __init__(self, codec: StateCodec, folder: str | None = None, label: str = "") -> None:
        """`folder`: parent of the private folder; None: the system's temporary folder. `label`
        marks the folders of this task: leftovers of killed processes of the task are removed.
        """
        self._rocksdict = _rocksdict()
        self.codec = codec
        self._label = label
        self._where = folder or tempfile.gettempdir()
        os.makedirs(self._where, exist_ok=True)
        self._prefix = f"heron-state-{label}-"
        remove_left(self._where, self._prefix)
        self._folder = self._new_folder()
        self._numbers = count(1)
        self._tables: dict[str, RocksTable] = {}
        self._stored_names: dict[str, tuple[str, int]] = {}
        """table file -> name in a checkpoint store, and size; for this database, filled by the
        writer of a snapshot's bytes
        """
        self.db: Any = self._open()

    def _new_folder(self) -> "Folder":
        prefix = f"{self._prefix}{os.getpid()}-"
        return Folder(tempfile.mkdtemp(prefix=prefix, dir=self._where))

    def _open(self) -> Any:
        path = os.path.join(self._folder.path, f"db-{next(self._numbers)}")
        return self._rocksdict.Rdict(path, self._options())

    def _options(self) -> Any:
        options = self._rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        return options

    def table(self, wanted: TableId) -> StateTable:
        """See StateBackend."""
        found = self._tables.get(wanted.name)
        if found is None:
            found = self._tables[wanted.name] = RocksTable(self, wanted, len(self._tables))
        if found.id != wanted:
            raise StateError(wrong_kind(self.codec.component, found.id, wanted))
        return found

    def names(self) -> list[TableId]:
        """See StateBackend."""
        return [each.id for each in self._tables.values()]

    def entries(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries whose keys begin so, in their order, as they are now."""
        iterator = self.db.iter()
        iterator.seek(prefix)
        while iterator.valid():
            key = iterator.key()
            if not key.startswith(prefix):
                return
            yield key, iterator.value()
            iterator.next()

    def last_before(self, end: bytes) -> bytes | None:
        """The last entry's key in front of `end`."""
        iterator = self.db.iter()
        iterator.seek_for_prev(end)
        return iterator.key() if iterator.valid() else None

    def take_groups(
        self, previous: "RocksBackend", table: TableId, whole: Set[int], others: Set[int]
    ) -> Iterator[Any]:
        """See StateBackend: entries are in the order of their groups, and are copied in raw form, a
        tenth of the work of reading and putting.
        """
        source, target = previous.table(table), self.table(table)
        assert isinstance(source, RocksTable)
        assert isinstance(target, RocksTable)
        batch = self._rocksdict.WriteBatch(raw_mode=True)
        for group in whole:
            before, now = table_prefix(group, source.number), table_prefix(group, target.number)
            for entry, data in previous.entries(before):
                batch.put(now + entry[len(now) :], data)
                if len(batch) == BATCH_ENTRIES:
                    self.db.write(batch)
                    batch = self._rocksdict.WriteBatch(raw_mode=True)
        self.db.write(batch)
        return source.keys_of(sorted(others))

    # --- snapshots ------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """See StateBackend."""
        return self.deferred_snapshot().made()

    def deferred_snapshot(self) -> DeferredSnapshot:
        """See StateBackend: the files of the checkpoint never change, so they are read later."""
        # The folder lives as long as the snapshot, perhaps longer than the backend.
        folder = self._new_folder()
        os.rmdir(folder.path)
        self._rocksdict.Checkpoint(self.db).create_checkpoint(folder.path)
        files = sorted(os.listdir(folder.path))
        tables, known, component = tuple(self.names()), self._stored_names, self.codec.component

        def make() -> FileSnapshot:
            try:
                return _made(folder, files, tables, known)
            except OSError as error:
                text = f"{component}: the files of its state cannot be read: {error.strerror}"
                raise StateError(f"{text} ({error.filename})") from error

        return DeferredSnapshot(make)

    def restore(self, snapshot: bytes) -> None:
        """See StateBackend: a new database is opened on what was saved."""
        component = self.codec.component
        decoded = decode(snapshot, ROCKSDB, component)
        if not isinstance(snapshot, FileSnapshot):
            raise StateError(f"{component}: a saved state of RocksDB has come without its files")
        path = os.path.join(self._folder.path, f"db-{next(self._numbers)}")
        self._write_files(path, decoded.chunks[0].data, snapshot)
        self._close_database()
        self._stored_names = {}  # another one: this database gives its files the same names again
        self.db = self._rocksdict.Rdict(path, self._options())
        self._take_tables(decoded)

    def _write_files(self, path: str, chunk: bytes, snapshot: FileSnapshot) -> None:
        small, tables = msgpack.unpackb(chunk)
        os.makedirs(path)
        for name, content in small.items():
            with open(os.path.join(path, name), "wb") as file:
                file.write(content)
        for name, stored in tables.items():
            there = os.path.join(path, name)
            snapshot.source.copy(stored, there)
            if _stored_name(there)[0] != stored:
                raise StateError(f"{self.codec.component}: the saved file {stored} is damaged")

    def _take_tables(self, decoded: Snapshot) -> None:
        """Adopt the snapshot's tables with their numbers; further tables follow."""
        others = list(self._tables.values())
        self._tables = {
            table_id.name: RocksTable(self, table_id, number)
            for number, table_id in enumerate(decoded.tables)
        }
        for other in others:
            restored = self.table(other.id)
            assert isinstance(restored, RocksTable)
            other.number = restored.number  # it is in use: it goes on as the one of its name
            self._tables[other.id.name] = other

    def another(self) -> "RocksBackend":
        """See StateBackend."""
        return RocksBackend(self.codec, self._where, self._label)

    def close(self) -> None:
        """See StateBackend."""
        if self._folder.remove.alive:  # it is closed once
            self._close_database()
            self._folder.remove()

    def _close_database(self) -> None:
        path = self.db.path()
        self.db.close()
        shutil.rmtree(path, ignore_errors=True)


def _made(
    folder: "Folder",
    files: Sequence[str],
    tables: tuple[TableId, ...],
    known: dict[str, tuple[str, int]],
) -> FileSnapshot:
    """The snapshot of which `folder` has the files; in any thread, and perhaps in two at once."""
    small: dict[str, bytes] = {}
    stored_files: dict[str, tuple[str, int]] = {}
    for name in files:
        path = os.path.join(folder.path, name)
        if name.endswith(_TABLE_FILE):
            stored_files[name] = known.get(name) or _stored_name(path)
        else:
            with open(path, "rb") as file:
                small[name] = file.read()
    for gone in [name for name in list(known) if name not in stored_files]:
        known.pop(gone, None)
    known.update(stored_files)
    chunk: bytes = msgpack.packb(
        [small, {name: stored for name, (stored, _) in stored_files.items()}]
    )
    data = encode(Snapshot(ROCKSDB, tables, (Chunk(chunk),)))
    local = {stored: name for name, (stored, _) in stored_files.items()}
    return FileSnapshot.of(data, dict(stored_files.values()), LocalFolder(folder, local))


def _stored_name(path: str) -> tuple[str, int]:
    """Of a table file, with its size."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while part := file.read(_READ_BYTES):
            digest.update(part)
            size += len(part)
    return f"{digest.hexdigest()[:DIGEST_CHARACTERS]}{_TABLE_FILE}", size


class Folder:
    """A folder that is removed with the last reference to this object."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.remove = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


class LocalFolder:
    """The files of a snapshot on this machine."""

    def __init__(self, folder: Folder, names: dict[str, str]) -> None:
        """`names`: name in a checkpoint store -> name in the folder."""
        self._folder = folder
        self._names = names

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        os.link(os.path.join(self._folder.path, self._names[name]), path)

    def read(self, name: str) -> bytes:
        """See FileSource."""
        with open(os.path.join(self._folder.path, self._names[name]), "rb") as file:
            return file.read()

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return os.path.join(self._folder.path, self._names[name])
