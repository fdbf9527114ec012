"""Watches of the file store: a single thread compares file status every 50 ms."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heron_core.errors import StateStoreError
from heron_io.state_store.protocol import Watcher, decode_value

# People and fail-over notice 100 ms; a poll of one path costs about 10 microseconds.
POLL_INTERVAL_SECS = 0.05
# Two changes within one tick of the file system's clock can leave inode, time and size unchanged
# (as in git's index), so a young file is also compared by content.
YOUNG_NS = 2_000_000_000

Signature = tuple[int, int, int]  # inode, time of change in ns, bytes
Reader = Callable[[str], bytes | None]
Signer = Callable[[str], Signature | None]

_log = logging.getLogger(__name__)


class _Watch(Struct):
    path: str
    location: str
    callback: Watcher
    signature: Signature | None
    data: bytes | None
    cancelled: bool = False


class FileWatches:
    """The watches of one store; `read` returns a path's bytes, `sign` its status, or None if
    absent.
    """

    def __init__(self, read: Reader, sign: Signer) -> None:
        self._read = read
        self._sign = sign
        self._watches: list[_Watch] = []
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def add(self, path: str, location: str, callback: Watcher) -> Callable[[], None]:
        """Call back with the value now and start watching; returns the cancel function."""
        watch = _Watch(path, location, callback, self._sign(path), self._read(path))
        _call(watch, None if watch.data is None else decode_value(location, watch.data))
        with self._mutex:
            self._watches.append(watch)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="file store watches", daemon=True
                )
                self._thread.start()

        def cancel() -> None:
            watch.cancelled = True

        return cancel

    def close(self) -> None:
        """End the thread; no callback runs after this returns."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(POLL_INTERVAL_SECS):
            with self._mutex:
                self._watches = [each for each in self._watches if not each.cancelled]
                watches = list(self._watches)
            for watch in watches:
                if not self._closing.is_set():
                    self._poll(watch)

    def _poll(self, watch: _Watch) -> None:
        try:
            signature = self._sign(watch.path)
            if signature == watch.signature and not _is_young(signature):
                return
            data = self._read(watch.path)
            if signature == watch.signature and data == watch.data:
                return
            watch.signature, watch.data = signature, data
            value = None if data is None else decode_value(watch.location, data)
        except (OSError, StateStoreError) as error:
            _log.warning("watch of %s: %s", watch.location, error)
            return
        _call(watch, value)


def _is_young(signature: Signature | None) -> bool:
    return signature is not None and abs(time.time_ns() - signature[1]) < YOUNG_NS


def _call(watch: _Watch, value: Any | None) -> None:
    if watch.cancelled:
        return
    try:
        watch.callback(value)
    except Exception:
        _log.exception("the watch callback of %s failed", watch.location)
