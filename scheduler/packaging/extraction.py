"""Unpacks an untrusted archive: regular files, within limits, below one folder.

tarfile reads a header's whole payload before its type is known, and trusts header fields; here
every field is checked first.
"""

import errno
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable
from typing import Any, Self

from heron_core.errors import HeronError

FILES_MAX = 20_000
BYTES_MAX = 2 * 1024**3
"""Above any project's code; exceeded by packing a home folder or data by mistake."""
HEADER_BYTES_MAX = 64 * 1024
"""Of a PAX header or a long name: a path has at most 4,096 bytes."""
DEPTH_MAX = 50
NAME_BYTES_MAX = 255
"""Limits of file systems."""
CHUNK_BYTES = 1024 * 1024
EXECUTABLE, PLAIN = 0o755, 0o644

_EXTENDING = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)
"""Headers that describe the next one, and are read completely."""
OF_THIS_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO})
"""Errors that are not the archive's fault."""


class MalformedArchive(ValueError):
    """An archive not created by `heronpy package`, with the reason."""


class _CheckedInfo(tarfile.TarInfo):
    """A header whose size is looked at before anything is read or skipped by it."""

    def _proc_member(self, tar: tarfile.TarFile) -> Self:
        if self.type in _EXTENDING and self.size > HEADER_BYTES_MAX:
            raise MalformedArchive(f"a header of {self.size} bytes, of at most {HEADER_BYTES_MAX}")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise MalformedArchive(f"{self.name} is a sparse file")
        if self.size < 0:  # the next header would be one that was read before, for ever
            raise MalformedArchive(f"{self.name} has a negative size")
        member: Self = super()._proc_member(tar)  # type: ignore[misc]
        if member.size < 0:
            raise MalformedArchive(f"{member.name} has a negative size")
        if member.issparse():
            raise MalformedArchive(f"{member.name} is a sparse file")
        return member

    def _proc_gnusparse_10(self, *_: Any) -> None:
        """Its map of holes stands before the contents, and may be of any length."""
        raise MalformedArchive(f"{self.name} is a sparse file")


def extract(path: str, folder: str) -> None:
    """Unpack the archive at `path`; MalformedArchive if it is none of ours, HeronError if the disk
    is full or may not be written."""
    try:
        with tarfile.open(path, "r:gz", tarinfo=_CheckedInfo) as tar:
            _extract_all(tar, folder)
    except OSError as error:
        if error.errno in OF_THIS_MACHINE:
            raise HeronError(f"{path} cannot be unpacked into {folder}: {error.strerror}") from None
        raise MalformedArchive(str(error)) from None
    except (tarfile.TarError, EOFError, ValueError, zlib.error, OverflowError) as error:
        raise MalformedArchive(str(error) or type(error).__name__) from None
    except RecursionError:
        raise MalformedArchive("its headers are nested too deeply") from None


def _extract_all(tar: Iterable[tarfile.TarInfo], folder: str) -> None:
    assert isinstance(tar, tarfile.TarFile)
    size = files = 0
    for member in tar:
        size, files = size + member.size, files + 1
        if size > BYTES_MAX or files > FILES_MAX:
            raise MalformedArchive("the archive is too large")
        if member.isdir():
            continue
        file = tar.extractfile(member) if member.isreg() else None
        if file is None:
            raise MalformedArchive(f"{member.name} is not a regular file")
        _write(os.path.join(folder, checked(member.name)), file, member)


def _write(path: str, source: Any, member: tarfile.TarInfo) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            shutil.copyfileobj(source, file, CHUNK_BYTES)
    except FileExistsError:
        raise MalformedArchive(f"{member.name} is in it twice, or is a folder as well") from None
    except NotADirectoryError:
        raise MalformedArchive(f"{member.name} is below a file") from None
    os.chmod(path, EXECUTABLE if member.mode & 0o100 else PLAIN)


def checked(name: str) -> str:
    """A member's path; MalformedArchive for a path outside of the target folder, or invalid in a
    file system."""
    parts = name.split("/")
    if os.path.isabs(name) or os.pardir in parts:
        raise MalformedArchive(f"{name!r:.100} leads out of the archive")
    if not all(part not in ("", os.curdir) and "\0" not in part for part in parts):
        raise MalformedArchive(f"{name!r:.100} is not a path of a file")
    if len(parts) > DEPTH_MAX or any(len(os.fsencode(x)) > NAME_BYTES_MAX for x in parts):
        raise MalformedArchive(f"{name!r:.100} is too long or too deep")
    return name
