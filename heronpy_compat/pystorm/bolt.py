"""Steps of the work (pystorm.bolt)."""

import os
import re
import signal
import sys
import threading
import time
from collections import defaultdict, namedtuple
from collections.abc import Sequence
from types import FrameType
from typing import Any

from heronpy_compat.pystorm.component import Component, Tuple

_NO_IDENTIFIER = re.compile(r"\W|^(?=\d)")


def values_class(source: str, stream: str, fields: Sequence[str]) -> Any:
    """The namedtuple class SourceStreamTuple for the values of a stream.

    Invalid Python names (user-id, class, _x) and duplicate fields are renamed by position (_0);
    pystorm cannot read such a stream.
    """
    name = "".join(_NO_IDENTIFIER.sub("_", each.title()) for each in (source, stream))
    plain: Any = namedtuple(f"{name}Tuple", fields, rename=True)  # type: ignore[misc]
    return type(plain.__name__, (plain,), {"__slots__": (), "__reduce__": _as_plain_tuple})


def _as_plain_tuple(values: Any) -> Any:
    """Pickle support: the class has no importable name, so values are nested as plain tuples."""
    return tuple, (tuple(values),)


class Bolt(Component):
    """A processing step: `process` receives one tuple per call.

    Example:

        class Split(Bolt):
            def process(self, tup):
                for word in tup.values[0].split():
                    self.emit([word])
    """

    auto_anchor = True
    """Anchor tuples emitted in `process` without `anchors` to the input tuple."""
    auto_ack = True
    """A tuple is acked when `process` has returned."""
    auto_fail = True
    """A tuple fails when `process` raises."""
    _current_tups: list[Any] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._source_tuple_types: dict[str, dict[str, Any]] = defaultdict(dict)

    def _setup_component(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        super()._setup_component(storm_conf, context)
        for source, streams in context.get("source->stream->fields", {}).items():
            for stream, fields in streams.items():
                made = values_class(source, stream, fields)
                self._source_tuple_types[source][stream] = made

    @staticmethod
    def is_tick(tup: Any) -> bool:
        """Whether `tup` is a tick of topology.tick.tuple.freq.secs."""
        return bool(tup.component == "__system" and tup.stream == "__tick")

    def read_tuple(self) -> Any:
        """The next tuple from Storm."""
        message = self.read_command()
        source, stream, values = message["comp"], message["stream"], message["tuple"]
        kind = self._source_tuple_types[source].get(stream)
        values = tuple(values) if kind is None else kind(*values)
        return Tuple(message["id"], source, stream, message["task"], values)

    def process(self, tup: Any) -> Any:
        """Process one tuple."""
        raise NotImplementedError

    def process_tick(self, tup: Any) -> Any:
        """Called every topology.tick.tuple.freq.secs, if that is set."""

    # A bolt's tuples have no id of their own, as in pystorm.
    def emit(  # type: ignore[override]
        self,
        tup: Any,
        stream: str | None = None,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit values anchored to `anchors`: tuples or their ids."""
        if anchors is None:
            anchors = self._current_tups if self.auto_anchor else []
        return super().emit(
            tup,
            stream=stream,
            anchors=[_id_of(anchor) for anchor in anchors],
            direct_task=direct_task,
            need_task_ids=need_task_ids,
        )

    def ack(self, tup: Any) -> None:
        """Ack a tuple, given as an object or an id."""
        self.send_message({"command": "ack", "id": _id_of(tup)})

    def fail(self, tup: Any) -> None:
        """Fail a tuple, given as an object or an id."""
        self.send_message({"command": "fail", "id": _id_of(tup)})

    def _run(self) -> None:
        tup = self.read_tuple()
        self._current_tups = [tup]
        if self.is_heartbeat(tup):
            self.send_message({"command": "sync"})
        else:
            (self.process_tick if self.is_tick(tup) else self.process)(tup)
            if self.auto_ack:
                self.ack(tup)
        # Not in a `finally`: after an exception the current tuples are those to fail.
        self._current_tups = []

    def _handle_run_exception(self, exc: Exception) -> None:
        if len(self._current_tups) == 1:
            (tup,) = self._current_tups
            self.raise_exception(exc, tup)
            if self.auto_fail:
                self.fail(tup)


class BatchingBolt(Bolt):
    """Collects tuples between ticks, grouped by `group_key`, for `process_batch`.

    Batches are processed on the tick after `ticks_between_batches` skipped ticks. Tuples emitted by
    `process_batch` are anchored to the whole batch, acked when `process_batch` returns.

        class Totals(BatchingBolt):
            def group_key(self, tup):
                return tup.values[0]

            def process_batch(self, key, tups):
                self.emit([key, len(tups)])
    """

    ticks_between_batches = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batches: dict[Any, list[Any]] = defaultdict(list)
        self._tick_counter = 0
        self._current_key: Any = None

    def group_key(self, tup: Any) -> Any:
        """The batch key of a tuple; by default all tuples share one batch."""
        return None

    def process_batch(self, key: Any, tups: list[Any]) -> Any:
        """Process the tuples of one batch."""
        raise NotImplementedError

    def emit(self, tup: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Like Bolt.emit, without task ids as a result."""
        kwargs["need_task_ids"] = False
        super().emit(tup, **kwargs)

    def process_tick(self, tick_tup: Any) -> Any:
        """Count a tick, and process the batches if it is time."""
        self._tick_counter += 1
        self.ack(tick_tup)
        if self._tick_counter > self.ticks_between_batches and self._batches:
            self.process_batches()
            self._tick_counter = 0

    def process_batches(self) -> Any:
        """Process and ack every batch."""
        for key, batch in self._batches.items():
            self._current_tups = batch
            self._current_key = key
            self.process_batch(key, batch)
            if self.auto_ack:
                for tup in batch:
                    self.ack(tup)
            # Processed batches are acked: a later exception must not fail their tuples.
            self._current_key = None
            self._batches[key] = []
        self._batches = defaultdict(list)

    def process(self, tup: Any) -> Any:
        """Add a tuple to the batch of the tuple's key."""
        self._batches[self.group_key(tup)].append(tup)

    def _run(self) -> None:
        tup = self.read_tuple()
        self._take(tup)

    def _take(self, tup: Any) -> None:
        self._current_tups = [tup]
        if self.is_heartbeat(tup):
            self.send_message({"command": "sync"})
        else:
            (self.process_tick if self.is_tick(tup) else self.process)(tup)
        self._current_tups = []

    def _handle_run_exception(self, exc: Exception) -> None:
        """Fail the current batch, or all batches if the process is about to end."""
        self.raise_exception(exc, self._current_tups)
        if not self.auto_fail:
            return
        failed = set()
        for key, batch in self._batches.items():
            if self.exit_on_exception or key == self._current_key:
                for tup in batch:
                    self.fail(tup)
                    failed.add(tup.id)
        for tup in self._current_tups:
            if tup.id not in failed:
                self.fail(tup)
        self._batches[self._current_key] = []
        self._current_key = None
        # Batches processed earlier are cleared as well: process_batch must not receive them twice.
        left = {key: batch for key, batch in self._batches.items() if batch}
        self._batches = defaultdict(list, left)


class TicklessBatchingBolt(BatchingBolt):
    """A BatchingBolt with a timer thread: batches are processed every `secs_between_batches`
    seconds.

    Example:

        class Insert(TicklessBatchingBolt):
            secs_between_batches = 5

            def group_key(self, tup):
                return tup.values[0]

            def process_batch(self, key, tups):
                self.log(f"{len(tups)} rows of {key}")
    """

    secs_between_batches: float = 2

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.exc_info: Any = None
        signal.signal(signal.SIGUSR1, self._handle_worker_exception)
        self._batch_lock = threading.RLock()
        name = f"{type(self).__name__}:_batcher-thread"
        self._batcher = threading.Thread(target=self._batch_entry, name=name, daemon=True)
        self._batcher.start()

    def process_tick(self, tick_tup: Any) -> Any:
        """Ack ticks without effect."""
        self.ack(tick_tup)

    def _batch_entry_run(self) -> None:
        time.sleep(self.secs_between_batches)
        with self._batch_lock:
            self.process_batches()

    def _batch_entry(self) -> None:
        """Loop of the timer thread. A signal reports exceptions to the main thread, which is
        blocked on input. The thread continues: the main thread decides whether the process ends."""
        while True:
            try:
                self._batch_entry_run()
            except Exception:
                self.exc_info = sys.exc_info()
                os.kill(self.pid, signal.SIGUSR1)

    def _handle_worker_exception(self, signum: int, frame: FrameType | None) -> None:
        with self._batch_lock:
            if self.exc_info is not None:
                raise self.exc_info[1]

    def _run(self) -> None:
        tup = self.read_tuple()
        with self._batch_lock:
            self._take(tup)


def _id_of(tup: Any) -> Any:
    return tup.id if isinstance(tup, Tuple) else tup
