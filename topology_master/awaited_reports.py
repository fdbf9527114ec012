"""Instances with an overdue report: the first report of a process, or reports of queued work. Pure.

*Starting instances* are not down. The master expects a process once the plan has its task, or once
the process has registered in place of an ended process. `initialize` of user code may load a model,
so the first report may be a minute late. After a takeover the master has no report of any instance:
the expectation begins with the registration of the stream manager.

*Stopped processes*: a process with queued tuples reports each second, also in a long call of user
code. A process that is stopped (SIGSTOP) or has no core does not report; its queue grows like the
queue of a slow bolt.
"""

from collections.abc import Iterable, Mapping, Set


class FirstReports:
    """Tasks without a report of their present process."""

    def __init__(self) -> None:
        self._expected_at: dict[int, float] = {}
        self._reported: set[int] = set()

    def expected(self, tasks: Iterable[int], now: float) -> None:
        """New processes serve these tasks from now on."""
        self._expected_at.update(dict.fromkeys(tasks, now))

    def heard_of(self, task: int) -> None:
        """A report."""
        self._reported.add(task)
        self._expected_at.pop(task, None)

    def has_reported(self, task: int) -> bool:
        """Whether the present process has."""
        return task in self._reported and task not in self._expected_at

    def keep(self, tasks: Set[int]) -> None:
        """Drop all other tasks."""
        self._reported &= tasks
        self._expected_at = {task: at for task, at in self._expected_at.items() if task in tasks}

    def missing(self, since: Mapping[int, float], now: float) -> dict[int, float]:
        """Task -> seconds without a first report; `since`: the candidate tasks, with the
        registration time of their stream manager."""
        awaited = {
            task: self._expected_at.get(task, registered_at)
            for task, registered_at in since.items()
            if task in self._expected_at or task not in self._reported
        }
        return {task: now - at for task, at in awaited.items()}


class OverdueReports:
    """Tasks with queued tuples and without a report since."""

    def __init__(self) -> None:
        self._waiting_since: dict[int, float] = {}

    def queues(self, waiting: Mapping[int, int], now: float) -> None:
        """Task -> queued and delivered tuples, of one container."""
        for task, tuples in waiting.items():
            if tuples:
                self._waiting_since.setdefault(task, now)
            else:
                self._waiting_since.pop(task, None)

    def heard_of(self, task: int) -> None:
        """A report has come."""
        self._waiting_since.pop(task, None)

    def keep(self, tasks: Set[int]) -> None:
        """Drop all other tasks."""
        self._waiting_since = {
            task: since for task, since in self._waiting_since.items() if task in tasks
        }

    def secs(self, report_secs: float, now: float) -> dict[int, float]:
        """Task -> seconds of queued tuples without a report, if above `report_secs`, the interval
        of reports."""
        return {
            task: now - since
            for task, since in self._waiting_since.items()
            if now - since > report_secs
        }
