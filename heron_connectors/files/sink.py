"""Lines of text files: a bolt that writes them, each line exactly once, and the spout that reads.

Example:

    from heronpy_compat.connectors.files import FileSink, FileSpout
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heron_connectors.files.part_file_sink import PartFileSink, PartTransaction
from heron_connectors.files.part_files import PartFiles
from heron_connectors.json_values import object_of
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

FOLDER = "file.folder"
"""Config key: where the files go, relative to the directory where the topology is started."""
FORMAT = "file.format"
"""Config key: text or json; default: text for tuples of one field, else json."""
BYTES_PER_FILE = "file.bytes.per.file"
"""Config key: a file is written when so many bytes wait for it (16 MiB)."""
LINES_PER_FILE = "file.lines.per.file"
"""Config key: in the modes without checkpoints so many lines are committed at once (100000)."""
ROLL_SECS = "file.roll.secs"
"""Config key: in these modes the longest that a line waits (5); less than
topology.message.timeout.secs."""

_ENDINGS = {"text": ".txt", "json": ".jsonl"}


class FileSink(PartFileSink):
    """Writes a line for each tuple into files below a folder.

    sink = FileSink.spec(inputs=[words], config={"file.folder": "out"})

    A tuple of one field is its value as text; one of several fields an object of JSON. Settings may
    be attributes of a subclass instead, which may define `line_of`, too.
    """

    folder: str | None = None
    folder_key = FOLDER
    format: str | None = None
    bytes_per_file = 16 * 1024 * 1024
    commit_tuples = 100_000

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if invalid. The folder is created at the start."""
        folder = config.get(FOLDER, self.folder)
        if folder is None:
            raise ComponentError(
                f"{self._name}: no folder to write into: set its attribute 'folder' or {FOLDER}"
            )
        self._format = config.get(FORMAT, self.format) or self._usual_format(context)
        if self._format not in _ENDINGS:
            raise ComponentError(f"{self._name}: {FORMAT} is text or json, not {self._format!r}")
        self._buffer_size = int(config.get(BYTES_PER_FILE, self.bytes_per_file))
        self.commit_tuples = int(config.get(LINES_PER_FILE, self.commit_tuples))
        self.commit_secs = float(config.get(ROLL_SECS, self.commit_secs))
        tasks = context.get_component_tasks(self._name)
        index = tasks.index(context.get_task_id())
        ending, incarnation = _ENDINGS[self._format], context.get_incarnation()
        self._files = PartFiles(str(folder), self._name, index, ending, incarnation)
        self._batch: tuple[int, PartTransaction] | None = None
        self._last_batch: int | None = None

    def _usual_format(self, context: Any) -> str:
        storm = context.to_storm()
        fields: Mapping[str, Any] = storm["source->stream->fields"]
        inputs = storm["source->stream->grouping"]
        widths = {len(fields[each][stream]) for each in inputs for stream in inputs[each]}
        return "text" if widths == {1} else "json"

    def line_of(self, tup: "Tuple") -> bytes:
        """What is written for a tuple, without the end of the line. ValueError for a value without
        a text form."""
        if self._format == "json":
            return object_of(tup.fields, tup.values)
        (value,) = tup.values
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if _shows_nothing(type(value)):
            raise ValueError(f"{tup.fields[0]}: a {type(value).__name__} has no text form")
        try:
            return str(value).encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{tup.fields[0]}={value!r}: half a character (a lone surrogate) is not text"
            ) from None

    def process(self, tup: "Tuple") -> None:
        """Write a line."""
        if self._batch is None:
            super().process(tup)
            return
        _, transaction = self._batch
        transaction.buffer.setdefault("", []).append(self._checked_line(tup))
        self.ack(tup)

    def write(self, transaction: PartTransaction, tup: "Tuple") -> None:
        """Add a line to the pending lines."""
        line = self._checked_line(tup)
        self.keep(transaction, "", line, len(line) + 1)

    def _checked_line(self, tup: "Tuple") -> bytes:
        line = self.line_of(tup)
        if b"\n" in line:
            raise ValueError(
                f"{', '.join(tup.fields)}: a text with a line end is not a line (set {FORMAT} to"
                f" json): {line!r}"
            )
        return line

    def contents(self, buffer: dict[Any, list[Any]]) -> Mapping[str, Any]:
        """The pending lines."""
        return {where: b"".join(each + b"\n" for each in lines) for where, lines in buffer.items()}

    # --- engines of batches: heron_api.batch_aware.BatchAware ---------------------------

    def begin_batch(self, batch_id: int) -> None:
        """Start of a batch: later lines belong to the batch."""
        super().begin_batch(batch_id)
        self._batch = batch_id, PartTransaction()

    def end_batch(self) -> None:
        """Commit the lines under the batch's name; ComponentError on failure."""
        assert self._batch is not None, "end_batch without begin_batch"
        batch, transaction = self._batch
        is_replay = self._last_batch is None or batch != self._last_batch + 1
        try:
            self._files.put_batch(batch, self.contents(transaction.buffer), is_replay)
        except OSError as error:
            raise ComponentError(
                f"{self._name}: cannot write into {self._files.folder}: {error.strerror}"
            ) from None
        self._last_batch = batch

    def __getstate__(self) -> dict[str, Any]:
        """Nothing has to be remembered: between two batches no line waits."""
        return {}


def _shows_nothing(kind: type) -> bool:
    """Whether the text of its values is but a name and an address."""
    own: tuple[Any, Any] = (kind.__str__, kind.__repr__)
    return own == (object.__str__, object.__repr__)
