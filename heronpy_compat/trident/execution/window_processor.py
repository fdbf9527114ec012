"""Windows as an operation of a bolt: it acts when a batch is committed, in the order of batches.

Storm's windows take batches as they happen to be processed; here each batch is in the windows once,
behind the one before it, whatever is replayed.
"""

import time
import uuid
from typing import Any

from heronpy_compat.trident.execution.batch_tracker import TrackedBatch
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.execution.processors import (
    BatchCollector,
    BatchProcessor,
    ProcessorSetting,
    Take,
)
from heronpy_compat.trident.operations import Aggregator
from heronpy_compat.trident.tuples import FieldSelection, Row, TridentTuple
from heronpy_compat.trident.windowing.window_configs import TridentWindows
from heronpy_compat.trident.windowing.window_contents import WindowContents
from heronpy_compat.trident.windowing.window_stores import (
    InMemoryWindowsStore,
    WindowsStore,
    WindowsStoreFactory,
)


class WindowProcessor(BatchProcessor):
    """An aggregator over the tuples of each window of a partition."""

    def __init__(
        self,
        windows: TridentWindows,
        factory: WindowsStoreFactory,
        aggregator: Aggregator,
        selection: FieldSelection,
    ) -> None:
        self.operation: Aggregator = aggregator
        self._windows = windows
        self._factory = factory
        self._selection = selection

    def set_up(self, number: int, take: Take, setting: ProcessorSetting, width: int) -> None:
        """See BatchProcessor."""
        super().set_up(number, take, setting, width)
        self._store = self._factory.create(setting.conf)
        context, where = setting.context.topology_context, setting.context
        component = f"{context.get_component_id()}/{number}/{where.partition_index}"
        run = _run_of(self._store, context, component)
        name = f"{context.get_topology_name()}/{component}"
        self._contents = WindowContents(self._windows, self._store, name, run, where.num_partitions)

    def start(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        batch.values[self.number] = []

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        batch.values[self.number].append(self._selection.row_of(row))

    def finish(self, batch: TrackedBatch) -> None:
        """See BatchProcessor; windows are stored before their results are emitted."""
        txid, rows = batch.attempt.txid, batch.values[self.number]
        ended = self._contents.take(txid, rows, round(time.time() * 1000))
        if isinstance(self._store, InMemoryWindowsStore):
            self._store.record(txid)
        for number, window in ended:
            self._aggregate(batch, number, window)

    def _aggregate(self, batch: TrackedBatch, number: int, window: list[Row]) -> None:
        collector = BatchCollector(self, batch)
        value = self.operation.init(number, collector)
        for row in window:
            tup = TridentTuple(self._selection.names, row)
            result = self.operation.aggregate(value, tup, collector)
            value = value if result is None else result
        self.operation.complete(value, collector)

    def cleanup(self) -> None:
        """See BatchProcessor."""
        super().cleanup()
        self._store.shutdown()


def _run_of(store: WindowsStore, context: Any, component: str) -> str:
    """A random word that identifies the run of the topology."""
    run_store, born_ms = context.get_run_store(), context.get_incarnation().born_ms
    if isinstance(store, InMemoryWindowsStore):
        store.keep(NumberedRecords(run_store, f"windows/{component}", born_ms))
        return "this"
    runs = NumberedRecords(run_store, f"runs-of-windows/{component}", born_ms)
    if not runs.has(0):
        runs.put(0, uuid.uuid4().hex)
    return str(runs.get(0))
