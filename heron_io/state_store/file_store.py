"""State store in files, for one machine: serverless, and safe against a kill -9 of any process.

    ROOT/.lock                              held (flock) during a change
    ROOT/.new                               file being written, renamed into place when complete
    ROOT/topologies/wordcount.json          the value of /topologies/wordcount
    ROOT/topologies/wordcount/              nodes below the node above
    ROOT/tmasters/wordcount.ephemeral       an ephemeral value; its holder keeps a flock on it

Readers take no lock: a rename shows either the old value or the new one. An ephemeral file with a
free flock belongs to a dead process and counts as absent. Its holder locks the file before giving
the file its name, so a reader may try the lock (shared, for an instant) without being in the way.

Why flock and not POSIX record locks (fcntl.lockf): those are not inherited by fork, but they are
dropped as soon as the process closes any descriptor of the file, for instance after reading it,
and cannot be seen by a second store in the same process. flock belongs to the open file, which a
forked child shares; so os.fork() closes the child's copies (`_forget_in_child`). A child may read
and write through the store it inherited, but its parent's ephemeral nodes are not its own and its
parent's watches do not run in it. Descriptors are close-on-exec. A fork made by C code behind
Python's back is not seen and would keep the parent's ephemeral nodes alive.
"""

import errno
import fcntl
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from heron_core.errors import StateStoreError
from heron_core.state_tree import check_path
from heron_io.state_store.file_watch import FileWatches
from heron_io.state_store.protocol import (
    CONNECTED,
    SessionListener,
    Watcher,
    decode_value,
    encode_value,
    fenced,
    name_in_use,
)

DIRECTORY_ATTEMPTS = 3  # a neighbour that removes the parent in between does so once
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
_FORBIDDEN = ": use a folder where you may write (set HERONPY_HOME)"
CURES = {
    errno.ENOSPC: ": free some space on the disk",
    errno.EDQUOT: ": free some space of your quota",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
}
VALUE_SUFFIX = ".json"
EPHEMERAL_SUFFIX = ".ephemeral"

# A change takes well below a millisecond; a longer hold means a stopped or stuck process.
LOCK_TIMEOUT_SECS = 5.0
LOCK_POLL_SECS = 0.001

_log = logging.getLogger(__name__)
_stores: "weakref.WeakSet[FileStore]" = weakref.WeakSet()


class FileStore:
    """StateStore in the directory `root`, which is made (0700) when missing."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)
        self._own_nodes: dict[str, int] = {}
        self._descriptors: set[int] = set()
        self._closed = False
        self._watches = FileWatches(self._read, self._signature)
        with _translated(self._root):
            _make_directories(self._root)
        _stores.add(self)

    def get(self, path: str) -> Any | None:
        """See StateStore."""
        self._check(path)
        with _translated(self._root + path):
            data = self._read(path)
        return None if data is None else decode_value(self._name_of(path), data)

    def create(self, path: str, value: Any, *, ephemeral: bool = False) -> None:
        """See StateStore."""
        self._check(path)
        data = encode_value(path, value)
        with self._changing(path):
            present = self._read(path)
            if present is not None:
                raise name_in_use(path, decode_value(self._name_of(path), present))
            self._check_node(path, ephemeral)
            self._publish(path, data, ephemeral)

    def put(self, path: str, value: Any, *, guard: str = "") -> None:
        """See StateStore."""
        self._check(path)
        data = encode_value(path, value)
        with self._changing(path):
            if guard and self._read(check_path(guard)) is None:
                raise fenced(path, guard)
            ephemeral = self._read_ephemeral(path)
            if ephemeral is not None and not self._is_mine(path):
                raise name_in_use(path, decode_value(self._name_of(path), ephemeral))
            self._check_node(path, False)
            self._publish(path, data, ephemeral is not None)

    def delete(self, path: str) -> bool:
        """See StateStore."""
        self._check(path)
        with self._changing(path):
            existed = self._read(path) is not None
            self._unlink(path)
            return existed

    def children(self, path: str) -> list[str]:
        """See StateStore."""
        if path != "/":
            check_path(path)
        self._check_open()
        directory = self._directory(path)
        with _translated(self._root + path):
            names = _list(directory)
            child_names = {name.removesuffix(VALUE_SUFFIX) for name in names}
            for name in names:
                if name.endswith(EPHEMERAL_SUFFIX):
                    child_names.discard(name)
                    if _is_locked(os.path.join(directory, name)):
                        child_names.add(name.removesuffix(EPHEMERAL_SUFFIX))
        return sorted(child_names)

    def watch(self, path: str, callback: Watcher) -> Callable[[], None]:
        """See StateStore; a thread of the store looks for changes every 50 ms."""
        self._check(path)
        with _translated(self._root + path):
            return self._watches.add(path, self._name_of(path), callback)

    def on_session(self, callback: SessionListener) -> None:
        """See StateStore; files are always available, so the callback gets "connected", once."""
        self._check_open()
        callback(CONNECTED)

    def close(self) -> None:
        """See StateStore."""
        if self._closed:
            return
        self._watches.close()
        for path in list(self._own_nodes):
            try:
                with self._changing(path):
                    if self._is_mine(path):
                        self._unlink(path)
            except StateStoreError as error:  # the lock still goes, and with it the node
                _log.warning("%s", error)
            self._release(path)
        self._closed = True

    def __enter__(self) -> Self:
        """See StateStore."""
        return self

    def __exit__(self, *_: object) -> None:
        """See StateStore."""
        self.close()

    # Names of files

    def _check(self, path: str) -> None:
        check_path(path)
        self._check_open()

    def _check_open(self) -> None:
        if self._closed:
            raise StateStoreError(f"the state store in {self._root} is closed: open it again")

    def _directory(self, path: str) -> str:
        return self._root + path.rstrip("/")

    def _value_file(self, path: str) -> str:
        return self._root + path + VALUE_SUFFIX

    def _ephemeral_file(self, path: str) -> str:
        return self._root + path + EPHEMERAL_SUFFIX

    def _name_of(self, path: str) -> str:
        return f"{path} (in {self._root})"

    # Reading, without any lock of ours

    def _read(self, path: str) -> bytes | None:
        try:
            with open(self._value_file(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return self._read_ephemeral(path)

    def _read_ephemeral(self, path: str) -> bytes | None:
        try:
            with open(self._ephemeral_file(path), "rb") as file:
                return file.read() if _is_locked_descriptor(file.fileno()) else None
        except FileNotFoundError:
            return None

    def _signature(self, path: str) -> tuple[int, int, int] | None:
        try:
            return _stat_signature(self._value_file(path))
        except FileNotFoundError:
            pass
        file = self._ephemeral_file(path)
        try:
            return _stat_signature(file) if _is_locked(file) else None
        except FileNotFoundError:
            return None

    # Changing, under the store's lock

    @contextmanager
    def _changing(self, path: str) -> Iterator[None]:
        with _translated(self._root + path):
            descriptor = self._open_lock()
            self._descriptors.add(descriptor)
            try:
                self._lock(descriptor)
                yield
            finally:
                # Unlocked by name, not only closed: a child forked meanwhile has a copy.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                self._descriptors.discard(descriptor)
                os.close(descriptor)

    def _open_lock(self) -> int:
        file = os.path.join(self._root, ".lock")
        try:
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except FileNotFoundError:  # somebody removed the whole root to start afresh
            _make_directories(self._root)
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)

    def _lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + LOCK_TIMEOUT_SECS
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise StateStoreError(
                    f"{self._root}/.lock has been held by another process for "
                    f"{LOCK_TIMEOUT_SECS:g} s: end that process (fuser names it)"
                )
            time.sleep(LOCK_POLL_SECS)

    def _check_node(self, path: str, ephemeral: bool) -> None:
        parent = os.path.dirname(path)
        if parent != "/" and self._read_ephemeral(parent) is not None:
            raise StateStoreError(f"{path} cannot be created below {parent}, which is ephemeral")
        if ephemeral and self.children(path):
            raise StateStoreError(f"{path} has nodes below it, so it cannot be ephemeral")

    def _publish(self, path: str, data: bytes, ephemeral: bool) -> None:
        """Write the file aside, lock an ephemeral file, and give the file its name."""
        target = self._ephemeral_file(path) if ephemeral else self._value_file(path)
        fresh = os.path.join(self._root, ".new")
        _remove(fresh)  # left by a process that died while it wrote
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        self._descriptors.add(descriptor)
        retained = False
        try:
            _write_all(descriptor, data)
            if ephemeral:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _make_directories(os.path.dirname(target))
            os.rename(fresh, target)
            retained = ephemeral
        finally:
            if not retained:
                self._descriptors.discard(descriptor)
                os.close(descriptor)
        self._release(path)
        if ephemeral:
            self._own_nodes[path] = descriptor
        else:
            _remove(self._ephemeral_file(path))  # a dead holder's

    def _is_mine(self, path: str) -> bool:
        descriptor = self._own_nodes.get(path)
        if descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._ephemeral_file(path)))
        except FileNotFoundError:
            return False

    def _release(self, path: str) -> None:
        descriptor = self._own_nodes.pop(path, None)
        if descriptor is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            self._descriptors.discard(descriptor)
            os.close(descriptor)

    def _unlink(self, path: str) -> None:
        """Remove the node's file, and the directories that only led to it."""
        _remove(self._value_file(path))
        _remove(self._ephemeral_file(path))
        directory = os.path.dirname(self._root + path)
        while directory != self._root:
            try:
                os.rmdir(directory)
            except OSError:  # others live here, or it is gone
                return
            directory = os.path.dirname(directory)

    def _forget_in_child(self) -> None:
        """In a forked child: drop the copies of the parent's locks, and the work of its threads."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self._own_nodes.clear()
        self._watches = FileWatches(self._read, self._signature)


def _forget_in_child() -> None:
    for store in list(_stores):
        store._forget_in_child()


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = CURES.get(error.errno or 0, "")
        raise StateStoreError(f"{error.filename or path}: {error.strerror}{remedy}") from error


def _make_directories(directory: str) -> None:
    """os.makedirs, but private at every level; another process may remove one in between."""
    for left in reversed(range(DIRECTORY_ATTEMPTS)):
        try:
            if not os.path.isdir(directory):
                os.mkdir(directory, DIRECTORY_MODE)
            return
        except FileExistsError:
            if not os.path.isdir(directory):
                raise
        except FileNotFoundError:  # no parent, or a place like /proc that has no new folders
            if not left:
                raise
            _make_directories(os.path.dirname(directory))


def _list(directory: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if not name.startswith(".")]
    except FileNotFoundError:
        return []


def _remove(file: str) -> None:
    try:
        os.unlink(file)
    except FileNotFoundError:
        pass


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _stat_signature(file: str) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _is_locked(file: str) -> bool:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return _is_locked_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _is_locked_descriptor(descriptor: int) -> bool:
    """Whether a process holds the file; readers share the trial lock, and so never collide."""
    if not _try_lock(descriptor, fcntl.LOCK_SH):
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
