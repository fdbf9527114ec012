"""Output of the topology: comparison with the truth, and lateness."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.linear_road.data import expressway_records, history_of
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.oracle import Truth, truth
from benchmarks.measure import BenchmarkError


@dataclass(frozen=True, slots=True)
class Answer:
    """One line: the query or notification, due time and time of writing, and the answer."""

    kind: int
    """0 toll, 1 alert, 2 balance, 3 daily expenditure"""
    time: int
    written: float
    """Seconds of the road."""
    vehicle: int
    values: tuple[int, ...]


def read(folder: Path) -> Iterator[Answer]:
    """All answers of all files."""
    for path in folder.glob("part-*"):
        for line in path.read_text().splitlines():
            kind, time, written, vehicle, *values = line.split(",")
            numbers = tuple(map(int, values))
            yield Answer(int(kind), int(time), float(written), int(vehicle), numbers)


KINDS = ("tolls", "alerts", "balances", "expenditures")
TOLL, ALERT, BALANCE, EXPENDITURE = range(len(KINDS))


def check(settings: Settings, folder: Path) -> dict[str, int]:
    """Number of answers of each kind; BenchmarkError unless the answers equal the oracle's, each
    once. The check reads the answers one by one: three hours have nine million."""
    truths = [_truth(settings, each) for each in range(settings.expressways)]
    wanted: list[set[Any]] = [
        {each for one in truths for each in one.tolls},
        {each for one in truths for each in one.alerts},
        {query for one in truths for query in one.balances},
        {item for one in truths for item in one.expenditures.items()},
    ]
    balances = {query: right for one in truths for query, right in one.balances.items()}
    seen: list[set[Any]] = [set() for _ in KINDS]
    extra: list[list[Answer]] = [[] for _ in KINDS]
    charged = 0
    for each in read(folder):
        what = _what(each)
        is_right = what in wanted[each.kind] and what not in seen[each.kind]
        if is_right and each.kind == BALANCE:
            is_right = each.values[1] in balances[what]
        if not is_right:
            extra[each.kind].append(each)
        seen[each.kind].add(what)
        charged += each.kind == BALANCE and each.values[1] > 0
    for kind, name in enumerate(KINDS):
        _check_kind(name, wanted[kind], wanted[kind] - seen[kind], extra[kind])
    return {
        **{name: len(each) for name, each in zip(KINDS, wanted, strict=True)},
        "tolls above 0": sum(each.toll > 0 for each in wanted[TOLL]),
        "balances above 0": charged,
    }


def _what(answer: Answer) -> Any:
    """Identity of an answer for the oracle; for a balance the query."""
    if answer.kind == BALANCE:
        return answer.values[0]
    if answer.kind == EXPENDITURE:
        return answer.values
    return (answer.vehicle, answer.time, *answer.values)


def _truth(settings: Settings, expressway: int) -> Truth:
    given = expressway_records(settings, expressway)
    return truth(given, history_of(settings, given))


def _check_kind(what: str, wanted: set[Any], missing: set[Any], extra: list[Answer]) -> None:
    if missing or extra:
        raise BenchmarkError(
            f"{what}: {len(missing)} of {len(wanted)} are missing, such as"
            f" {sorted(missing, key=str)[:1]}; {len(extra)} are wrong or there twice, such as"
            f" {extra[:1]}"
        )
