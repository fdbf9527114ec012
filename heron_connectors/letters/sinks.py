"""What writes dead letters where `topology.dead.letter` says: the hidden bolt `__dead_letters`."""

from typing import TYPE_CHECKING, Any

from heron_connectors.files.sink import FileSink
from heron_connectors.kafka.sink import KafkaSink
from heron_connectors.letters.records import record_of
from heron_core import config as keys

if TYPE_CHECKING:
    from heron_api.tuple import Tuple


class DeadLetterFiles(FileSink):
    """Files of JSON lines, exactly once where checkpoints are taken."""

    format = "json"
    folder_key = keys.DEAD_LETTER
    commit_secs = 1.0
    """Short commit interval: letters are read by people."""

    def unknown_output(self) -> str:
        """Letters of previous runs are kept: the folder accumulates letters."""
        return ""

    def line_of(self, tup: "Tuple") -> bytes:
        """The letter as a record."""
        return record_of(tup.values)


class DeadLetterTopic(KafkaSink):
    """A record for each letter; its key is the component that gave the tuple up."""

    def unknown_output(self) -> str:
        """Letters of previous runs are kept: the topic accumulates letters."""
        return ""

    def output_of_another_run(self, run: str) -> str:
        """See `unknown_output`."""
        return ""

    def row_of(self, tup: Any) -> list[bytes | None]:
        """The key and the value of a record."""
        component = str(tup.values[1])
        return [component.encode("utf-8", "backslashreplace"), record_of(tup.values)]
