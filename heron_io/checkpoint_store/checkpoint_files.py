"""A checkpoint store of files, on any file system.

    TOPOLOGY/CHECKPOINT/…             the states of one checkpoint (state_folder.py)
    TOPOLOGY/own/RUN/TASK/…           states saved by an instance itself, in the layout above
    TOPOLOGY/own/RUN/begun            start mark of the run: without the mark, the store is
                                      missing (a disk that is not mounted)
    TOPOLOGY/over                     highest number of ended or killed runs
    TOPOLOGY/shared/TASK/NAME         a file of several checkpoints, named after its content

A file is complete when it appears at its path: by a rename if the file system supports renames, and
otherwise with its last byte. A state's own file comes last, after its files.

Files are removed with the last referring checkpoint. Files of an incomplete checkpoint are safe:
they are new, or belong to a checkpoint newer than the discarded one.
"""

from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.signer import Signer
from heron_io.checkpoint_store.state_folder import FILES, FileAccess, StateFolder, wrong

SHARED = "shared"
OWN = "own"
"""Folder of a topology with the states that its instances save by themselves, without a
checkpoint."""
BEGUN = "begun"
"""File of a run with saved states in the store. The folder of an unmounted disk is as empty as the
folder of a first run; only a file written before the first process starts distinguishes the two.
"""
OVER = "over"
"""File of a topology with the highest number of a checkpoint whose run is over."""


class CheckpointFiles:
    """A CheckpointStore below a folder of a file system."""

    def __init__(self, access: FileAccess, folder: str, key: bytes = b"") -> None:
        """`key` signs the states of checkpoints, and loaded states must have its signature; empty:
        states without signature, or without a check.
        """
        self._access = access
        self._folder = folder.rstrip("/") or "/"
        self._key = key

    def checkpoint(self, topology: str, checkpoint: int) -> StateFolder:
        """The folder of a checkpoint."""
        folder, location = f"{self._folder}/{topology}", f"{topology}/{checkpoint}"
        signer = Signer(self._key, location) if self._key else None
        return StateFolder(self._access, f"{self._folder}/{location}", f"{folder}/{SHARED}", signer)

    def savepoint(self) -> StateFolder:
        """The store's own folder as the folder of a savepoint, which shares no files."""
        return StateFolder(self._access, self._folder, f"{self._folder}/{SHARED}")

    def as_checkpoint(self) -> StateFolder:
        """The same folder as the folder of a checkpoint in another store."""
        parent = self._folder.rpartition("/")[0]
        return StateFolder(self._access, self._folder, f"{parent}/{SHARED}")

    def numbers(self, topology: str) -> list[int]:
        """Numbers of the checkpoints of which any file exists, whole or begun."""
        path = f"{self._folder}/{topology}"
        try:
            names = self._access.names(path)
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error
        return sorted(int(each) for each in names if each.isdigit())

    def own(self, topology: str, run: str) -> StateFolder:
        """Parent folder of the states saved by one run's instances themselves."""
        return StateFolder(self._access, f"{self._folder}/{topology}/{OWN}/{run}", "")

    def begin_run(self, topology: str, run: str) -> None:
        """Note the start of a run that saves its states here."""
        path = f"{self.own(topology, run).path}/{BEGUN}"
        try:
            if self._access.size(path) is None:
                self._access.write(path, (b"",))
        except Exception as error:
            raise wrong(f"{path} cannot be written", error) from error

    def check_run(self, topology: str, run: str) -> None:
        """CheckpointStoreError for a store without the run's start mark."""
        if not self.has_begun(topology, run):
            raise self.absent(topology)

    def has_begun(self, topology: str, run: str) -> bool:
        """Whether the store has the mark of a run."""
        path = f"{self.own(topology, run).path}/{BEGUN}"
        try:
            return self._access.size(path) is not None
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def absent(self, topology: str) -> CheckpointStoreError:
        """Error for a store that should have states of a topology, and is empty."""
        return CheckpointStoreError(
            f"{self._folder}/{topology} has none of the states that {topology} saved: mount its "
            "disk, or restore the folder"
        )

    def runs(self, topology: str) -> list[str]:
        """The runs whose instances have saved something by themselves."""
        path = f"{self._folder}/{topology}/{OWN}"
        try:
            found = sorted(self._access.names(path))
            return [run for run in found if self._has_tasks(f"{path}/{run}")]
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def _has_tasks(self, path: str) -> bool:
        return any(each.isdigit() for each in self._access.names(path))

    def over(self, topology: str) -> int:
        """Highest number of a checkpoint whose run is over: no run resumes from a checkpoint up to
        this number."""
        path = f"{self._folder}/{topology}/{OVER}"
        try:
            return int(self._access.read(path))
        except FileNotFoundError:
            return 0
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def mark_over(self, topology: str, number: int) -> None:
        """Note that the runs with checkpoints up to this number are over."""
        path = f"{self._folder}/{topology}/{OVER}"
        try:
            self._access.write(path, (str(number).encode(),))
        except Exception as error:
            raise wrong(f"{path} cannot be written", error) from error

    def forget_own(self, topology: str) -> None:
        """Remove the states that instances of a topology have saved by themselves."""
        path = f"{self._folder}/{topology}/{OWN}"
        try:
            self._access.remove_folder(path)
        except Exception as error:
            raise wrong(f"{path} cannot be removed", error) from error

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        """See CheckpointStore; existing files are not written again."""
        self.checkpoint(topology, checkpoint).save(task, state)

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        """See CheckpointStore."""
        return self.checkpoint(topology, checkpoint).load(task)

    def discard(self, topology: str, checkpoint: int) -> None:
        """See CheckpointStore; files of this checkpoint alone are removed as well."""
        path = f"{self._folder}/{topology}/{checkpoint}"
        try:
            files = self._all_files(topology, checkpoint)
            self._access.remove_folder(path)
            if files:
                self._remove_files(topology, files)
        except Exception as error:
            what = f"checkpoint {checkpoint} cannot be removed from {path}"
            raise wrong(what, error) from error

    def _all_files(self, topology: str, checkpoint: int) -> set[str]:
        """TASK/NAME of the files of a checkpoint."""
        folder = self.checkpoint(topology, checkpoint)
        return {
            f"{task.removesuffix(FILES)}/{name}"
            for task in self._access.names(folder.path)
            if task.endswith(FILES)
            for name in folder.files_of(task.removesuffix(FILES)) or ()
        }

    def _remove_files(self, topology: str, files: set[str]) -> None:
        for other in self._access.names(f"{self._folder}/{topology}"):
            if other.isdigit() and files:
                files -= self._all_files(topology, int(other))
        for each in files:
            self._access.remove(f"{self._folder}/{topology}/{SHARED}/{each}")
