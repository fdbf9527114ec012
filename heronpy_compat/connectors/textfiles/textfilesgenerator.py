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
    the i-th on, in order of their names. The source ends with the last line.
    """

    def __init__(self, filepattern: str) -> None:
        super().__init__()
        self._files = sorted(glob.glob(filepattern))
        if not self._files:
            raise TopologyError(f"there is no file that matches {filepattern!r}")

    def setup(self, context: Context) -> None:
        """Pick this partition's files."""
        self._mine = self._files[context.get_partition_index() :: context.get_num_partitions()]
        self._lines = self._read()

    def get(self) -> str:
        """The next line."""
        return next(self._lines)

    def _read(self) -> Iterator[str]:
        for path in self._mine:
            log.info("reading %s", path)
            with open(path, encoding="utf-8") as file:
                yield from file
