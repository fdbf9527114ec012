"""A source of the lines of files (heronpy.connectors.textfiles.textfilesgenerator)."""

import glob
import logging
from collections.abc import Iterator

from heron_core.errors import TopologyError
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator

log = logging.getLogger(__name__)


class TextFileGenerator(Generator):
    """Gets the lines of the files that match `filepattern`, each with its line end, in order.

    The files are looked up where the topology is built; partition i of n reads every n-th file from
    the i-th on, in order of their names. The source ends with the last line. With checkpoints it
    goes on at the byte where it was.
    """

    def __init__(self, filepattern: str) -> None:
        super().__init__()
        self._files = sorted(glob.glob(filepattern))
        if not self._files:
            raise TopologyError(f"no file matches {filepattern!r}")

    def setup(self, context: Context) -> None:
        """Pick this partition's files."""
        self._mine = self._files[context.get_partition_index() :: context.get_num_partitions()]
        self.seek([0, 0])

    def get(self) -> str:
        """The next line."""
        return next(self._lines)

    def position(self) -> list[int]:
        """[position of the file in this partition's, byte where the next line begins]"""
        return [self._at, self._byte]

    def seek(self, position: list[int]) -> None:
        """Go there."""
        self._at, self._byte = position
        self._lines = self._read()

    def _read(self) -> Iterator[str]:
        while self._at < len(self._mine):
            path = self._mine[self._at]
            log.info("reading %s", path)
            with open(path, "rb") as file:
                file.seek(self._byte)
                for line in file:
                    self._byte += len(line)
                    yield line.decode("utf-8").replace("\r\n", "\n")
            self._at, self._byte = self._at + 1, 0
