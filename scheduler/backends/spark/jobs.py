"""The jobs of one application: one of all containers at its start, one more for added containers.

A job has one long task for each of its containers. Spark starts a task that fails again; a job ends
when all its tasks have, or when Spark aborts one.
"""

import logging
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from heron_core.records import replace
from heron_engine.scheduler.backends.spark import container_task
from heron_engine.scheduler.backends.spark.session import (
    failures,
    lost_executors,
    reason_of,
    text_of,
)
from heron_engine.scheduler.backends.spark.slots import RegistrationWait
from heron_io.waker import Waker

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger("spark")

START_FAILURES = 4
"""Failed tasks, or executors that have ended, while not every container has been there once: then
it is the place that is wrong. Spark itself aborts after as many."""


class ThreadJob:
    """One job in its thread."""

    def __init__(
        self,
        context: "SparkContext",
        containers: Iterable[int],
        task_spec: container_task.TaskSpec,
        is_barrier: bool,
        group: str,
        waker: Waker,
        registering: RegistrationWait | None,
    ) -> None:
        self.group = group
        self.registering = registering
        """Of added containers: watches executors come for them."""
        self.problem: str | None = None
        self.containers = set(containers)
        """Those that have not ended for good."""
        self.unseen = set(self.containers)
        """Those that have not been there yet."""
        self._context = context
        self._began = time.monotonic()
        numbers = sorted(self.containers)

        def run() -> None:
            try:
                context.setJobGroup(group, "one task per container", True)
                rdd = context.parallelize(numbers, len(numbers))
                task = partial(container_task.run, task_spec)
                (
                    rdd.barrier().mapPartitions(task) if is_barrier else rdd.mapPartitions(task)
                ).collect()
            except Exception as error:
                self.problem = reason_of(text_of(error))
            finally:
                waker.wake()

        self._thread = threading.Thread(target=run, name=group, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    @property
    def ran_secs(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def start_problem(self) -> str | None:
        """Why its containers do not start, once that is clear."""
        if not self.unseen:
            return None
        try:
            number, reason = failures(self._context, self.group)
        except Exception as error:  # the JVM is gone: the job will end as well
            log.info("the failures cannot be counted: %s", text_of(error))
            return None
        if number >= START_FAILURES:
            return f"containers do not start on Spark's executors: {reason or 'see spark.log'}"
        number, reason = lost_executors(self._context)
        if number >= START_FAILURES:
            return f"Spark's executors ended before all containers had started: {reason}"
        return None

    def cancel(self) -> None:
        """End it, whatever its tasks do."""
        with suppress(Exception):  # the JVM is gone, and the job with it
            self._context.cancelJobGroup(self.group)


class Jobs(Struct):
    """All jobs of an application."""

    context: "SparkContext"
    task_spec: container_task.TaskSpec
    is_barrier: bool
    name: str
    waker: Waker
    _jobs: list[ThreadJob] = field(default_factory=list)
    _started: int = 0

    def start(self, containers: Iterable[int], registering: RegistrationWait | None = None) -> None:
        """A job of these containers; `registering` if they are added to others."""
        self._started += 1
        group = f"heron: {self.name}, job {self._started}"
        task_spec = self.task_spec
        if registering is not None:
            task_spec = replace(task_spec, first=False)
        job = ThreadJob(
            self.context, containers, task_spec, self.is_barrier, group, self.waker, registering
        )
        self._jobs.append(job)

    @property
    def containers(self) -> frozenset[int]:
        """Those that run, or are started again by Spark."""
        return frozenset(number for each in self._jobs for number in each.containers)

    @property
    def alive(self) -> list[ThreadJob]:
        """Jobs that run."""
        return [each for each in self._jobs if each.alive]

    @property
    def starting(self) -> list[ThreadJob]:
        """Jobs some of whose containers have never been there."""
        return [each for each in self._jobs if each.unseen]

    def seen(self, container: int) -> None:
        """A container is there."""
        for each in self._jobs:
            each.unseen.discard(container)

    def over(self, container: int) -> None:
        """A container has ended because it was asked to."""
        for each in self._jobs:
            each.containers.discard(container)
            each.unseen.discard(container)

    def lost(self) -> ThreadJob | None:
        """A job that Spark has aborted; it is forgotten, and so are those that have ended because
        all their containers did."""
        ended = [each for each in self._jobs if not each.alive]
        self._jobs = [each for each in self._jobs if each not in ended]
        return next((each for each in ended if each.problem is not None), None)

    def drop(self, job: ThreadJob) -> None:
        """Cancel a job and forget it."""
        job.cancel()
        self._jobs.remove(job)
