"""From the URL of a checkpoint store to the store."""

from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.local_files import LocalFiles

_FILE = "file://"


def is_on_this_machine(url: str) -> bool:
    """Whether the store at `url` is a folder, as far as that can be seen."""
    return url.startswith(_FILE) or "://" not in url


def open_checkpoint_store(url: str, key: bytes = b"") -> CheckpointFiles:
    """The store at `url`: a folder's path or file:// URL, or a URL that fsspec knows; UsageError
    for what is no URL of a store, or needs a package that is not there. `key`: as
    `CheckpointFiles` has it."""
    if url.startswith(_FILE):
        return LocalFiles(url.removeprefix(_FILE), key)
    if "://" in url:
        # Late: few need it, and it takes 30 ms.
        from heron_io.checkpoint_store.file_systems import open_file_system

        return open_file_system(url, key)
    return LocalFiles(url, key)
