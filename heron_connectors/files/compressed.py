"""Files that are compressed, or not, as their names say."""

import io
import os
from contextlib import AbstractContextManager
from typing import BinaryIO, cast

from heron_core.optional_packages import needed

ENDINGS = (".gz", ".bz2", ".xz", ".zst")


def is_compressed(path: str) -> bool:
    """Whether a file's name says so."""
    return path.lower().endswith(ENDINGS)


def plain_name(path: str) -> str:
    """A file's name without what says how it is compressed."""
    return os.path.splitext(path)[0] if is_compressed(path) else path


def opened(path: str) -> AbstractContextManager[BinaryIO]:
    """A file's bytes, not compressed any more; OSError, and EOFError in the middle of one that is
    cut off."""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".gz":
        import gzip

        return cast("BinaryIO", gzip.open(path, "rb"))
    if ending == ".bz2":
        import bz2

        return cast("BinaryIO", bz2.open(path, "rb"))
    if ending == ".xz":
        import lzma

        return cast("BinaryIO", lzma.open(path, "rb"))
    if ending == ".zst":
        arrow = needed("pyarrow", "reading .zst files")
        return io.BufferedReader(arrow.input_stream(path, compression="zstd"))
    return open(path, "rb")
