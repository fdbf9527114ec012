"""Common base of two-phase sinks that write part files."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from heron_connectors.files.part_files import PartFiles, PendingFile
from heron_connectors.folder_lock import FolderSuperseded
from heron_connectors.transactions import TransactionId
from heron_connectors.two_phase import RETRY_SECS, TwoPhaseSink, described
from heron_connectors.writable_folders import check_folder
from heron_core.errors import ComponentError

BUFFERS_MAX = 4
"""So many files' worth is kept in memory while the folder takes none; then the process ends, and
the topology is restored."""


class PartTransaction:
    """Hidden files of a transaction, and items pending for the next files."""

    __slots__ = ("buffer", "pending", "size")

    def __init__(self) -> None:
        self.pending: list[PendingFile] = []
        self.clear()

    def clear(self) -> None:
        """The pending items are written to files."""
        self.buffer: dict[Any, list[Any]] = {}
        """Of each partition what waits, in order."""
        self.size = 0


class PartFileSink(TwoPhaseSink):
    """Writes part files: under hidden names first, renamed when their checkpoint is complete."""

    _files: PartFiles
    _buffer_size: int
    """Pending size at which a file is written."""
    folder_key: str
    """The config key that a user has named the folder by."""

    def check_target(self) -> None:
        """Make the folder; ComponentError if it cannot be made or takes no file."""
        check_folder(self._name, self._files.folder, self.folder_key)

    def contents(self, buffer: dict[Any, list[Any]]) -> Mapping[str, Any]:
        """Folder -> content of its next file, of the pending items in `buffer`."""
        raise NotImplementedError

    def flushed(self) -> None:
        """Called when the files of the latest `contents` are written."""

    def unknown_output(self) -> str:
        """Existing files of the sink's name, in words; empty if none."""
        number = self._files.number_of_files()
        return f"{self._files.folder} has {number} files of another run of it" if number else ""

    def output_of_another_run(self, run: str) -> str:
        """Files, if the process that wrote last was another run's."""
        return "" if self._files.last_run() == run else self.unknown_output()

    def begin(self) -> PartTransaction:
        """No files."""
        self._kept: Sequence[str]
        self._not_before = 0.0
        return PartTransaction()

    def keep(self, transaction: PartTransaction, partition: Any, item: Any, size: int) -> None:
        """Let an item wait, and write a file if there is enough; a folder that takes none is tried
        again."""
        if transaction.size >= BUFFERS_MAX * self._buffer_size:
            self.leave(f"cannot write into {self._files.folder}, and too much waits for that")
        transaction.buffer.setdefault(partition, []).append(item)
        transaction.size += size
        if transaction.size >= self._buffer_size and time.monotonic() >= self._not_before:
            problem = self._unless_flushed(transaction)
            if problem:
                self._not_before = time.monotonic() + RETRY_SECS
                self._reported_once(
                    f"{self._name}: cannot write into {self._files.folder}: {problem}; it is tried"
                    " again"
                )

    def _unless_flushed(self, transaction: PartTransaction) -> str:
        try:
            self._flush(transaction)
        except (OSError, ComponentError) as error:
            return described(error)
        return ""

    def _flush(self, transaction: PartTransaction) -> None:
        """On return all pending items are in files; an exception leaves the transaction
        unchanged."""
        if not self._files.is_locked:
            self._lock()
            self._files.discard_others(self._kept)
        written: list[PendingFile] = []
        try:
            for where, data in self.contents(transaction.buffer).items():
                written.append(self._files.add_pending(where, data))
        except OSError:
            self._files.discard(written)
            raise
        transaction.pending += written
        transaction.clear()
        self.flushed()

    def _lock(self) -> None:
        try:
            self._files.lock()
        except FolderSuperseded as error:
            self.leave(str(error))

    def pre_commit(
        self, transaction: PartTransaction, transaction_id: TransactionId
    ) -> list[list[str]]:
        """Write the pending items; the returned names are the input of `commit`."""
        if absent := self._files.absent(transaction.pending):
            self.leave(
                f"{absent} was removed before its checkpoint was complete; the sink writes "
                "the rows again"
            )
        if transaction.buffer:
            self._flush(transaction)
        return self._files.named(transaction.pending, str(transaction_id))

    def commit(self, prepared: list[list[str]], transaction_id: TransactionId) -> None:
        """Give the files their names."""
        try:
            absent = self._files.publish(prepared)
        except FolderSuperseded as error:
            self.leave(str(error))
        for path in absent:
            text = (
                f"{self._name}: {path} is missing in {self._files.folder}: the file or its "
                "hidden file was removed, and its rows are lost"
            )
            # Later, as a commit of a restored state is before errors are counted.
            self.delegate.call_soon(partial(self.delegate.record_loss, "a file is gone", text))

    def abort(self, transaction: PartTransaction) -> None:
        """Remove the files."""
        self._files.discard(transaction.pending)

    def abort_others(self, prepared: Sequence[list[list[str]]]) -> None:
        """Remembers which hidden files to leave: the others go when the folder is locked."""
        self._kept = [name for files in prepared for _, name, _ in files]

    def close(self) -> None:
        """Release the lock, so that another process may write under the name."""
        super().close()
        self._files.unlock()
