"""The code in an uploaded archive: what is below `resources`, as Storm takes it out of a jar."""

import os
import shutil
import zipfile
import zlib

from heron_core.errors import HeronError, TopologyError
from heron_engine.scheduler.packaging.extraction import (
    BYTES_MAX,
    CHUNK_BYTES,
    EXECUTABLE,
    FILES_MAX,
    OF_THIS_MACHINE,
    PLAIN,
    MalformedArchive,
    checked,
)
from heron_io.private_files import make_private_folders

RESOURCES = "resources"
_EXECUTABLE_BIT = 0o100 << 16


def unpack_code(path: str, folder: str, *, is_needed: bool) -> None:
    """Put the archive's `resources` into `folder`; TopologyError in one line for a file that is no
    archive, for one without code where it `is_needed`, and for one that leads elsewhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if _is_code(each)]
            if is_needed and not members:
                raise MalformedArchive(
                    f"there is no folder {RESOURCES} in it: sparse puts a project's src there"
                )
            _check_size(members)
            for member in members:
                _unpack(archive, member, folder)
    except (MalformedArchive, NotImplementedError) as error:
        raise TopologyError(f"the uploaded archive: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise TopologyError(f"what was uploaded is not a zip archive or jar: {error}") from None
    except OSError as error:
        if error.errno not in OF_THIS_MACHINE:  # it leads to before its beginning
            raise TopologyError(f"what was uploaded is not a zip archive or jar: {error}") from None
        raise HeronError(f"the code cannot be unpacked into {folder}: {error.strerror}") from None


def _is_code(member: zipfile.ZipInfo) -> bool:
    return member.filename.startswith(f"{RESOURCES}/") and not member.is_dir()


def _check_size(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > FILES_MAX or sum(each.file_size for each in members) > BYTES_MAX:
        raise MalformedArchive(
            f"it is too large: {FILES_MAX:,} files and {BYTES_MAX:,} bytes at most"
        )


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: str) -> None:
    """zipfile reads no more bytes than the header claims, which were counted."""
    target = os.path.join(folder, checked(member.filename))
    try:
        make_private_folders(os.path.dirname(target))
        with archive.open(member) as source, open(target, "xb") as file:
            shutil.copyfileobj(source, file, CHUNK_BYTES)
    except (FileExistsError, NotADirectoryError):
        raise MalformedArchive(f"{member.filename} is in it twice, or below a file") from None
    os.chmod(target, EXECUTABLE if member.external_attr & _EXECUTABLE_BIT else PLAIN)
