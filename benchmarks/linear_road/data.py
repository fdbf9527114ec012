"""The files of a run: lines of input as the benchmark has them, the table of history, the truth."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.linear_road.generator import Settings, history, records
from benchmarks.linear_road.records import (
    BalanceQuery,
    ExpenditureQuery,
    History,
    Position,
    Record,
)
from benchmarks.linear_road.source import expressway_file
from heron_core.records import replace

HISTORY_FILE = "history.db"


def expressway_records(settings: Settings, expressway: int) -> list[Record]:
    """Traffic of one of several expressways: with a separate seed and separate numbers."""
    seed, opens = settings.seed * 1_000 + expressway, settings.opens_every_secs * expressway
    own = replace(settings, expressways=1, seed=seed, seconds=settings.seconds - opens)
    return [_numbered(each, expressway, settings.expressways, opens) for each in records(own)]


def _numbered(record: Record, expressway: int, step: int, opens: int) -> Record:
    vehicle, time = record.vehicle * step + expressway, record.time + opens
    own = record._replace(vehicle=vehicle, time=time)
    if isinstance(own, Position):
        return own._replace(expressway=expressway)
    own = own._replace(query=own.query * step + expressway)
    return own._replace(expressway=expressway) if isinstance(own, ExpenditureQuery) else own


def line_of(record: Record) -> str:
    """The 15 numbers of the benchmark: type, time, vehicle, speed, expressway, lane, direction,
    segment, feet, query, two segments, two numbers of a day and a time, day; -1 for an absent
    field."""
    match record:
        case Position():
            return f"0,{','.join(map(str, record))},-1,-1,-1,-1,-1,-1"
        case BalanceQuery(time, vehicle, query):
            return f"2,{time},{vehicle},-1,-1,-1,-1,-1,-1,{query},-1,-1,-1,-1,-1"
        case ExpenditureQuery(time, vehicle, expressway, query, day):
            return f"3,{time},{vehicle},-1,{expressway},-1,-1,-1,-1,{query},-1,-1,-1,-1,{day}"


def write(folder: Path, settings: Settings) -> int:
    """All input of a run; returns how many position reports it has."""
    reports = 0
    with sqlite3.connect(folder / HISTORY_FILE) as table:
        table.execute("CREATE TABLE history (vehicle, day, expressway, toll)")
        for expressway in range(settings.expressways):
            given = expressway_records(settings, expressway)
            reports += sum(isinstance(each, Position) for each in given)
            text = "".join(f"{line_of(each)}\n" for each in given)
            Path(expressway_file(str(folder), expressway)).write_text(text)
            table.executemany("INSERT INTO history VALUES (?, ?, ?, ?)", _rows(settings, given))
        table.execute("CREATE INDEX days ON history (vehicle, day, expressway)")
    table.close()
    return reports


def reports_in(folder: Path, settings: Settings) -> int:
    """How many position reports the files have of its expressways and seconds."""
    files = [Path(expressway_file(str(folder), each)) for each in range(settings.expressways)]
    kinds_and_times = (
        line.split(",", 2)[:2] for path in files for line in path.read_text().splitlines()
    )
    return sum(kind == "0" and int(time) < settings.seconds for kind, time in kinds_and_times)


def history_of(settings: Settings, given: Iterable[Record]) -> History:
    """History of the cars that query their history: more rows would never be read."""
    asking = [each for each in given if isinstance(each, ExpenditureQuery)]
    found: History = {}
    for each in asking:
        own = history(replace(settings, expressways=1, seed=settings.seed + each.vehicle), 1)
        found |= {(each.vehicle, day, each.expressway): toll for (_, day, _), toll in own.items()}
    return found


def _rows(settings: Settings, given: Iterable[Record]) -> Iterator[tuple[int, int, int, int]]:
    for key, toll in history_of(settings, given).items():
        yield (*key, toll)
