"""Identity of a followed file, independent of the current name.

A file is identified by inode and mark: a hash of the file's start and of its last known end.
Inodes are reused for new files, and copytruncate moves lines to a new inode; the mark detects
both.
"""

import hashlib
import os
import stat
from dataclasses import dataclass

from heron_connectors.files.compressed import is_compressed

MARKED_BYTES = 1024
"""At each end of what was seen: more than a line, mostly, and one page of the disk."""
HASH_BYTES = 8
"""Of a hash: it tells a handful of files with nearly one name apart."""


@dataclass(slots=True)
class FileMark:
    """Content of a file up to a byte offset."""

    byte: int = 0
    hash: str = ""

    def fits(self, descriptor: int) -> bool:
        """Whether an open file has that."""
        return self.byte == 0 or mark_of(descriptor, self.byte) == self

    def fits_file(self, path: str) -> bool:
        """Whether a file matches the mark; False for a missing file."""
        try:
            with open(path, "rb") as file:
                return self.fits(file.fileno())
        except FileNotFoundError:
            return False


def mark_of(descriptor: int, byte: int) -> FileMark:
    """The mark of an open file up to a byte, which another mark never equals if it is shorter."""
    head = os.pread(descriptor, min(byte, MARKED_BYTES), 0)
    start = max(0, byte - MARKED_BYTES)
    tail = os.pread(descriptor, byte - start, start)
    if len(tail) < byte - start:
        return FileMark(byte, "")
    return FileMark(byte, hashlib.blake2b(head + tail, digest_size=HASH_BYTES).hexdigest())


@dataclass(frozen=True, slots=True)
class Generation:
    """A file that has, or had, the followed name."""

    path: str
    inode: int
    size: int
    changed_ns: int


def rotated(path: str) -> list[Generation]:
    """Uncompressed siblings named like the file plus a suffix, in order of writing: by number if
    all have a number (.2 before .1)."""
    if is_compressed(path):
        return []  # what is compressed is known by the end of its name
    folder, name = os.path.split(path)
    with os.scandir(folder or ".") as entries:
        beside = [each.name for each in entries if is_rotation_of(name, each.name)]
    plain = [os.path.join(folder, each) for each in beside if not is_compressed(each)]
    generations = [each for each in map(generation, plain) if each is not None]
    endings = {each: each.path[len(path) + 1 :] for each in generations}
    if all(each.isdecimal() for each in endings.values()):
        return sorted(generations, key=lambda each: -int(endings[each]))
    return sorted(generations, key=lambda each: (each.changed_ns, each.path))


def generation(path: str) -> Generation | None:
    """The file with the name, or None."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return Generation(path, found.st_ino, found.st_size, found.st_mtime_ns) if is_file else None


def generations(path: str) -> list[Generation] | None:
    """Rotated files, oldest first, and the current file if present; None during a rename, when a
    file may be missing."""
    first, second = _generations(path), _generations(path)
    names = [[(each.path, each.inode) for each in some] for some in (first, second)]
    return second if names[0] == names[1] else None


def _generations(path: str) -> list[Generation]:
    own = generation(path)
    return [*rotated(path), *([own] if own else [])]


def is_rotation_of(path: str, other: str) -> bool:
    """Whether another file has its name, a dot or a dash, and something behind that."""
    return len(other) > len(path) + 1 and other.startswith(path) and other[len(path)] in ".-"


def following(
    found: list[Generation], inode: int, changed_ns: int
) -> tuple[Generation | None, bool]:
    """(the file written after the file of the inode and time; whether the latter was found)."""
    inodes = [each.inode for each in found]
    if inode in inodes:
        return next(iter(found[inodes.index(inode) + 1 :]), None), True
    later = [each for each in found if each.changed_ns > changed_ns]
    return next(iter(later or found[-1:]), None), False
