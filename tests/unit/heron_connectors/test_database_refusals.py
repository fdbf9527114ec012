"""A row that only the database can refuse costs itself, through kills and in every mode."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_connectors.database.refusals import (
    PROBLEM_CHARACTERS,
    SUSPECTS_MAX,
    Apart,
    Cause,
    NotOfRows,
    cause_of,
)
from heron_connectors.database.sink import DatabaseSink
from heron_connectors.letters.folder import letters
from heron_connectors.letters.records import values_of
from heron_core import config as keys
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import SPARK, Ended, SparkRun, classes, given, natively, sinking

MODES = (keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, keys.ATMOST_ONCE)
TABLE = """
    CREATE TABLE rows (id INTEGER UNIQUE, value CHECK (value <> 'bad'));
    CREATE TRIGGER never BEFORE INSERT ON rows WHEN NEW.value = 'never'
    BEGIN SELECT RAISE({how}, 'never'); END;
"""
ROWS = [[1, "a"], [2, "bad"], [3, "b"], [1, "twice"], [4, "never"], [5, "c"]]
KEPT = [(1, "a"), (3, "b"), (5, "c")]
REASONS = ("CHECK constraint failed", "UNIQUE constraint failed", "never")


# --- what is divided ------------------------------------------------------------------------------


class Fault(Exception):
    """Of a connection."""


def apart(bad: set[int], perhaps: bool = False) -> tuple[Apart, list[int]]:
    """Over a table that refuses these rows, and what is put into it."""
    put: list[int] = []

    def insert(positions: Sequence[int]) -> None:
        for each in positions:
            if each in bad:
                raise ValueError(f"{each} is bad")
            put.append(each)

    def undo(taken: Sequence[int]) -> None:
        put[:] = taken

    of_row = Cause.PERHAPS if perhaps else Cause.ROW
    judge = lambda error: of_row if isinstance(error, ValueError) else Cause.OTHER  # noqa: E731
    return Apart(insert, undo, judge, str), put


def counted(divided: Apart) -> list[int]:
    """How many rows each statement has, as they come."""
    sizes: list[int] = []
    insert = divided.put

    def put(positions: Sequence[int]) -> None:
        sizes.append(len(positions))
        insert(positions)

    divided.put = put
    return sizes


@pytest.mark.parametrize("bad", [set(), {0}, {6}, {2, 3}, set(range(7)), {1, 3, 5}])
def test_every_row_that_is_taken_is_written_once_and_in_order(bad: set[int]) -> None:
    divided, put = apart(bad)
    assert divided.write(range(7)) == {each: f"{each} is bad" for each in bad}
    assert put == [each for each in range(7) if each not in bad]


def test_a_bad_row_among_a_thousand_costs_twenty_statements() -> None:
    divided, put = apart({617})
    calls = counted(divided)
    assert list(divided.write(range(1000))) == [617]
    assert len(put) == 999
    assert len(calls) <= 21


def test_a_statement_that_takes_no_row_at_all_is_at_fault_itself() -> None:
    divided, _ = apart(set(range(1000)), perhaps=True)
    calls = counted(divided)
    with pytest.raises(NotOfRows):
        divided.write(range(1000))
    assert len(calls) < 10 * SUSPECTS_MAX
    divided, put = apart({0, 1}, perhaps=True)
    assert list(divided.write(range(3))) == [0, 1]
    assert put == [2]


def test_a_fault_of_the_connection_passes_through() -> None:
    divided, _ = apart(set())

    def lost(positions: Sequence[int]) -> None:
        raise Fault

    divided.put = lost
    with pytest.raises(Fault):
        divided.write(range(3))


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("23505", Cause.ROW), ("22003", Cause.ROW), ("P0001", Cause.ROW),
        ("44000", Cause.ROW), ("54000", Cause.ROW), ("45000", Cause.ROW),
        ("U0001", Cause.ROW), ("42804", Cause.PERHAPS), ("42501", Cause.PERHAPS),
        ("40001", Cause.OTHER), ("40P01", Cause.OTHER), ("55P03", Cause.OTHER),
        ("57014", Cause.OTHER), ("53100", Cause.OTHER), ("08006", Cause.OTHER),
        ("25006", Cause.OTHER),
    ],
)  # fmt: skip
def test_the_code_says_whose_fault_it_is(state: str, found: Cause) -> None:
    error = sqlite3.OperationalError("by its code")
    error.sqlstate = state  # type: ignore[attr-defined]
    assert cause_of(error, sqlite3) is found


def test_a_row_that_a_policy_refuses_is_at_fault_and_a_privilege_is_not() -> None:
    error = sqlite3.OperationalError("new row violates row-level security policy")
    error.sqlstate = "42501"  # type: ignore[attr-defined]
    error.diag = SimpleNamespace(source_function="ExecWithCheckOptions")  # type: ignore[attr-defined]
    assert cause_of(error, sqlite3) is Cause.ROW


def test_without_a_code_the_class_says_it() -> None:
    assert cause_of(sqlite3.IntegrityError(), sqlite3) is Cause.ROW
    assert cause_of(sqlite3.DataError(), sqlite3) is Cause.ROW
    assert cause_of(OverflowError(), sqlite3) is Cause.ROW
    assert cause_of(sqlite3.ProgrammingError(), sqlite3) is Cause.PERHAPS
    assert cause_of(sqlite3.OperationalError("database is locked"), sqlite3) is Cause.OTHER


# --- sqlite ---------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> str:
    return make(str(tmp_path / "rows.db"))


def make(path: str, how: str = "ABORT") -> str:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(TABLE.format(how=how))
    return path


def asked(path: str, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def write(path: str, rows: Any, engine: str, kind: Any = DatabaseSink, **more: Any) -> Ended:
    config = {"database.connect": path, "database.table": "rows", **more}
    topology = sinking({"id": None, "value": None}, kind, config)
    with classes(given(rows), kind):
        if engine != SPARK:
            return natively(topology, engine)[0]
        run = SparkRun(topology, Path(path).parent / "spark", 4)
        assert list(run.run())
        return run.ended


@pytest.mark.parametrize("how", ["ABORT", "FAIL", "ROLLBACK"])
@pytest.mark.parametrize("engine", [*MODES, SPARK])
def test_what_only_the_database_refuses_costs_its_row(
    engine: str, how: str, tmp_path: Path
) -> None:
    path = make(str(tmp_path / "rows.db"), how)
    ended = write(path, ROWS, engine)
    assert asked(path, "SELECT * FROM rows ORDER BY id") == KEPT
    assert ended.failed == len(REASONS)
    said = " ".join(ended.errors)
    assert all(each in said for each in (REASONS if engine != SPARK else REASONS[-1:]))


def test_a_statement_of_a_users_own_costs_its_bad_rows_too(path: str) -> None:
    more = {"database.statement": "INSERT INTO rows VALUES (?, ?)"}
    ended = write(path, [*ROWS, [{1}, "no type of sqlite"]], keys.EFFECTIVELY_ONCE, **more)
    assert asked(path, "SELECT * FROM rows ORDER BY id") == KEPT
    assert ended.failed == len(REASONS) + 1


class Numbered(Spout):
    outputs = ["id", "value"]


@pytest.mark.parametrize("kills", [0, 1, 3])
def test_letters_of_refused_rows_are_exact_through_kills_behind_the_commit(
    kills: int, path: str
) -> None:
    folder = Path(path).parent / "letters"
    settings = {
        "database.connect": path,
        "database.table": "rows",
        keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE,
        "topology.dead.letter": f"file:{folder}",
    }

    class Refused(Topology):
        config = settings
        rows = Numbered.spec()
        sink = DatabaseSink.spec(inputs=[rows])

    with TopologyTester(Refused) as tester:
        for row in ROWS:
            tester.feed("rows", list(row), tup_id=tuple(row))
        tester.run()
        assert tester.checkpoint()
        for _ in range(kills):
            tester.crash("sink")
            tester.run()
        assert tester.checkpoint()
        tester.finish()
        assert tester.checkpoint()
    assert asked(path, "SELECT * FROM rows ORDER BY id") == KEPT
    found = sorted(values_of(each) for each in letters(str(folder)))
    assert found == [[1, "twice"], [2, "bad"], [4, "never"]]


class Dies(DatabaseSink):
    """The answer of a commit is lost, once: nobody has heard of its refusals."""

    deaths = 0

    def _write(self, *arguments: Any) -> dict[int, str]:
        refused = super()._write(*arguments)
        if type(self).deaths:
            type(self).deaths -= 1
            raise sqlite3.OperationalError("the answer of the commit is lost")
        return refused


@pytest.mark.parametrize("engine", [keys.EFFECTIVELY_ONCE, SPARK])
def test_a_commit_whose_answer_is_lost_tells_of_its_refusals_when_it_is_repeated(
    engine: str, path: str
) -> None:
    Dies.deaths = 1
    if engine == SPARK:
        with pytest.raises(Exception, match="answer of the commit is lost"):
            write(path, ROWS, engine, Dies)
    ended = write(path, ROWS, engine, Dies)
    assert asked(path, "SELECT * FROM rows ORDER BY id") == KEPT
    assert ended.failed >= len(REASONS)
    noted = asked(path, "SELECT problem FROM heronpy_refusals")
    assert len(noted) >= len(REASONS)
    assert all(len(each) <= PROBLEM_CHARACTERS for (each,) in noted)


def test_a_statement_without_its_table_stops_commits_and_costs_no_row(path: str) -> None:
    more = {"database.statement": "INSERT INTO others VALUES (?, ?)"}
    ended = write(path, ROWS[:1], keys.EFFECTIVELY_ONCE, **more)
    assert any("no such table: others" in each for each in ended.errors)
    assert ended.failed == 0
