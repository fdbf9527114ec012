"""Code too large for a state store: archives in a folder of all machines.

The folder is a path mounted by the submitting machine and all containers, or a URL of an object
store; the file systems are the checkpoint stores' file systems. The state store has the URL of the
folder, and plans have the digest of the archive, so a changed file is noticed.
"""

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.plans import MIB
from heron_io.checkpoint_store.opening import open_file_access
from heron_io.checkpoint_store.state_folder import FileAccess

FOLDER_BYTES_MAX = 512 * MIB
"""Of an archive, compressed: a container reads the archive into its memory once, at its start."""


class CodeFolder(Struct, frozen=True):
    """A folder by its URL; the methods raise HeronError with the path of the archive."""

    url: str

    def write(self, name: str, digest: str, data: bytes) -> None:
        """Write an archive of the topology `name`, unless present."""
        access, path = self._located(name, digest)
        try:
            if access.size(path) != len(data):
                access.write(path, (data,))
        except Exception as error:  # any class: a file system has its package
            raise self._problem("cannot be written", path, error) from None

    def read(self, name: str, digest: str) -> bytes:
        """The content of an archive; the caller compares the digest."""
        access, path = self._located(name, digest)
        try:
            return access.read(path)
        except Exception as error:
            raise self._problem("cannot be read", path, error) from None

    def remove(self, name: str, digest: str) -> None:
        """Remove an archive, if present."""
        access, path = self._located(name, digest)
        try:
            access.remove(path)
        except Exception as error:
            raise self._problem("cannot be removed", path, error) from None

    def _located(self, name: str, digest: str) -> tuple[FileAccess, str]:
        access, folder = open_file_access(self.url)
        return access, f"{folder}/{name}/{digest}.packed"

    @staticmethod
    def _problem(what: str, path: str, error: Exception) -> HeronError:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return HeronError(f"the code {path} {what}: {reason}")
