"""From the URL of a checkpoint store to the store."""

from heron_core.errors import UsageError
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStore

_FILE = "file://"


def open_checkpoint_store(url: str) -> CheckpointStore:
    """The store at `url`: a folder's path or file:// URL; UsageError for another one."""
    if url.startswith(_FILE):
        return LocalFiles(url.removeprefix(_FILE))
    if "://" in url:
        raise UsageError(f"{url!r} is no checkpoint store: give a folder, or file:///folder")
    return LocalFiles(url)
