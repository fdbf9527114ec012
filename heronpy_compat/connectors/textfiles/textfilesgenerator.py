"""A source of the lines of files (heronpy.connectors.textfiles.textfilesgenerator)."""

import glob
import logging
from collections.abc import Iterator

from heron_core.errors import TopologyError
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator

log = logging.getLogger(__name__)


class TextFileGenerator(Generator):
    """Reads the lines of files that match `filepattern`, in order, with their line ends.

    The pattern is expanded where the topology is built; partition i of n reads every n-th file from
    file i on, sorted by name. The source ends with the last line. With checkpoints reading
    continues at the saved byte.
    """

    def __init__(self, filepattern: str) -> None:
        super().__init__()
        self._files = sorted(glob.glob(filepattern))
        if not self._files:
            raise TopologyError(f"no file matches {filepattern!r}")

    def setup(self, context: Context) -> None:
        """Select the files of the partition."""
        self._mine = self._files[context.get_partition_index() :: context.get_num_partitions()]
        self.seek([0, 0])

    def get(self) -> str:
        """The next line."""
        return next(self._lines)

    def position(self) -> list[int]:
        """Position: [index of the file in the partition, byte offset of the next line]."""
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
