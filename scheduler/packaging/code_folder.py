"""Code that is too large for a state store: archives in a folder that all machines reach.

The folder is a path that the submitting machine and all containers mount, or a URL of an object
store; the file systems are those of checkpoint stores. The state store has the place of an archive
and, in the plan, its digest, so a changed file is noticed.
"""

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.plans import MIB
from heron_io.checkpoint_store.opening import open_file_access
from heron_io.checkpoint_store.state_folder import FileAccess

FOLDER_BYTES_MAX = 512 * MIB
"""Of an archive, compressed: a container reads the archive into its memory once, at its start."""


class CodeFolder(Struct, frozen=True):
    """A folder by its URL; the methods raise HeronError that names the archive."""

    url: str

    def write(self, name: str, digest: str, data: bytes) -> None:
        """Write an archive of the topology `name`, unless the archive is there."""
        access, path = self._located(name, digest)
        try:
            if access.size(path) != len(data):
                access.write(path, (data,))
        except Exception as error:  # of any package of a file system
            raise self._problem("cannot be written", path, error) from None

    def read(self, name: str, digest: str) -> bytes:
        """The content of an archive; the caller compares the digest."""
        access, path = self._located(name, digest)
        try:
            return access.read(path)
        except Exception as error:  # as above
            raise self._problem("cannot be read", path, error) from None

    def remove(self, name: str, digest: str) -> None:
        """Remove an archive, if present."""
        access, path = self._located(name, digest)
        try:
            access.remove(path)
        except Exception as error:  # as above
            raise self._problem("cannot be removed", path, error) from None

    def _located(self, name: str, digest: str) -> tuple[FileAccess, str]:
        access, folder = open_file_access(self.url)
        return access, f"{folder}/{name}/{digest}.packed"

    @staticmethod
    def _problem(what: str, path: str, error: Exception) -> HeronError:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return HeronError(f"the code {path} {what}: {reason}")
