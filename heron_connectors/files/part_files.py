"""Part files in a folder: each file of a writer appears complete or not at all.

    FOLDER/day=2013-01-01/part-sink-00000-00000007-WRITER-0000.parquet the 8th, by rename
    FOLDER/day=2013-01-01/part-sink-00000-batch-000000012-RUN.parquet  of batch 12 (batch engines)
    FOLDER/day=2013-01-01/part-sink-00000-00000004-WRITER-0000.parquet of checkpoint 4
    FOLDER/day=2013-01-01/.part-sink-00000-RANDOM.BORN.pending         before that completes
    FOLDER/day=2013-01-01/.part-sink-00000-….parquet.RANDOM.BORN.tmp   being written
    FOLDER/.part-sink-00000.lock                                       held by the writer

A name consists of component, instance, number and writer. The writer is one process, so a
suspended process and its replacement never overwrite each other's files. RUN is the engine's
checkpoint: a repeated batch replaces its files, and never files of a different run. BORN is the
start time of the process. A process removes files left by older processes, never files of a
younger process. Writing requires the lock (folder_lock.py). The lock is checked between writing
under a hidden name and renaming, and a replacement removes hidden files once it has the lock: so
a replaced process cannot publish files afterwards.
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from heron_api.incarnation import Incarnation
from heron_connectors.folder_lock import FolderLock
from heron_connectors.ids import Id, Ids
from heron_connectors.tables.row_tables import PURPOSE
from heron_connectors.transactions import new_writer
from heron_core.errors import SHORT_CHARACTERS_MAX, ComponentError, problem_with, shown
from heron_core.optional_packages import needed
from heron_io.atomic_files import remove, replace_whole, sync_folder, write_synced

Partition = tuple[Any, ...]

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, and so Spark and Arrow, call the folder of rows without a value."""
NAME_BYTES_MAX = 255
"""Of a file or folder on every usual file system."""
PENDING = ".pending"
TEMPORARY = ".tmp"
BORN = 13
"""Digits of the time in milliseconds at which a process began: until the year 2286."""
AT = 4
"""Digits of a file's place in its transaction: the names are in the order of the lines."""
LONGEST = f"batch-{'9' * 9}-{'f' * 16}"
BESIDE_BYTES = 4
"""Of chance in the name of a file that is being written."""
PENDING_BYTES = 8
"""Of chance in the name of a pending file, so that a process that wakes up late meets nobody's."""

PendingFile = list[str]
"""[folder below the writer's, hidden name]"""


class PartFiles:
    """The files of one writer: instance `index` of `component`."""

    def __init__(
        self,
        folder: str,
        component: str,
        index: int,
        ending: str = ".parquet",
        incarnation: Incarnation | None = None,
    ) -> None:
        self.folder = folder
        self._ending = ending
        self._component = quote(component, safe="")
        self._writer = f"part-{self._component}-{index:05d}"
        self._life = new_writer()
        self._number = 0
        self._incarnation = incarnation or Incarnation()
        longest = self._hidden(
            f"{self._writer}-{LONGEST}{ending}.{'f' * 2 * BESIDE_BYTES}", TEMPORARY
        )
        if len(longest) > NAME_BYTES_MAX:
            raise ComponentError(
                f"the name of component {shown(component, SHORT_CHARACTERS_MAX)} is too long for"
                f" files of its output: the longest would have {len(longest)} bytes, and"
                f" {NAME_BYTES_MAX} is the limit"
            )
        path = os.path.join(folder, f".{self._writer}.lock")
        self._lock = FolderLock(path, self._writer, self._incarnation)

    @property
    def is_locked(self) -> bool:
        """Whether the process has taken the lock, which may be lost since."""
        return self._lock.is_taken

    def lock(self) -> None:
        """Become the only writer of the name, and remove files left by an older process.

        ComponentError if the lock belongs to a different topology, Superseded if to a younger
        process.
        """
        self._lock.take()
        self._number = 1 + self._tidy()

    def last_run(self) -> str | None:
        """The run whose process took the lock last; None if it is not known."""
        return self._lock.last_run()

    def unlock(self) -> None:
        """Release the lock, so that another process may write under the name."""
        self._lock.release()

    def _tidy(self) -> int:
        """Remove unfinished files; returns the highest number of those that are done."""
        highest = -1
        pattern = re.compile(
            re.escape(self._writer) + r"-(\d{8,})(-[0-9a-f]+-0+)?" + re.escape(self._ending)
        )
        for folder, name in self._names():
            if name.endswith(TEMPORARY) and self._may_remove(name):
                remove(os.path.join(folder, name))
            match = pattern.fullmatch(name)
            highest = max(highest, int(match[1])) if match else highest
        return highest

    def _may_remove(self, name: str) -> bool:
        """Whether a hidden file belongs to the writer, and not to a younger process."""
        if not name.startswith(f".{self._writer}-"):
            return False
        born = name.split(".")[-2]  # of previous versions it is something else
        return not born.isdigit() or int(born) <= self._incarnation.born_ms or len(born) < BORN

    def number_of_files(self) -> int:
        """So many files of this writer are there for all to see."""
        return sum(name.startswith(f"{self._writer}-") for _, name in self._names())

    # --- committed at once ------------------------------------------------------------------------

    def add(self, where: str, data: Any) -> None:
        """Commit a file as the next one in folder `where`; OSError if that fails."""
        name = f"{self._writer}-{self._number:08d}-{self._life}-{0:0{AT}d}{self._ending}"
        self._write(where, name, data)
        self._number += 1

    def put_batch(self, batch: int, contents: Mapping[str, Any], is_replay: bool) -> None:
        """Commit the files of a batch, by folder, in place of what an earlier try wrote."""
        run = f"-{self._incarnation.run}" if self._incarnation.run else ""
        name = f"{self._writer}-batch-{batch:09d}{run}{self._ending}"
        for where, data in contents.items():
            self._write(where, name, data)
        if is_replay:
            kept = {os.path.normpath(os.path.join(self.folder, where)) for where in contents}
            for folder, present in self._names():
                if present == name and os.path.normpath(folder) not in kept:
                    os.unlink(os.path.join(folder, present))

    def _write(self, where: str, name: str, data: Any) -> None:
        folder = os.path.join(self.folder, where)
        # Not by the process id, which attempts on two machines may share.
        chance = secrets.token_hex(BESIDE_BYTES)
        beside = os.path.join(folder, self._hidden(f"{name}.{chance}", TEMPORARY))
        replace_whole(os.path.join(folder, name), [data], beside, may_replace=self._lock.check)

    def _hidden(self, name: str, ending: str) -> str:
        return f".{name}.{self._incarnation.born_ms:0{BORN}d}{ending}"

    # --- committed by a checkpoint ----------------------------------------------------------------

    def add_pending(self, where: str, data: Any) -> PendingFile:
        """A hidden file in folder `where`; OSError on failure."""
        name = self._hidden(f"{self._writer}-{secrets.token_hex(PENDING_BYTES)}", PENDING)
        write_synced(os.path.join(self.folder, where, name), [data])
        return [where, name]

    def named(self, pending: Sequence[PendingFile], transaction: str) -> list[list[str]]:
        """Argument of `publish`: the files with their final names."""
        for folder in {os.path.join(self.folder, where) for where, _ in pending}:
            sync_folder(folder)
        return [
            [where, name, f"{self._writer}-{transaction}-{at:0{AT}d}{self._ending}"]
            for at, (where, name) in enumerate(pending)
        ]

    def absent(self, pending: Iterable[PendingFile]) -> str:
        """The name of a missing pending file; empty if all are present."""
        paths = (os.path.join(self.folder, where, name) for where, name in pending)
        return next((path for path in paths if not os.path.exists(path)), "")

    def publish(self, named: Iterable[Sequence[str]]) -> list[str]:
        """Publish files not yet published; returns missing files.

        Superseded if a replacement has taken over. Without the lock the files belong to a
        completed checkpoint, and may be published by any process.
        """
        self._lock.check()
        absent, folders = [], set()
        for where, name, final in named:
            folder = os.path.join(self.folder, where)
            try:
                os.replace(os.path.join(folder, name), os.path.join(folder, final))
                folders.add(folder)
            except FileNotFoundError:
                if not os.path.exists(os.path.join(folder, final)):
                    absent.append(os.path.join(where, final))
        for folder in folders:
            sync_folder(folder)
        return absent

    def discard(self, pending: Iterable[PendingFile]) -> None:
        """They will never be seen."""
        for where, name in pending:
            remove(os.path.join(self.folder, where, name))

    def discard_others(self, kept: Iterable[str]) -> None:
        """Remove the writer's pending files, except the names in `kept` and files of a younger
        process."""
        known = set(kept)
        for folder, name in self._names():
            if name.endswith(PENDING) and name not in known and self._may_remove(name):
                remove(os.path.join(folder, name))

    def schema(self) -> dict[str, Any]:
        """The columns of the newest Parquet file of the component, of whichever of its instances,
        and their types; none without one. A file that cannot be read says nothing."""
        parquet = needed("pyarrow.parquet", PURPOSE)
        start = f"part-{self._component}-"
        paths = [
            os.path.join(folder, name)
            for folder, name in self._names()
            if name.startswith(start) and name.endswith(self._ending)
        ]
        try:
            newest = max(paths, key=lambda each: os.stat(each).st_mtime_ns)
            written_schema = parquet.read_schema(newest)
        except (OSError, ValueError):
            return {}
        return {each.name: each.type for each in written_schema if str(each.type) != "null"}

    def ids(self, field: str) -> Ids:
        """The ids in all files of the component, of whichever of its instances."""
        parquet = needed("pyarrow.parquet", PURPOSE)
        pattern = re.compile(
            rf"part-{re.escape(self._component)}-\d{{5}}-(batch-)?\d+(-[0-9a-f]+(-\d+)?)?\.parquet"
        )
        ids = Ids()
        for folder, name in self._names():
            if pattern.fullmatch(name):
                with parquet.ParquetFile(os.path.join(folder, name)) as file:
                    for batch in file.iter_batches(columns=[field]):
                        for row_id in batch.column(0).to_pylist():
                            ids.add(row_id)
        return ids

    def _names(self) -> Iterator[tuple[str, str]]:
        for folder, _, names in os.walk(self.folder):
            for name in names:
                yield folder, name


def folder_of(names: Sequence[str], values: Partition) -> str:
    """day=2013-01-01/carrier=UA, as Hive, Spark and Arrow read it; empty without partitions.

    ValueError that names the field if its value would come back as another one.
    """
    return "/".join(map(_partition_folder, names, values))


def _partition_folder(name: str, value: Any) -> str:
    if value is None:
        return f"{quote(name, safe='')}={HIVE_NULL}"
    text = str(value)
    if isinstance(value, (bytes, bytearray, list, tuple, dict, set, frozenset)):
        why = f"a {type(value).__name__} is not a folder's name"
        raise ValueError(problem_with(name, value, why))
    if text in ("", HIVE_NULL):
        raise ValueError(f"{name}={text!r}: that folder has the rows without a value")
    try:
        partition = f"{quote(name, safe='')}={quote(text, safe=' ')}"
    except UnicodeEncodeError:
        why = "half a character is not a folder's name"
        raise ValueError(problem_with(name, value, why)) from None
    if len(partition) > NAME_BYTES_MAX:
        size = f"{len(partition)} bytes, and {NAME_BYTES_MAX} is the limit"
        why = f"its folder's name would have {size}"
        raise ValueError(problem_with(name, value, why))
    return partition


def check_id(field: str, value: Any) -> Id:
    """The id itself; ComponentError if it is nothing to tell rows by."""
    if isinstance(value, (int, str, bytes)):
        return value
    raise ComponentError(
        f"{field}={value!r} is not an id: it has to be a whole number, a text or bytes"
    )
