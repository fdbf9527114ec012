"""The named records of one run in a checkpoint store: a RunStore of files.

TOPOLOGY/own/RUN/records/NAME     a record, beside the states that instances save by themselves
"""

from collections.abc import Callable

from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.checkpoint_store.state_folder import FileAccess, wrong

RECORDS = "records"


class StoredRunRecords:
    """A RunStore in the folder of a run; the store is opened when it is first asked for."""

    def __init__(
        self, opened: Callable[[], CheckpointFiles], topology: str, run: str, marker: RunMarker
    ) -> None:
        """`marker` tells the store from the empty folder of a disk that is not mounted."""
        self._opened = opened
        self._topology = topology
        self._run = run
        self._marker = marker
        self._folder = ""
        self._access: FileAccess

    def _path(self, name: str) -> str:
        if not self._folder:
            store = self._opened()
            self._marker.check_first(store)
            own = store.own(self._topology, self._run)
            self._access, self._folder = own.access, f"{own.path}/{RECORDS}"
        return f"{self._folder}/{name}"

    def write(self, name: str, record: bytes) -> None:
        """See RunStore; CheckpointStoreError if the record is not there for certain."""
        path = self._path(name)
        try:
            self._access.write(path, (record,))
        except Exception as error:
            raise wrong(f"{path} cannot be written", error) from error

    def read(self, name: str) -> bytes | None:
        """See RunStore."""
        path = self._path(name)
        try:
            return self._access.read(path)
        except FileNotFoundError:
            return None
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def names(self, folder: str) -> list[str]:
        """See RunStore; what a dead process has left half written is not a record."""
        path = self._path(folder)
        try:
            return sorted(name for name in self._access.names(path) if not name.endswith(".part"))
        except Exception as error:
            raise wrong(f"{path} cannot be searched", error) from error

    def remove(self, name: str) -> None:
        """See RunStore."""
        path = self._path(name)
        try:
            self._access.remove(path)
        except Exception as error:
            raise wrong(f"{path} cannot be removed", error) from error
