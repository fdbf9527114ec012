"""The tables of docs/CONNECTORS.md that are made from these trials: cells by table, row, column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.connectors.samples import SAMPLES
from tests.connectors.sink_trials import SCHEMA_CHANGES
from tests.connectors.sinks import SINKS
from tests.connectors.sources import SOURCES

PAGE = Path(__file__).parents[2] / "docs" / "CONNECTORS.md"
BEGIN = "<!-- Made from the conformance tests by `python -m tests.connectors`: do not edit. -->\n"
END = "<!-- Until here. -->\n"
REMAKE = f"docs/{PAGE.name} says otherwise: if the change is meant, run python -m tests.connectors"
NULLS, ZONES = "no value first", "other time zones"
BAD_ROW = "a bad row among 100"
NO_FOLDER, NO_FOLDER_NOW = "unwritable at the start", "unwritable for a while"
KILLED, ON_SPARK = "killed", "killed, `--engine spark`"
CHANGED = "**changed**"
Column = Mapping[str, str]
"""Row -> cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]


TYPES_OUT = Table(
    "a sink's reader finds",
    tuple(each.name for each in SINKS),
    tuple(each.name for each in SAMPLES),
)
FRAMES = {kind: f"FrameSpout ({kind})" for kind in ("parquet", "json", "csv")}
"""What a real Spark reads: tests/spark/frame_conformance.py tries it."""
FRAMES_NOTE = (
    "- FrameSpout, kills and time zones: without Spark it is a TableSpout; with Spark"
    " tests/spark/test_tables_spark.py and test_time_zones.py try them. Kafka, Delta and others are"
    " read by Spark's own connectors.\n"
)
TYPES_IN = Table(
    "a source emits",
    (*(each.name for each in SOURCES), *FRAMES.values()),
    tuple(each.name for each in SAMPLES),
)
TRIALS_OUT = Table(
    "a sink",
    TYPES_OUT.columns,
    (NULLS, ZONES, *SCHEMA_CHANGES, BAD_ROW, NO_FOLDER, NO_FOLDER_NOW, KILLED, ON_SPARK),
)
TRIALS_IN = Table("a source", tuple(each.name for each in SOURCES), (ZONES, KILLED, ON_SPARK))
TABLES = (TYPES_OUT, TYPES_IN, TRIALS_OUT, TRIALS_IN)


def rendered(table: Table, columns: Mapping[str, Column]) -> str:
    """As Markdown."""
    return "".join(f"| {' | '.join(line)} |\n" for line in _lines(table, columns))


def _lines(table: Table, columns: Mapping[str, Column]) -> Iterator[Sequence[str]]:
    yield table.title, *table.columns
    yield ("---",) * (1 + len(table.columns))
    for row in table.rows:
        yield row, *(columns[name][row] for name in table.columns)


def columns_on_page(table: Table, text: str) -> dict[str, dict[str, str]]:
    """What the page says."""
    lines = [
        [each.strip() for each in line.strip("|").split("|")]
        for line in text.partition(BEGIN)[2].partition(END)[0].splitlines()
        if line.startswith("|")
    ]
    start = next(at for at, line in enumerate(lines) if line[0] == table.title)
    body = lines[start + 2 : start + 2 + len(table.rows)]
    return {
        name: {line[0]: line[at] for line in body}
        for at, name in enumerate(lines[start][1:], start=1)
    }


def notes() -> Iterator[str]:
    """What connectors cannot do, and why."""
    for entry in (*SINKS, *SOURCES):
        for what, why in entry.cannot.items():
            yield f"- {entry.name}, {what}: {why}.\n"
    yield FRAMES_NOTE


def section(tables: Iterable[str]) -> str:
    """What stands between the marks."""
    return "\n".join(["", *tables, "".join(notes())])
