"""Files on the cluster's file system: what all topologies of a user share, and each one's own."""

import hashlib
import logging
import os
import re
import secrets
from typing import Any

from heron_core.errors import HeronError, UsageError
from heron_core.plans import MIB
from heron_engine.scheduler.backends.yarn.jvm import YarnJvm, hadoop
from heron_engine.scheduler.backends.yarn.render import LocalResource

log = logging.getLogger("yarn")

FOLDER = ".heronpy"
"""In the user's home folder on the default file system."""
LIBRARY, TOPOLOGIES = "lib", "topologies"
DIGEST_CHARACTERS = 16
OWNER_ONLY = 0o700
CHUNK_BYTES = 1024 * 1024


class Staging:
    """The folder of heronpy on the cluster's file system."""

    def __init__(self, jvm: YarnJvm, configuration: Any, folder: str | None) -> None:
        self._jvm = jvm
        self._fs_package = jvm.classes.org.apache.hadoop.fs
        with hadoop("the file system cannot be reached"):
            if folder is None:
                self._fs = self._fs_package.FileSystem.get(configuration)
                self.root = f"{self._fs.getHomeDirectory().toString()}/{FOLDER}"
            else:
                self._fs = self._path(folder).getFileSystem(configuration)
                self.root = str(self._fs.makeQualified(self._path(folder)).toString())

    @property
    def file_system(self) -> Any:
        """Hadoop's FileSystem."""
        return self._fs

    def _path(self, uri: str) -> Any:
        return self._fs_package.Path(uri)

    def check(self) -> None:
        """HeronError if the folder is not writable."""
        probe = f"{self.root}/{TOPOLOGIES}/.probe-{secrets.token_hex(4)}"
        with hadoop(f"{self.root} cannot be written to"):
            self._make(probe)
            self._fs.delete(self._path(probe), True)

    def new_folder(self, name: str) -> str:
        """A folder for a topology's own files; returns its URI."""
        uri = f"{self.root}/{TOPOLOGIES}/{name}-{secrets.token_hex(4)}"
        with hadoop(f"{uri} cannot be made"):
            self._make(uri)
        return uri

    def _make(self, uri: str) -> None:
        permission = self._fs_package.permission.FsPermission(
            self._jvm.classes.java.lang.Short.parseShort(f"{OWNER_ONLY:o}", 8)
        )
        self._fs.mkdirs(self._path(uri), permission)

    def put_shared(self, path: str, link: str, kind: str, ending: str = "") -> LocalResource:
        """A file that is there once, whatever the number of topologies, named by its contents."""
        name = f"{_digest(path)}-{os.path.basename(path)}{ending}"
        uri = f"{self.root}/{LIBRARY}/{name}"
        with hadoop(f"{uri} cannot be written"):
            self._make(f"{self.root}/{LIBRARY}")
            if not self._is_there(uri, os.path.getsize(path)):
                partial = f"{uri}.{secrets.token_hex(4)}.part"
                self._copy(path, partial)
                if not self._fs.rename(self._path(partial), self._path(uri)):
                    # A concurrent upload was faster.
                    self._fs.delete(self._path(partial), False)
        return self._resource(uri, link, kind, shared=True)

    def put(self, path: str, folder: str, name: str, link: str, kind: str) -> LocalResource:
        """A file of one topology, in its folder."""
        uri = f"{folder}/{name}"
        with hadoop(f"{uri} cannot be written"):
            self._copy(path, uri)
        return self._resource(uri, link, kind, shared=False)

    def _copy(self, path: str, uri: str) -> None:
        self._fs.copyFromLocalFile(False, True, self._path(f"file://{path}"), self._path(uri))

    def _is_there(self, uri: str, size: int) -> bool:
        path = self._path(uri)
        return bool(self._fs.exists(path)) and int(self._fs.getFileStatus(path).getLen()) == size

    def _resource(self, uri: str, link: str, kind: str, *, shared: bool) -> LocalResource:
        with hadoop(f"{uri} cannot be read"):
            status = self._fs.getFileStatus(self._path(uri))
            size, timestamp = int(status.getLen()), int(status.getModificationTime())
            qualified = str(status.getPath().toString())
        return LocalResource(link, qualified, kind, shared, size, timestamp)

    def remove(self, folder: str, name: str) -> None:
        """A topology's folder, if present. A path from the state store is removed only if
        created by `new_folder`: a forged node must not remove other files of the user."""
        if not is_folder_of(self.root, name, folder):
            log.warning("%r is not a folder of %s: it is left alone", folder, name)
            return
        with hadoop(f"{folder} cannot be removed"):
            self._fs.delete(self._path(folder), True)


def is_folder_of(root: str, name: str, folder: str) -> bool:
    """Whether `folder` is one of a topology's below the folder of heronpy."""
    pattern = rf"{re.escape(root)}/{TOPOLOGIES}/{re.escape(name)}-[0-9a-f]{{8}}"
    return re.fullmatch(pattern, folder) is not None


def check_size(what: str, path: str, limit_bytes: int | None, file: str) -> None:
    """UsageError if an archive is larger than the cluster's file allows."""
    found = os.path.getsize(path)
    if limit_bytes is not None and found > limit_bytes:
        raise UsageError(
            f"the archive of {what} has {found / MIB:.1f} MiB, and yarn: archive_limit in {file} "
            f"is {limit_bytes / MIB:.1f} MiB: move what is not code out of it, or raise the limit"
        )


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARACTERS]
    except OSError as error:
        raise HeronError(f"{path} cannot be read: {error.strerror}") from None
