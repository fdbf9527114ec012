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
    """The namedtuple of a stream's values, called SourceStreamTuple.

    Fields that are no Python names (user-id, class, _x) or stand twice are called by their
    position (_0); pystorm cannot read such a stream at all.
    """
    name = "".join(_NO_IDENTIFIER.sub("_", each.title()) for each in (source, stream))
    plain: Any = namedtuple(f"{name}Tuple", fields, rename=True)  # type: ignore[misc]
    return type(plain.__name__, (plain,), {"__slots__": (), "__reduce__": _as_plain_tuple})


def _as_plain_tuple(values: Any) -> Any:
    """How values travel inside of other values: nobody else could name their class."""
    return tuple, (tuple(values),)


class Bolt(Component):
    """A step: `process` gets one tuple after the other."""

    auto_anchor = True
    """What `process` emits without `anchors` is anchored to the tuple it processes."""
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
        """Say that a tuple (or the one with this id) is processed."""
        self.send_message({"command": "ack", "id": _id_of(tup)})

    def fail(self, tup: Any) -> None:
        """Say that a tuple (or the one with this id) could not be processed."""
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

    Batches are processed on the tick after `ticks_between_batches` others. What `process_batch`
    emits is anchored to its whole batch, which is acked when it returns.
    """

    ticks_between_batches = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batches: dict[Any, list[Any]] = defaultdict(list)
        self._tick_counter = 0
        self._current_key: Any = None

    def group_key(self, tup: Any) -> Any:
        """The key of the batch that a tuple belongs to; by default there is one batch."""
        return None

    def process_batch(self, key: Any, tups: list[Any]) -> Any:
        """Process the tuples of one batch."""
        raise NotImplementedError

    def emit(self, tup: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """As Bolt.emit, but it never returns task ids."""
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
        """Process every batch, and ack its tuples."""
        for key, batch in self._batches.items():
            self._current_tups = batch
            self._current_key = key
            self.process_batch(key, batch)
            if self.auto_ack:
                for tup in batch:
                    self.ack(tup)
            # It is acked: should a later batch raise, this one must not fail.
            self._current_key = None
            self._batches[key] = []
        self._batches = defaultdict(list)

    def process(self, tup: Any) -> Any:
        """Put a tuple into its batch."""
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
        """Fail the current batch; if the process is to end, all of them."""
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
        # Those processed before it are empty as well: process_batch must not see them again.
        left = {key: batch for key, batch in self._batches.items() if batch}
        self._batches = defaultdict(list, left)


class TicklessBatchingBolt(BatchingBolt):
    """A BatchingBolt with a clock of its own: batches are processed every
    `secs_between_batches` by a thread."""

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
        """Ticks mean nothing here."""
        self.ack(tick_tup)

    def _batch_entry_run(self) -> None:
        time.sleep(self.secs_between_batches)
        with self._batch_lock:
            self.process_batches()

    def _batch_entry(self) -> None:
        """What the thread does; the main thread, which waits for input, is told of an exception
        by a signal. The thread goes on: whether the process does is the main thread's decision."""
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
