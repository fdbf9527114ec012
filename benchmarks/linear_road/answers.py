"""What the topology has written: compared with the truth, and how late it was."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.linear_road.data import expressway_records, history_of
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.oracle import Truth, truth
from benchmarks.linear_road.records import Alert, Toll
from benchmarks.measure import BenchmarkError


@dataclass(frozen=True, slots=True)
class Answer:
    """One line: what it is an answer to, when it was due and when written, and what it says."""

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


def check(settings: Settings, folder: Path) -> dict[str, int]:
    """How many answers of each kind there are; BenchmarkError unless they are those of the oracle,
    each once."""
    found = list(read(folder))
    wanted = [_truth(settings, each) for each in range(settings.expressways)]
    tolls = {each for one in wanted for each in one.tolls}
    alerts = {each for one in wanted for each in one.alerts}
    expenditures = {item for one in wanted for item in one.expenditures.items()}
    balances = {query: right for one in wanted for query, right in one.balances.items()}
    given = [each for each in found if each.kind == 2]
    _same("tolls", [Toll(a.vehicle, a.time, *a.values) for a in found if a.kind == 0], tolls)
    _same("alerts", [Alert(a.vehicle, a.time, *a.values) for a in found if a.kind == 1], alerts)
    _same("expenditures", [a.values for a in found if a.kind == 3], expenditures)
    _same("balances", [each.values[0] for each in given], set(balances))
    wrong = [each for each in given if each.values[1] not in balances[each.values[0]]]
    if wrong:
        raise BenchmarkError(f"{len(wrong)} balances are wrong, such as {wrong[0]}")
    return {
        "tolls": len(tolls),
        "tolls above 0": sum(each.toll > 0 for each in tolls),
        "alerts": len(alerts),
        "balances": len(balances),
        "balances above 0": sum(each.values[1] > 0 for each in given),
        "expenditures": len(expenditures),
    }


def _truth(settings: Settings, expressway: int) -> Truth:
    given = expressway_records(settings, expressway)
    return truth(given, history_of(settings, given))


def _same(what: str, found: list[object], wanted: set[object]) -> None:
    missing = wanted - set(found)
    extra = Counter(found) - Counter(wanted)
    if missing or extra:
        raise BenchmarkError(
            f"{what}: {len(missing)} of {len(wanted)} are missing, such as"
            f" {sorted(missing, key=str)[:1]}; {extra.total()} are wrong or there twice, such as"
            f" {sorted(extra, key=str)[:1]}"
        )
