"""Counts of instances at a completed checkpoint, for numbers that a restore undoes.

A tuple abandoned after the checkpoint is replayed by a restore, and may succeed: then it has not
failed. A living instance corrects its own count. For an ended process the count at the newest
completed checkpoint is valid, regardless of later reports:

    number = ended processes, at the checkpoint + process of the checkpoint + present process
             (ended)                              (processes; its report, if it lives)

Pure. A master that takes over reads the counts from the state store, with the checkpoint.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from heron_core.instance_report import HISTORY, InstanceReport

Numbers = Mapping[str, float]
METRIC = "metric "
"""Prefix of metrics of user code, to separate their names from the names of HISTORY."""


def numbers_of(counted: Mapping[str, float], tuple_counts: Mapping[str, float]) -> dict[str, float]:
    """Both counts in one mapping, without zeros: `counted` by names of HISTORY, and the metrics of
    user code on tuples.
    """
    metrics = {f"{METRIC}{name}": number for name, number in tuple_counts.items()}
    return {name: number for name, number in {**counted, **metrics}.items() if number}


class ProcessCounts(Struct, frozen=True):
    """Counts of one process at its checkpoint."""

    task: int
    component: str
    incarnation: int
    numbers: Numbers


class CoveredCounts(Struct, frozen=True):
    """Counts of all instances covered by a checkpoint."""

    ended: Mapping[str, Numbers] = field(default_factory=dict)
    """component -> sums over processes that had ended."""
    processes: tuple[ProcessCounts, ...] = ()
    """Processes in the checkpoint, without processes with zero counts."""

    def followed_by(self, processes: Iterable[ProcessCounts]) -> "CoveredCounts":
        """The counts of the next checkpoint, with the states of `processes`."""
        newest = tuple(processes)
        alive = {(each.task, each.incarnation) for each in newest}
        ended = {component: dict(numbers) for component, numbers in self.ended.items()}
        for each in self.processes:
            if (each.task, each.incarnation) not in alive:
                _add(ended.setdefault(each.component, {}), each.numbers)
        return CoveredCounts(ended, newest)

    def now(self, component: str, newest: Mapping[int, InstanceReport]) -> dict[str, float]:
        """The numbers of a component; `newest`: the newest reports of its tasks."""
        sums = dict.fromkeys(HISTORY, 0.0)
        _add(sums, self.ended.get(component, {}))
        reported = {task: _reported(each) for task, each in newest.items()}
        for process in self.processes:
            if process.component == component:
                report = newest.get(process.task)
                if report is not None and report.incarnation == process.incarnation:
                    own = reported[process.task]
                    for name, number in process.numbers.items():  # its report may be older
                        own[name] = max(number, own.get(name, 0))
                else:
                    _add(sums, process.numbers)
        for numbers in reported.values():
            _add(sums, numbers)
        return sums


def _reported(report: InstanceReport) -> dict[str, float]:
    counted = {name: getattr(report, name) for name in HISTORY}
    metrics = {f"{METRIC}{name}": number for name, number in report.tuple_counts.items()}
    return {**counted, **metrics}


def _add(sums: dict[str, float], numbers: Numbers) -> None:
    for name, number in numbers.items():
        sums[name] = sums.get(name, 0) + number
