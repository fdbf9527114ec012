"""Jobs of one application: one for the initial containers, one per addition of containers.

A job has one long task for each of its containers. Spark restarts failed tasks; a job ends when
all its tasks have ended, or when Spark aborts a task.
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
"""Limit of failed tasks or ended executors before every container has started once: the location
is then unsuitable. Spark itself aborts at an equal limit."""


class ThreadJob:
    """A job in a thread."""

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
        """Containers not permanently ended."""
        self.unseen = set(self.containers)
        """Containers never started so far."""
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
        """Whether the job is running."""
        return self._thread.is_alive()

    @property
    def ran_secs(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def start_problem(self) -> str | None:
        """Reason why its containers do not start, once known."""
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
        """End the job, regardless of its tasks."""
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
        """A job of the containers; `registering` for an addition."""
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
        """Containers running, or being restarted by Spark."""
        return frozenset(number for each in self._jobs for number in each.containers)

    @property
    def alive(self) -> list[ThreadJob]:
        """Running jobs."""
        return [each for each in self._jobs if each.alive]

    @property
    def starting(self) -> list[ThreadJob]:
        """Jobs some of whose containers have never been there."""
        return [each for each in self._jobs if each.unseen]

    def seen(self, container: int) -> None:
        """A container has started."""
        for each in self._jobs:
            each.unseen.discard(container)

    def over(self, container: int) -> None:
        """A container has ended on request."""
        for each in self._jobs:
            each.containers.discard(container)
            each.unseen.discard(container)

    def lost(self) -> ThreadJob | None:
        """Remove and return a job aborted by Spark; jobs finished with all their containers are
        removed as well."""
        ended = [each for each in self._jobs if not each.alive]
        self._jobs = [each for each in self._jobs if each not in ended]
        return next((each for each in ended if each.problem is not None), None)

    def drop(self, job: ThreadJob) -> None:
        """Cancel a job and forget it."""
        job.cancel()
        self._jobs.remove(job)
