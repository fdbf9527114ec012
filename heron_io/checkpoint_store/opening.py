"""From the URL of a checkpoint store to the store."""

from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.local_files import LocalAccess, LocalFiles
from heron_io.checkpoint_store.state_folder import FileAccess

_FILE = "file://"


def is_on_this_machine(url: str) -> bool:
    """Whether the store at `url` is a folder, by the form of the URL."""
    return url.startswith(_FILE) or "://" not in url


def open_checkpoint_store(url: str, key: bytes = b"") -> CheckpointFiles:
    """The store at `url`: a folder's path or file:// URL, or a URL known to fsspec; UsageError
    for an invalid URL or a missing package. `key`: as in `CheckpointFiles`."""
    if url.startswith(_FILE):
        return LocalFiles(url.removeprefix(_FILE), key)
    if "://" in url:
        # Late: few need fsspec, whose import takes 30 ms.
        from heron_io.checkpoint_store.file_systems import open_file_system

        return open_file_system(url, key)
    return LocalFiles(url, key)


def open_file_access(url: str) -> tuple[FileAccess, str]:
    """The file system at `url`, and the folder; UsageError as `open_checkpoint_store`."""
    if "://" in url and not url.startswith(_FILE):
        # Late: few need fsspec, whose import takes 30 ms.
        from heron_io.checkpoint_store.file_systems import reach_file_system

        return reach_file_system(url)
    return LocalAccess(), url.removeprefix(_FILE).rstrip("/") or "/"
