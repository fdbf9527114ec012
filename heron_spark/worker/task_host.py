"""Process of the tasks of one partition, from batch to batch.

Spark's own Python workers come and go, and any worker may get any partition. A component inside a
worker would be restored from its file in every other batch, and would lose unpicklable attributes
(a generator, a connection) each time. So a worker passes its input to the host of its partition,
started on demand (python_worker.py), and the host does the work.

A host ends with the run, with its parent, Spark's Python daemon, or when a call of a killed attempt
blocks another attempt (abandoned_calls.py).
"""

import json
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from heron_api.incarnation import Incarnation
from heron_api.user_errors import format_error
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.records import replace
from heron_core.wire.frames import Frames, destination_of
from heron_core.wire.packets import watermark_of
from heron_io.imports import put_on_search_path
from heron_io.logs import log_text_to
from heron_io.processes import started_at
from heron_spark.batch_log.blocks import GREETING, NUMBER, messages
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile import main_classes
from heron_spark.compile.plan import QueryPlan, compile_topology
from heron_spark.worker.abandoned_calls import Attendance
from heron_spark.worker.passed_watermarks import is_watermark
from heron_spark.worker.printing import Printed, install
from heron_spark.worker.rate_controller import RateController, worked_secs
from heron_spark.worker.row_blocks import hand_over
from heron_spark.worker.runner import TaskRunner
from heron_spark.worker.spouts import drive
from heronpy_compat import aliases

log = logging.getLogger("heron_spark")

POLL_SECS = 0.2
"""How often a host looks whether it is still needed."""
SHUTDOWN_SECS = 5.0
"""How long user code that runs then may go on."""
RECEIVE_BYTES = 1 << 20
ONCE_IDLE_SECS = 30.0
"""Idle limit for a static DataFrame, whose end is not announced."""


class TaskHost:
    """The tasks of one partition of each level."""

    def __init__(self, folder: CheckpointDir, job: Job, plan: QueryPlan, printed: Printed) -> None:
        self._folder = folder
        self._plan = plan
        self._slots = job.slots
        self._printed = printed
        self._incarnation = Incarnation(folder.name(), repeats_batches=True)
        self._records = folder.records(plan.topology.name)
        self._partition_of = plan.partition_of(job.slots)
        self._live: dict[int, TaskRunner] = {}
        self._controller = RateController(job.max_batch // len(plan.spout_tasks), job.batch_secs)
        self._busy_secs = job.batch_secs / 2
        self._of_frame, self._once = job.of_frame, job.once
        self._fed = set() if job.driven else set(plan.spout_tasks)
        """Spout tasks that emit only rows read by Spark."""

    def run(self, level: int, partition: int, batch: int, blocks: Iterator[bytes]) -> list[int]:
        """Run one batch of a partition of a level; returns its tasks, whose files then exist."""
        tasks = self._plan.tasks_at(level, partition, self._slots)
        missing = [task for task in tasks if not self._folder.has(task, batch)]
        if not missing:
            return list(tasks)
        before = self._before(self._plan.level_of if level == 0 else missing, batch)
        runners = {task: self._runner(task, before) for task in missing}
        for task in missing:
            del self._live[task]  # whatever happens in between: this copy is no good then
        try:
            self._run(level, batch, before, runners, blocks)
        finally:
            for task, runner in runners.items():
                if task not in self._live:
                    runner.close()
        return list(tasks)

    def _run(
        self,
        level: int,
        batch: int,
        before: int,
        runners: dict[int, TaskRunner],
        blocks: Iterator[bytes],
    ) -> None:
        results = self._results(before) if level == 0 else []
        abandoning = {result["component"] for result in results if result.get("failed")}
        for runner in runners.values():
            runner.begin(batch, abandoning)
        if level == 0:
            self._emit(batch, results, runners, blocks)
        else:
            self._deliver(runners, blocks)
        ending = self._folder.ending()
        for task, runner in runners.items():
            if self._folder.is_past(task, batch):
                # The sinks would repeat the other attempt's writes, perhaps much later.
                log.info("%s: another attempt has done batch %d meanwhile", runner.label, batch)
                continue
            outcome = runner.end(batch, ending == batch)
            outcome = replace(outcome, results={**outcome.results, "slots": self._slots})
            if self._folder.keep(task, batch, outcome):
                self._live[task] = runner

    def _before(self, tasks: Iterable[int], batch: int) -> int:
        """The batch with the initial states, -1 without one.

        The previous batch, except for a DataFrame: a function of foreachBatch may ignore a batch,
        whose rows then reach no component. HeronError if the tasks have done different batches.
        """
        has = self._folder.has
        if not self._of_frame or batch == 0 or all(has(task, batch - 1) for task in tasks):
            return batch - 1
        newest = {self._folder.newest_before(task, batch) for task in self._plan.level_of}
        if len(newest) > 1:
            raise HeronError(
                f"batch {max(newest)} is incomplete: the batch failed, but the function of "
                "foreachBatch swallowed the error; let errors propagate, and start again with "
                "another checkpointLocation (or the folder is not the same on every machine)"
            )
        (before,) = newest
        log.warning(
            "the rows of batches %d to %d were not requested: components have not processed them",
            before + 1,
            batch - 1,
        )
        return before

    def _results(self, batch: int) -> list[dict[str, Any]]:
        """Results of all tasks for a finished batch; empty for -1."""
        tasks = self._plan.level_of if batch >= 0 else ()
        return [self._folder.results(task, batch) for task in tasks]

    def _emit(
        self,
        batch: int,
        before: list[dict[str, Any]],
        runners: dict[int, TaskRunner],
        blocks: Iterator[bytes],
    ) -> None:
        if self._of_frame:
            self._decide_end(batch, before)
        self._controller.begin(worked_secs(before, self._plan.level_of) if before else 0.0)
        fed = hand_over(runners, blocks)
        waiting = [each for task, each in runners.items() if task not in fed | self._fed]
        drive(waiting, self._controller, time.monotonic, time.sleep, self._busy_secs)

    def _deliver(self, runners: dict[int, TaskRunner], blocks: Iterator[bytes]) -> None:
        watermarks: list[tuple[TaskRunner, Frames]] = []
        for block in blocks:
            for frames in messages(block):
                runner = runners.get(destination_of(frames))
                if runner is None:  # its batch was done by an attempt before this one
                    continue
                if is_watermark(frames):
                    watermarks.append((runner, frames))
                else:
                    runner.deliver(frames)
        # The end of one source must not hide the progress of others.
        for runner, frames in sorted(watermarks, key=lambda watermark: watermark_of(watermark[1])):
            runner.deliver(frames)

    def _decide_end(self, batch: int, before: list[dict[str, Any]]) -> None:
        """Note the last batch: the only batch of a static frame, otherwise the batch after the end
        of all spouts. Each host of level 0 decides alike, before any bolt runs.
        """
        if self._folder.ending() is not None:
            return
        spouts = [each for each in before if each["spout"]]
        if self._once or (spouts and all(each["finished"] for each in spouts)):
            self._folder.end_with(batch)

    def _runner(self, task: int, before: int) -> TaskRunner:
        """The task as it was after batch `before`."""
        runner = self._live.get(task)
        if runner is None or runner.batch != before:
            if runner is not None:
                runner.close()
            runner = TaskRunner(
                self._plan,
                task,
                self._partition_of,
                self._printed,
                self._incarnation,
                self._records,
            )
            if before >= 0:
                runner.restore(before, self._folder.state(task, before))
            self._live[task] = runner
        return runner

    def close(self) -> None:
        """The run is over."""
        for runner in self._live.values():
            runner.close()


def serve(
    host: TaskHost,
    listening: socket.socket,
    attendance: Attendance,
    over: threading.Event,
    idle_secs: float = math.inf,
) -> None:
    """Answer workers, one at a time, until the run is over or `idle_secs` pass without a worker."""
    listening.settimeout(POLL_SECS)
    asked = time.monotonic()
    while not over.is_set() and time.monotonic() - asked < idle_secs:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        with connection, attendance.answering(connection):
            connection.settimeout(None)
            try:
                connection.sendall(GREETING)
                _answer(host, connection)
            except OSError as error:
                log.info("a worker went away: %s", error)
        asked = time.monotonic()


def _answer(host: TaskHost, connection: socket.socket) -> None:
    """One batch: {level, partition, batch}, blocks, an empty block; {tasks} or {error} back."""
    file = connection.makefile("rb", RECEIVE_BYTES)
    asked = json.loads(_block(file))
    blocks = _blocks(file)
    answer: dict[str, Any]
    try:
        answer = {"tasks": host.run(asked["level"], asked["partition"], asked["batch"], blocks)}
    except ConnectionError:
        raise
    except HeronError as error:
        answer = {"error": str(error)}
    except (Exception, SystemExit) as error:  # user code may call sys.exit anywhere
        log.exception("batch %d fails", asked["batch"])
        answer = {"error": format_error(error)}
    for _ in blocks:  # the worker says everything before it listens
        pass
    data = json.dumps(answer).encode()
    connection.sendall(NUMBER.pack(len(data)) + data)


def _blocks(file: Any) -> Iterator[bytes]:
    while block := _block(file):
        yield block


def _block(file: Any) -> bytes:
    head = file.read(NUMBER.size)
    size = NUMBER.unpack(head)[0] if len(head) == NUMBER.size else 1
    block: bytes = file.read(size)
    if len(block) < size:
        raise ConnectionResetError("the worker ended in the middle of a batch")
    return block


def watch(
    folder: CheckpointDir, run: str, parent: int, attendance: Attendance, over: threading.Event
) -> None:
    """In a thread: signal the end of the host's use, and end the process if the main thread does
    not react, or blocks a waiting worker.
    """
    begun = started_at(parent)
    pause = threading.Event()
    while started_at(parent) == begun is not None and os.path.exists(folder.run_file(run)):
        pause.wait(POLL_SECS)
        attendance.poll(time.monotonic())
    over.set()
    pause.wait(SHUTDOWN_SECS)
    os._exit(ExitCode.ORPHANED)


def main(arguments: list[str]) -> int:
    """Serve at a socket: checkpoint folder, run, socket's path, pid of the parent."""
    path, run, address, parent = arguments
    folder, over = CheckpointDir(path), threading.Event()
    try:
        job = Job.read(folder, run)
    except OSError:
        return ExitCode.ORPHANED  # the run is over already
    level = logging.DEBUG if _debug(job) else logging.INFO
    log_text_to(logging.StreamHandler(), level, "%(asctime)s %(levelname)s %(name)s %(message)s")
    listening = socket.socket(socket.AF_UNIX)
    attendance = Attendance(listening)
    watched = (folder, run, int(parent), attendance, over)
    threading.Thread(target=watch, args=watched, daemon=True).start()
    os.environ.update(keys.environment(job.topology.config))
    aliases.install()
    put_on_search_path(job.topology.search_paths)
    main_classes.install(job.classes)
    host = TaskHost(folder, job, compile_topology(job.topology), install(job.echo))
    with listening:
        listening.bind(address)
        listening.listen()
        serve(host, listening, attendance, over, ONCE_IDLE_SECS if job.once else math.inf)
    host.close()
    _remove(address)
    sys.stdout.flush()
    os._exit(0)  # threads of user code do not hold it up


def _remove(address: str) -> None:
    """The socket, its lock, and their folder after the last host."""
    try:
        os.unlink(address)
        os.unlink(f"{address}.lock")
        os.rmdir(os.path.dirname(address))
    except OSError:  # other hosts still have theirs there, or the driver was faster
        pass


def _debug(job: Job) -> bool:
    return keys.flag(keys.with_defaults(job.topology.config), keys.DEBUG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
