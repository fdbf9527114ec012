"""A partition's host: the previous batch, and the results of its tuples."""

import io
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from heron_core.errors import HeronError
from heron_core.records import replace
from heron_spark.backend.metrics import QueryMetrics
from heron_spark.batch_log.checkpoint_dir import BATCHES_KEPT, CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.plan import compile_topology, one_container
from heron_spark.driver.progress import Progress
from heron_spark.session.dataframes import job_of
from heron_spark.worker.printing import Printed
from heron_spark.worker.task_host import TaskHost
from heron_tester.sources import topology_of
from heronpy_compat import Bolt, Spout, Topology

acked: list[int] = []
EACH = 3


class Numbers(Spout):
    """Three in each batch."""

    outputs = ["number"]
    at = 0

    def begin_batch(self, batch_id: int) -> None:
        self.left = EACH

    def next_tuple(self) -> None:
        if self.left:
            self.left -= 1
            self.at += 1
            self.emit([self.at], tup_id=self.at)

    def ack(self, tup_id: Any) -> None:
        acked.append(tup_id)


class FailsTwo(Bolt):
    """Fails the number 2."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        if tup.values[0] == 2:
            self.fail(tup)
        else:
            self.ack(tup)


class OfGenerator(Spout):
    """A number in each batch, of what cannot be saved; the lock is as good after a restart."""

    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.numbers = (number for number in range(100))
        self.lock = threading.Lock()

    def begin_batch(self, batch_id: int) -> None:
        self.has_emitted = False

    def next_tuple(self) -> None:
        if not self.has_emitted:
            self.has_emitted = True
            self.emit([next(self.numbers)])


class Unsaved(Topology):
    numbers = OfGenerator.spec()
    fails = FailsTwo.spec(inputs=[numbers])


class Failing(Topology):
    numbers = Numbers.spec()
    fails = FailsTwo.spec(inputs=[numbers])


class Waiting(Bolt):
    """Lets something happen in the middle of a batch, and tells when a batch is committed."""

    meanwhile: ClassVar[list[Callable[[], object]]] = []
    committed: ClassVar[list[tuple[int, int]]] = []
    sum = 0

    def process(self, tup: Any) -> None:
        if self.meanwhile:
            self.meanwhile.pop()()
        self.sum += tup.values[0]

    def begin_batch(self, batch_id: int) -> None:
        self.batch = batch_id

    def end_batch(self) -> None:
        self.committed.append((self.batch, self.sum))


class Overtaken(Topology):
    numbers = Numbers.spec()
    waits = Waiting.spec(inputs=[numbers])


class PrintsEach(Bolt):
    """Says each number, and fails some batches at their ends."""

    failing: ClassVar[list[Exception]] = []

    def process(self, tup: Any) -> None:
        print(tup.values[0])

    def end_batch(self) -> None:
        if self.failing:
            raise self.failing.pop()


class PrintingEach(Topology):
    numbers = Numbers.spec()
    prints = PrintsEach.spec(inputs=[numbers])


class Prints(Bolt):
    """Prints the sum of each batch, and its close."""

    sum = 0

    def process(self, tup: Any) -> None:
        self.sum += tup.values[0]

    def end_batch(self) -> None:
        print(f"sum {self.sum}")

    def close(self) -> None:
        print(f"closed with {self.sum}")


class Printing(Topology):
    numbers = Numbers.spec()
    prints = Prints.spec(inputs=[numbers])


class Batches:
    """A host that runs both levels of a batch."""

    def __init__(self, path: Path, *, of_frame: bool, topology: type[Topology] = Failing) -> None:
        plan = compile_topology(topology_of(topology, None, None, {}))
        self.topology = plan.topology
        job = Job(plan.topology, 1, 1000, 0.2, echo=False)
        if of_frame:
            job = replace(job_of(plan, 1, driven=True, once=False), max_batch=1000, batch_secs=0.2)
        self.folder = CheckpointDir(str(path))
        self.log = io.StringIO()
        self.printed = Printed(self.log, job.echo)
        self.host = TaskHost(self.folder, job, plan, self.printed)

    def run(self, batch: int) -> list[dict[str, Any]]:
        """Reports of its two tasks."""
        self.host.run(0, 0, batch, iter(()))
        blocks = (data for _, _, data in self.folder.blocks(1, batch))
        self.host.run(1, 0, batch, blocks)
        return [self.folder.results(task, batch) for task in (1, 2)]


def test_a_batch_with_tuples_that_failed_is_not_acked(tmp_path: Path) -> None:
    acked.clear()
    batches = Batches(tmp_path, of_frame=False)
    spout, bolt = batches.run(0)
    assert (spout["emitted"], bolt["executed"], bolt["failed"]) == (3, 3, 1)
    spout, bolt = batches.run(1)
    assert (spout["acked"], spout["errors"], bolt["failed"]) == (0, 1, 0)
    assert "are not acked" in spout["statistics"]["last_error"]
    spout, _ = batches.run(2)
    assert (spout["acked"], spout["errors"]) == (3, 0)
    assert sorted(acked) == [4, 5, 6]


def test_batches_of_a_dataframe_that_nothing_asked_for_are_left_out(tmp_path: Path) -> None:
    batches = Batches(tmp_path, of_frame=True)
    assert batches.run(0)[1]["executed"] == batches.run(3)[1]["executed"] == EACH
    batches.run(4)
    Path(batches.folder.task_file(2, 4)).unlink()
    with pytest.raises(
        HeronError, match=r"batch 4 is incomplete: the batch failed, but the function of"
    ):
        batches.run(5)


def test_what_components_of_a_dataframe_print_is_in_the_log_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver of ours, to show the output, is absent."""
    batches = Batches(tmp_path, of_frame=True, topology=Printing)
    monkeypatch.setattr("sys.stdout", batches.printed)
    batches.run(0)
    batches.run(1)
    assert batches.log.getvalue() == "sum 6\nsum 21\n"


def test_a_state_that_is_missing_is_an_error_of_any_other_query(tmp_path: Path) -> None:
    batches = Batches(tmp_path, of_frame=False)
    batches.run(0)
    with pytest.raises(HeronError, match="after batch 2 is missing"):
        batches.run(3)


def test_an_attempt_that_another_one_overtakes_commits_nothing(tmp_path: Path) -> None:
    """A task hangs; Spark's speculative copy does the batch, or the batch and more, until the file
    is removed. Then the task wakes up, and is used again for the next batch."""
    slow, fast = (Batches(tmp_path, of_frame=False, topology=Overtaken) for _ in range(2))
    batch = 0
    for others in (1, BATCHES_KEPT + 1):
        Waiting.committed.clear()
        Waiting.meanwhile.append(partial(_run, fast, range(batch, batch + others)))
        slow.host.run(0, 0, batch, iter(()))
        blocks = [data for _, _, data in slow.folder.blocks(1, batch)]
        slow.host.run(1, 0, batch, iter(blocks))
        slow.run(batch + others)
        done = range(batch, batch + others + 1)
        assert Waiting.committed == [(each, sum_of(EACH * (each + 1))) for each in done]
        batch = done.stop


def test_each_line_is_shown_and_each_tuple_counted_once_however_often_a_batch_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark repeats the task of a failed batch, here, on another host, and once more although done:
    its worker died before the report."""
    one, other = (Batches(tmp_path, of_frame=False, topology=PrintingEach) for _ in range(2))
    one.run(0)
    metrics = QueryMetrics(one.topology, one_container(one.topology))
    for batch in (1, 2):
        for batches in (one, other, one):
            PrintsEach.failing.append(OSError("the sink is away"))
            monkeypatch.setattr("sys.stdout", batches.printed)
            with pytest.raises(OSError, match="the sink is away"):
                batches.run(batch)
        results = [one.run(batch), other.run(batch), one.run(batch)]
        assert results[0] == results[1] == results[2]
        numbers = range(EACH * batch + 1, EACH * (batch + 1) + 1)
        assert results[0][1]["printed"] == [f"prints[0] | {number}" for number in numbers]
        for each in results:
            metrics.record_batch(Progress(batch, 1.0, tuple(each)), 0.0)
    components = metrics.stats(None, 0.0).components
    assert components["prints"].executed == 2 * EACH


def test_what_a_copy_that_is_replaced_prints_as_it_closes_is_in_no_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host has another attempt's batch to go on from, and closes its own older copies."""
    one, other = (Batches(tmp_path, of_frame=False, topology=Printing) for _ in range(2))
    shown = []
    for batch, batches in enumerate((one, other, one, one)):
        monkeypatch.setattr("sys.stdout", batches.printed)
        shown += [line for results in batches.run(batch) for line in results["printed"]]
    one.host.close()
    assert shown == [f"prints[0] | sum {sum_of(EACH * batch)}" for batch in range(1, 5)]
    assert one.log.getvalue() == "closed with 6\nclosed with 78\n"
    assert other.log.getvalue() == ""


def sum_of(last: int) -> int:
    return last * (last + 1) // 2


def _run(batches: Batches, numbers: range) -> None:
    for each in numbers:
        batches.run(each)


def test_a_generator_that_a_new_process_begins_anew_is_told_in_the_numbers_of_the_run(
    tmp_path: Path,
) -> None:
    topology = topology_of(Unsaved, None, None, {})
    metrics = QueryMetrics(topology, one_container(topology))
    rows = []
    for batch in range(3):
        if batch != 1:  # the process of the third batch is a new one
            batches = Batches(tmp_path, of_frame=False, topology=Unsaved)
        results = batches.run(batch)
        metrics.record_batch(Progress(batch, 1.0, tuple(results)), float(batch))
        rows.append(metrics.stats(None, float(batch)).components["numbers"])
    assert [each.unsaved_attributes for each in rows] == [("lock", "numbers")] * 3
    assert [(each.unsaved, each.forgotten) for each in rows] == [(2, 0), (2, 0), (2, 1)]
    assert rows[-1].forgotten_by_attribute == {"numbers": 1}
    assert "numbers of numbers[0] could not be saved" in str(rows[-1].last_error)
