"""A checkpoint store on any file system of fsspec, by URL: hdfs://, s3://, gs://, …"""

import uuid
from collections.abc import Iterable
from textwrap import shorten
from typing import Any

from heron_core.errors import UsageError
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles

EXTRA = "heronpy-topologies[stores]"
PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
    "hdfs": "pyarrow",
    "viewfs": "pyarrow",
    "webhdfs": "requests",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
}
"""Protocol -> package needed by fsspec."""
_NATIVE_LIBRARIES = ("libjvm", "libhdfs")
"""Libraries opened by pyarrow for hdfs://; an error of pyarrow names each searched place, in a
hundred lines."""
_HADOOP = (
    "Java and Hadoop's client library: set JAVA_HOME, HADOOP_HOME (of a Hadoop with"
    " lib/native/libhdfs.so) and CLASSPATH, to what `hadoop classpath --glob` prints; or use webhdfs://"
)
REASON_MAX = 300
"""Longest text of a package's error in one line."""
_APPEAR_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "adl"})
"""Object stores: a file appears when complete, and a rename is a copy. Folders need no creation:
`makedirs` would create a bucket with the name in the URL."""


class FsspecAccess:
    """FileAccess by a file system of fsspec."""

    def __init__(self, file_system: Any, renames: bool | None = None) -> None:
        """`renames`: whether a file is first written beside its place; None: as the protocol
        needs."""
        self._files = file_system
        protocol = file_system.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        self._renames = not names & _APPEAR_WHOLE if renames is None else renames

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        """See FileAccess."""
        if not self._renames:
            self._files.pipe_file(path, b"".join(parts))
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        beside = f"{path}.{uuid.uuid4().hex}.part"
        try:
            with self._files.open(beside, "wb") as file:
                for part in parts:
                    file.write(part)
            self._rename(beside, path)
        except BaseException:
            self.remove(beside)
            raise

    def _rename(self, beside: str, path: str) -> None:
        # Some file systems do not replace an existing file: for a moment the file is absent, so
        # a reader finds a missing state, and never a wrong state.
        if self._files.exists(path):
            self._files.rm_file(path)
        self._files.mv(beside, path)

    def read(self, path: str) -> bytes:
        """See FileAccess."""
        self._files.invalidate_cache()
        data: bytes = self._files.cat_file(path)
        return data

    def upload(self, local: str, path: str) -> None:
        """See FileAccess."""
        if not self._renames:
            self._files.put_file(local, path)
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        beside = f"{path}.{uuid.uuid4().hex}.part"
        self._files.put_file(local, beside)
        self._rename(beside, path)

    def download(self, path: str, local: str) -> None:
        """See FileAccess."""
        self._files.get_file(path, local)

    def size(self, path: str) -> int | None:
        """See FileAccess."""
        try:
            return int(self._files.size(path))
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """See FileAccess."""
        self._files.invalidate_cache()
        try:
            paths = self._files.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        return [str(each).rstrip("/").rpartition("/")[2] for each in paths]

    def remove(self, path: str) -> None:
        """See FileAccess."""
        try:
            self._files.rm_file(path)
        except FileNotFoundError:
            pass

    def remove_folder(self, path: str) -> None:
        """See FileAccess."""
        try:
            self._files.rm(path, recursive=True)
        except FileNotFoundError:
            pass


def open_file_system(url: str, key: bytes = b"") -> CheckpointFiles:
    """The store at a URL; UsageError with the package to install, or with the error in the URL."""
    access, folder = reach_file_system(url)
    return CheckpointFiles(access, folder, key)


def reach_file_system(url: str) -> tuple[FsspecAccess, str]:
    """The file system at a URL, and the folder; UsageError like `open_file_system`."""
    protocol = url.partition("://")[0]
    if protocol == "memory":
        raise UsageError(
            f"{url!r} is not a checkpoint store: it is the memory of one process, and ends with "
            "the process; name a folder, or a URL such as hdfs:// or s3://"
        )
    try:
        import fsspec
    except ImportError:
        raise UsageError(_needs(url, "fsspec", EXTRA)) from None
    try:
        file_system, folder = fsspec.core.url_to_fs(url)
    except ImportError:
        package = PACKAGES.get(protocol, "")
        raise UsageError(_needs(url, package or f"fsspec's for {protocol}", package)) from None
    except ValueError as error:
        raise UsageError(f"{url!r} is not a checkpoint store: {error}") from None
    except Exception as error:
        raise UsageError(_cannot_be_reached(url, str(error))) from error
    return FsspecAccess(file_system), folder


def _cannot_be_reached(url: str, reason: str) -> str:
    if any(library in reason for library in _NATIVE_LIBRARIES):
        return f"the checkpoint store {url} needs {_HADOOP}"
    text = shorten(reason, REASON_MAX, placeholder=" ...")
    return f"the checkpoint store {url} cannot be reached: {text}"


def _needs(url: str, package: str, install: str) -> str:
    how = f": pip install '{install}'" if install else ""
    return f"the checkpoint store {url} needs the package {package}{how}"
