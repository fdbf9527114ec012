"""Runs of a small topology around one connector, on each engine, in this process: natively in the
tester, on Spark in the host of its tasks, batch by batch. A killed part is dropped in its state."""

import io
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.plan import compile_topology
from heron_spark.driver.query import is_last
from heron_spark.worker.printing import Printed
from heron_spark.worker.task_host import TaskHost
from heron_tester import fixtures
from heron_tester.errors import TesterError
from heron_tester.faults import InstanceKilled
from heron_tester.sink_faults import FaultPlan
from heronpy_compat import Bolt, Spout
from heronpy_compat.testing import TopologyTester

NATIVE = (keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, keys.ATMOST_ONCE)
SPARK = "spark"
SOURCE, SINK = "source", "sink"
BATCHES_MAX = 100
ABANDONED = "abandoned tuples"
"""In the report of a source about rows counted by its sink."""
DEADLINE_SECS = 60.0
"""For a source with a broker in this process."""
Rows = Sequence[Sequence[Any]]


class Given(Spout, StatefulComponent):
    """Emits given rows, and continues from its checkpoint."""

    rows: Rows = ()

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.at: int = self.state.get("at") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("at", self.at)

    def next_tuple(self) -> None:
        if self.at == len(self.rows):
            self.finish()
            return
        self.at += 1
        self.emit(list(self.rows[self.at - 1]), tup_id=self.at)


class Collected(Bolt, StatefulComponent):
    """Keeps its input in its state."""

    outputs: list[Any] = []

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.rows = list(self.state.get("rows") or [])

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("rows", list(self.rows))

    def process(self, tup: Any) -> None:
        self.rows.append(list(tup.values))
        self.ack(tup)


@dataclass(slots=True)
class Ended:
    errors: list[str] = field(default_factory=list)
    failed: int = 0
    """Rows counted as failed."""
    was_refused: bool = False
    """Whether the run failed to start, or ended by itself."""


def sinking(
    fields: Mapping[str, str | None], sink: type, config: Mapping[str, Any]
) -> TopologySpec:
    """A source of rows with these fields and types, and a sink."""
    types = tuple(each or "" for each in fields.values())
    outputs = (StreamSpec(DEFAULT_STREAM, tuple(fields), types=types if any(types) else ()),)
    return _topology(outputs, {}, config)


def reading(
    fields: Sequence[str], config: Mapping[str, Any], types: Sequence[str] = ()
) -> TopologySpec:
    """A source, and a bolt that collects."""
    return _topology((StreamSpec(DEFAULT_STREAM, tuple(fields), types=tuple(types)),), config, {})


def _topology(
    outputs: tuple[StreamSpec, ...], source: Mapping[str, Any], sink: Mapping[str, Any]
) -> TopologySpec:
    read = InputSpec(SOURCE, DEFAULT_STREAM, GroupingSpec(GroupingKind.SHUFFLE))
    path = fixtures.__name__
    components = (
        ComponentSpec(SOURCE, True, f"{path}.ConnectorSource", 1, outputs, (), dict(source)),
        ComponentSpec(SINK, False, f"{path}.ConnectorSink", 1, (), (read,), dict(sink)),
    )
    return TopologySpec("connectors", components, {})


@contextmanager
def classes(source: type, sink: type) -> Iterator[None]:
    """Classes of the two components, while a topology runs."""
    found = {"ConnectorSource": source, "ConnectorSink": sink}
    fixtures.tested_classes.update(found)
    try:
        yield
    finally:
        for each in found:
            del fixtures.tested_classes[each]


def given(rows: Rows) -> type[Given]:
    """A source of rows."""
    return type("GivenRows", (Given,), {"rows": rows})


def natively(
    topology: TopologySpec, mode: str, wanted: int | None = None
) -> tuple[Ended, list[list[Any]]]:
    """To the end of the data, or to a number of rows, with a checkpoint before. Returns the result
    of the run, and the content of a `Collected`."""
    ended, rows = Ended(), []
    config = {keys.RELIABILITY_MODE: mode}
    try:
        with TopologyTester(topology, config=config, patch_time=wanted is None) as tester:
            deadline = time.monotonic() + DEADLINE_SECS
            while tester.run_spouts(1) and not has_rows(tester, wanted):
                assert time.monotonic() < deadline, "no end"
            if mode == keys.EFFECTIVELY_ONCE:
                tester.checkpoint()
            if wanted is None:
                tester.advance(10)
            tester.finish()
            (last,) = tester.component(SINK)
            rows = list(getattr(last, "rows", []))
            refused = [each.text for each in tester.errors(SOURCE) if ABANDONED not in each.text]
            ended.errors = [*refused, *(each.text for each in tester.errors(SINK))]
            ended.failed = len(refused) + tester.metrics(SINK)["failed"]
    except TesterError as error:
        ended.was_refused = True
        ended.errors.append(str(error))
    return ended, rows


def has_rows(tester: TopologyTester, wanted: int | None) -> bool:
    """Whether a `Collected` has so many."""
    (last,) = tester.component(SINK)
    return wanted is not None and len(last.rows) >= wanted


class SparkRun:
    """The tasks of a topology as Spark's workers host them: each batch level by level, without a
    JVM. A host killed in a batch is replaced, and the batch is repeated; a hanging host has a copy,
    and its writes after the wake-up do not count."""

    def __init__(self, topology: TopologySpec, folder: Path, rows_per_batch: int = 1000) -> None:
        self._plan = compile_topology(topology)
        self._folder = CheckpointDir(str(folder))
        self._job = Job(topology, 1, rows_per_batch, 0.2, False)
        self._batch = 0
        self._host = self._made()
        self.results: list[dict[str, Any]] = []
        """Of the newest batch."""
        self.kills = 0
        self.refused: list[str] = []
        """Errors of attempts woken behind their copies, or with a fenced sink."""
        self._may_repeat = False
        self.before_level: Callable[[int], Any] = lambda level: None
        """May raise InstanceKilled."""
        self.after_kill: Callable[[], Any] = lambda: None
        """Further effects of a process's end."""
        self.ended = Ended()

    def _made(self) -> TaskHost:
        return TaskHost(self._folder, self._job, self._plan, Printed(io.StringIO(), False))

    def run(self) -> Iterator[int]:
        """All batches, to the end of the data; each one's number when it is done."""
        for _ in range(BATCHES_MAX):
            began = self._batch
            try:
                results = self._attempt()
            except InstanceKilled:
                self.kills += 1
                del self._host
                self.after_kill()
                self._host = self._made()
                continue
            except HeronError as error:
                if self._batch == began and not self._may_repeat:
                    raise
                self._may_repeat &= self._batch != began
                self.refused.append(str(error))
                continue
            if self._batch != began:
                continue
            batch, self._batch, self.results = self._batch, self._batch + 1, results
            yield batch
            if is_last(self._plan, self._folder, None, batch, results):
                self._host.close()
                return
        raise AssertionError(f"{BATCHES_MAX} batches, and no end")

    def copy_goes_on(self, batches: int) -> None:
        """While an attempt hangs: another host does its batch, and the next batches. The woken
        attempt may fence the copy once: then its batch is repeated."""
        self._host, self._may_repeat = self._made(), True
        for _ in range(batches):
            self.results = self._attempt()
            self._batch += 1

    def restart(self) -> None:
        """Continue from the checkpoint on new hosts."""
        self._host.close()
        self._host = self._made()

    def _attempt(self) -> list[dict[str, Any]]:
        waiting: dict[tuple[int, int], list[bytes]] = defaultdict(list)
        results: list[dict[str, Any]] = []
        batch, host = self._batch, self._host
        for level in range(len(self._plan.levels)):
            self.before_level(level)
            for partition in range(self._plan.partitions(level, 1)):
                blocks = iter(waiting.pop((level, partition), []))
                tasks = host.run(level, partition, batch, blocks)
                if host is not self._host:
                    return []  # a copy has done it, and Spark ends this attempt
                for task in tasks:
                    for to_level, to_partition, data in self._folder.blocks(task, batch):
                        waiting[to_level, to_partition].append(data)
                    results.append(self._folder.results(task, batch))
        self._note_errors(results)
        return results

    def _note_errors(self, results: list[dict[str, Any]]) -> None:
        for each in results:
            if each["errors"]:
                text = each["statistics"]["last_error"] or ""
                if ABANDONED not in text:
                    self.ended.failed += each["errors"]
                self.ended.errors.append(text)

    @property
    def last_rows(self) -> list[list[Any]]:
        """Content of a `Collected` at the end."""
        (task,) = self._plan.packing.tasks_of[SINK]
        return list(getattr(self._host._live[task]._instance.component, "rows", []))


def on_spark(
    topology: TopologySpec, folder: Path, wanted: int | None = None
) -> tuple[Ended, list[list[Any]]]:
    """To the end of the data, or to a number of rows; returns the result of the run, and the
    content of a `Collected`."""
    try:
        run = SparkRun(topology, folder)
        for _ in run.run():
            if wanted is not None and len(run.last_rows) >= wanted:
                break
    except HeronError as error:
        return Ended([str(error)], 0, True), []
    return run.ended, run.last_rows


class At(FaultPlan):
    """Dies when a moment comes for the nth time, once."""

    def __init__(self, moment: str, nth: int) -> None:
        super().__init__()
        self._moment, self._left = moment, nth
        if not moment:
            self.kill_in_line = nth

    def at(self, moment: str) -> None:
        if moment == self._moment:
            self._left -= 1
            if self._left == 0:
                self.die()


class Hangs(At):
    """Hangs there until another event."""

    meanwhile: Callable[[], Any]

    def die(self) -> None:
        """As if this process was frozen, and woke up now."""
        self.kill_in_line, self.was_killed = None, True
        self.meanwhile()
