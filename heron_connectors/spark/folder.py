"""Between a topology on the native engine and queries of Spark: streams through a shared folder.

    from heronpy_compat.connectors.spark import SparkSink, SparkSpout

Spark's side is the data source `heronpy` (docs/SPARK.md). The folder has numbered segments
(segments.py): a query notes in its checkpoint which of them it has read, and a topology in its own.
"""

import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.emitted_rows import EmitsRows
from heron_connectors.spark.segments import MissingSegment, SegmentLog, unwritable, writers_of
from heron_connectors.transactions import TransactionId
from heron_connectors.two_phase import WriteAheadSink
from heron_connectors.writable_folders import check_folder
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

FOLDER = "spark.folder"
"""Config key: an absolute path that the topology's machines and Spark's reach."""
REMOVE = "spark.remove"
"""Config key: true lets a SparkSpout remove processed rows (false); requires a single reading
topology."""
STATE_KEY = "heronpy.spark_spout"
"""Under it the state has the positions."""
POLL_SECS = 0.2
"""Poll interval of an idle spout."""
CHECKPOINTS_MAX = 16
"""Checkpoints that may still complete: older incomplete checkpoints have failed."""

Position = tuple[int, int]
"""(segment, processed rows of the reader's own parts)."""
RowId = tuple[str, int, int]
"""(writer, segment, row)"""


def folder_of(config: dict[str, Any], attribute: str | None, name: str) -> str:
    """The component's folder; ComponentError for a folder that is not shared between machines."""
    folder = config.get(FOLDER, attribute)
    if folder is None:
        raise ComponentError(
            f"{name}: no folder to share with Spark: set its attribute 'folder' or {FOLDER}"
        )
    if not os.path.isabs(str(folder)):
        raise ComponentError(
            f"{name}: {FOLDER} is {folder!r}: an absolute path is needed, as Spark's folder is "
            "another one"
        )
    return str(folder)


class SparkSink(WriteAheadSink):
    """Lets queries of Spark read its input, by `spark.readStream.format("heronpy")`.

    tap = SparkSink.spec(inputs=[counts], config={"spark.folder": "/shared/counts"})

    All inputs have the same fields. Under EFFECTIVELY_ONCE each tuple is there once, when its
    checkpoint is complete; in the other modes at least once, every `commit_secs`.
    """

    folder: str | None = None
    commit_tuples = 10_000
    commit_secs = 1.0

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._fields = self.fields_of_inputs(context)
        tasks = context.get_component_tasks(self._name)
        index = tasks.index(context.get_task_id())
        folder = folder_of(config, self.folder, self._name)
        self._folder, self._log = folder, SegmentLog(folder, f"{index:05d}")
        self._run = context.get_incarnation().run

    def check_target(self) -> None:
        """Make the folder; ComponentError if it cannot be made or takes no file."""
        check_folder(self._name, self._folder, FOLDER)

    def unknown_output(self) -> str:
        """Number of existing segments."""
        number = len(self._log.numbers())
        return f"{self._log.folder} has {number} segments of another run" if number else ""

    def output_of_another_run(self, run: str) -> str:
        """Number of existing segments, if the newest was written by a different run."""
        numbers = self._log.numbers()
        is_ours = not numbers or self._log.segment(numbers[-1]).run == run
        return "" if is_ours else self.unknown_output()

    def abort_others(self, prepared: Sequence[Any]) -> None:
        """What is prepared is in the checkpoint; files that a dead process has begun go."""
        self._log.remove_orphans(time.time())

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """The valid rows for a segment; invalid rows are reported and counted."""
        problems = unwritable(transaction)
        described = {at: f"{', '.join(self._fields)}: {problems[at]}" for at in problems}
        self.leave_out(described, self._fields, {at: list(transaction[at]) for at in problems})
        return [row for at, row in enumerate(transaction) if at not in problems]

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a segment with the rows, unless the folder has it."""
        self._log.append(self._fields, prepared, str(transaction_id), self._run)


class SparkSpout(EmitsRows[RowId], Spout, TwoPhaseStatefulComponent):
    """Emits the rows that queries of Spark write by `writeStream.format("heronpy")`.

        class Orders(SparkSpout):
            outputs = {"id": "bigint", "price": "double"}

        orders = Orders.spec(par=2, config={"spark.folder": "/shared/orders"})

    The fields are columns of the query. The instances divide the segments. Under EFFECTIVELY_ONCE
    the positions are part of the checkpoint; else a row that fails is emitted again, and an
    instance that is started again begins with the first segment that has not been removed.
    """

    folder: str | None = None

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings and the state; ComponentError if they are wrong."""
        self._name = context.get_component_id()
        self._folder = folder_of(config, self.folder, self._name)
        self._removes = bool(config.get(REMOVE, False))
        self._is_exact = config.get(keys.RELIABILITY_MODE) == keys.EFFECTIVELY_ONCE
        tasks = context.get_component_tasks(self._name)
        self._index, self._instances = tasks.index(context.get_task_id()), len(tasks)
        self._fields = list(self.outputs)
        self._positions: dict[str, Position] = {}
        self._of_checkpoint: dict[int, dict[str, Position]] = {}
        self._restore()
        self._rows: Iterator[tuple[RowId, list[Any]]] = iter(())
        self._has_emitted_none(config)
        self._not_before = 0.0

    def _restore(self) -> None:
        saved = self._state.get(STATE_KEY) if self._is_exact else None
        if saved is None:
            return
        if saved["instances"] != self._instances:
            raise ComponentError(
                f"{self._name}: its state is that of {saved['instances']} instances, which "
                f"divide the segments differently from {self._instances}: keep its parallelism"
            )
        self._positions = {writer: (segment, row) for writer, segment, row in saved["positions"]}

    def next_tuple(self) -> None:
        """Emit what failed, or else the next row."""
        if self._emit_failed():
            return
        next_row = next(self._rows, None)
        if next_row is None:
            next_row = self._poll_segments()
        if next_row is None:
            return
        row_id, values = next_row
        writer, segment, row = row_id
        self._positions[writer] = (segment, row + 1)
        if self._is_exact:
            self.emit(values)
            return
        self._pending[row_id] = values
        self.emit(values, tup_id=row_id)

    def _poll_segments(self) -> tuple[RowId, list[Any]] | None:
        now = time.monotonic()
        if now < self._not_before:
            return None
        self._not_before = now + POLL_SECS
        if self._removes and not self._is_exact:
            self._remove_acked()
        self._rows = self._new_rows()
        return next(self._rows, None)

    def _new_rows(self) -> Iterator[tuple[RowId, list[Any]]]:
        """Read everything after the positions and advance them."""
        for writer in writers_of(self._folder):
            log = SegmentLog(self._folder, writer)
            first, done = self._positions.get(writer, (0, 0))
            is_known = writer in self._positions
            for number in log.numbers():
                if number < first:
                    continue
                yield from self._rows_of(log, number, done if number == first else 0, is_known)
                self._positions[writer] = (number + 1, 0)

    def _rows_of(
        self, log: SegmentLog, number: int, done: int, is_known: bool
    ) -> Iterator[tuple[RowId, list[Any]]]:
        """The rows of the instance's parts after the first `done`. Parts removed by an earlier
        reader are skipped by a new reader, and an error for a resumed reader."""
        segment = log.segment(number)
        absent = [each for each in self._fields if each not in segment.fields]
        if absent:
            self._leave(
                f"segment {number} of {log.folder} has the columns {', '.join(segment.fields)}, "
                f"and no {absent[0]!r}"
            )
        columns = [segment.fields.index(each) for each in self._fields]
        at = 0
        for part in self._mine(number, segment.parts):
            if at + part.rows <= done:
                at += part.rows
                continue
            try:
                for row in log.rows(part):
                    if at >= done:
                        yield (log.writer, number, at), [row[each] for each in columns]
                    at += 1
            except MissingSegment as error:
                if is_known:
                    self._leave(str(error))
                at += part.rows

    def _mine(self, number: int, parts: Sequence[Any]) -> Sequence[Any]:
        """Each part of each segment is one instance's."""
        return parts[(self._index - number) % self._instances :: self._instances]

    def _leave(self, why: str) -> None:
        text = f"{self._name}: {why}"
        self.delegate.call_soon(partial(self.delegate.leave, text))
        raise ComponentError(text)

    # --- acks, in the modes without checkpoints ---------------------------------------------------

    def _remove_acked(self) -> None:
        """Remove the segments before the first unprocessed row."""
        before = {writer: segment for writer, (segment, _) in self._positions.items()}
        for writer, segment, _ in self._pending:
            before[writer] = min(segment, before[writer])
        for writer, segment in before.items():
            self._remove(writer, segment)

    # --- checkpoints ------------------------------------------------------------------------------

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position in each writer's segments."""
        if not self._is_exact:
            return
        positions = [[writer, *each] for writer, each in self._positions.items()]
        self._state.put(STATE_KEY, {"instances": self._instances, "positions": positions})
        waiting = self._of_checkpoint
        waiting[int(checkpoint_id)] = dict(self._positions)
        while len(waiting) > CHECKPOINTS_MAX:
            del waiting[min(waiting)]

    def post_save(self, checkpoint_id: Any) -> None:
        """Confirm the checkpoint's positions: earlier rows are never read again."""
        done = [each for each in self._of_checkpoint if each <= int(checkpoint_id)]
        found = [self._of_checkpoint.pop(each) for each in sorted(done)]
        if found and self._removes:
            for writer, (segment, _) in found[-1].items():
                self._remove(writer, segment)

    def __getstate__(self) -> dict[str, Any]:
        """Start position; an engine with state restores the state of emitted rows."""
        return {"_positions": self._positions}

    def _remove(self, writer: str, before: int) -> None:
        """Remove this instance's parts of the segments before a number."""
        log = SegmentLog(self._folder, writer)
        for number in log.numbers():
            if number >= before:
                break
            log.discard(self._mine(number, log.segment(number).parts))
