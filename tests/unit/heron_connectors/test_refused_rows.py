"""A row that a table of an open format refuses costs itself: constraints, required values, columns
that others have changed since the row was prepared."""

from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from deltalake import DeltaTable

from heron_connectors.delta import DeltaSink
from heron_connectors.delta_checks import refused_among
from heron_connectors.letters.folder import letters
from heron_connectors.letters.records import values_of
from heron_core.dead_letters import SINK
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester

EXACTLY, AT_LEAST, AT_MOST = MODES = ("EFFECTIVELY_ONCE", "ATLEAST_ONCE", "ATMOST_ONCE")


class Rows(Spout):
    outputs = {"id": "bigint", "value": "string"}


def topology(folder: Path, mode: str, kind: type[DeltaSink] = DeltaSink) -> type[Topology]:
    class Keeping(Topology):
        config = {
            "topology.reliability.mode": mode,
            "topology.bolt.retries": 0,
            "topology.dead.letter": f"file:{folder / 'letters'}",
            "delta.table": str(folder / "table"),
        }
        rows = Rows.spec()
        sink = kind.spec(inputs=[rows])

    return Keeping


def made(folder: Path, checks: dict[str, str] | None = None, requires: str = "") -> None:
    """The table, with constraints and a column that requires values."""
    kinds = {"id": arrow.int64(), "value": arrow.string()}
    fields = [arrow.field(name, kind, name != requires) for name, kind in kinds.items()]
    table = DeltaTable.create(str(folder / "table"), arrow.schema(fields))
    for each in (checks or {}).items():
        table.alter.add_constraint(dict([each]))


def ids_in(folder: Path) -> list[int]:
    return sorted(DeltaTable(str(folder / "table")).to_pyarrow_table()["id"].to_pylist())


def feed(tester: TopologyTester, rows: list[list[Any]]) -> None:
    for row in rows:
        tester.feed("rows", row, tup_id=row[0], replays=0)
    tester.run()


def end(tester: TopologyTester, mode: str) -> None:
    if mode == EXACTLY:
        assert tester.checkpoint()
    tester.advance(10)
    tester.finish()


def letters_in(folder: Path) -> list[tuple[list[Any], str]]:
    return [(values_of(each), each["exception"]) for each in letters(str(folder / "letters"))]


@pytest.mark.parametrize("mode", MODES)
def test_a_row_that_a_constraint_refuses_is_a_dead_letter_and_all_others_are_there(
    tmp_path: Path, mode: str
) -> None:
    made(tmp_path, {"positive": "id >= 0", "short": "value <> 'long'"}, requires="value")
    rows: list[list[Any]] = [[number, "x"] for number in range(100)]
    rows[40] = [-1, "x"]
    rows[41][1], rows[77][1] = "long", None
    with TopologyTester(topology(tmp_path, mode)) as tester:
        feed(tester, rows)
        end(tester, mode)
        assert len(tester.received(SINK)) == 3
    assert ids_in(tmp_path) == sorted({*range(100)} - {40, 41, 77})
    found = {values[0]: why for values, why in letters_in(tmp_path)}
    assert "CHECK positive (id >= 0): [-1, 'x']" in found[-1]
    assert "CHECK short" in found[41]
    assert "value=None: the table requires a value" in found[77]


class Lost(DeltaSink):
    """The answer of a commit is lost, once; the table has it."""

    losses = 0

    def _append(self, *arguments: Any) -> None:
        super()._append(*arguments)
        if Lost.losses:
            Lost.losses -= 1
            raise OSError("the connection is lost")


def test_a_commit_that_is_repeated_tells_of_the_same_rows(tmp_path: Path) -> None:
    made(tmp_path, {"positive": "id >= 0"})
    Lost.losses = 1
    with TopologyTester(topology(tmp_path, EXACTLY, Lost)) as tester:
        feed(tester, [[1, "a"], [-1, "b"], [2, "c"]])
        assert tester.checkpoint()
        DeltaTable(str(tmp_path / "table")).alter.drop_constraint("positive")
        tester.advance(3)  # it is tried again
        end(tester, EXACTLY)
    assert ids_in(tmp_path) == [1, 2]
    assert [values for values, _ in letters_in(tmp_path)] == [[-1, "b"]]


def test_a_transaction_of_refused_rows_alone_adds_no_version(tmp_path: Path) -> None:
    made(tmp_path, {"positive": "id >= 0"})
    before = DeltaTable(str(tmp_path / "table")).version()
    with TopologyTester(topology(tmp_path, EXACTLY)) as tester:
        feed(tester, [[-1, "a"], [-2, "b"]])
        end(tester, EXACTLY)
    assert DeltaTable(str(tmp_path / "table")).version() == before
    assert sorted(values for values, _ in letters_in(tmp_path)) == [[-2, "b"], [-1, "a"]]


def test_a_column_that_requires_values_since_the_checkpoint_costs_only_rows_without_one(
    tmp_path: Path,
) -> None:
    made(tmp_path)
    with TopologyTester(topology(tmp_path, EXACTLY)) as tester:
        feed(tester, [[1, "a"], [2, None], [3, "c"]])
        # Another program replaces the table between the checkpoint and its commit.
        (tmp_path / "table").rename(tmp_path / "old")
        made(tmp_path, requires="value")
        end(tester, EXACTLY)
    assert ids_in(tmp_path) == [1, 3]
    assert [values for values, _ in letters_in(tmp_path)] == [[2, None]]


class AnyRows(Spout):
    outputs = ["id", "value"]


_NEEDED = arrow.field("last", arrow.string(), False)
REQUIRED_INSIDE: Any = [
    (
        arrow.struct([_NEEDED, arrow.field("first", arrow.string())]),
        [{"last": "a", "first": None}, {"last": None, "first": "b"}, None, {"first": "c"}],
        "value.last=None",
    ),
    (
        arrow.list_(arrow.field("element", arrow.struct([_NEEDED]), False)),
        [[{"last": "a"}], [{"last": None}], None, [None]],
        "the elements of value",
    ),
    (
        arrow.map_(arrow.string(), arrow.field("value", arrow.int64(), False)),
        [{"a": 1}, {"a": None}, None, {"a": 1, "b": None}],
        "the values of value=None",
    ),
]
"""(a column, values of which the second and the last lack what it requires, what is told)"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("kind", "values", "said"), REQUIRED_INSIDE)
def test_what_a_table_requires_inside_of_a_column_costs_the_rows_without_it(
    tmp_path: Path, kind: Any, values: list[Any], said: str, mode: str
) -> None:
    fields = [arrow.field("id", arrow.int64()), arrow.field("value", kind)]
    DeltaTable.create(str(tmp_path / "table"), arrow.schema(fields))

    class Keeping(Topology):
        config = topology(tmp_path, mode).config
        rows = AnyRows.spec()
        sink = DeltaSink.spec(inputs=[rows])

    with TopologyTester(Keeping) as tester:
        feed(tester, [[number, each] for number, each in enumerate(values)])
        end(tester, mode)
    table = DeltaTable(str(tmp_path / "table")).to_pyarrow_table().sort_by("id")
    assert table.to_pylist(maps_as_pydicts="strict") == [
        {"id": 0, "value": values[0]}, {"id": 2, "value": None},
    ]  # fmt: skip
    found = {row[0]: why for row, why in letters_in(tmp_path)}
    assert found.keys() == {1, 3}
    assert all(said in each for each in found.values()), str(found)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": True, "value": True, "day": False}, "requires column 'day'"),
        ({"ID": True, "value": True}, "has 'ID', which Delta does not distinguish from 'id'"),
    ],
)
def test_a_table_that_takes_no_row_is_refused_at_the_start(
    tmp_path: Path, columns: dict[str, bool], problem: str
) -> None:
    kinds = {"value": arrow.string()}
    fields = [arrow.field(n, kinds.get(n, arrow.int64()), null) for n, null in columns.items()]
    DeltaTable.create(str(tmp_path / "table"), arrow.schema(fields))
    with pytest.raises(Exception, match=problem), TopologyTester(topology(tmp_path, EXACTLY)):
        pass


def test_dividing_asks_little_for_one_bad_row_and_for_many_that_stand_together() -> None:
    for bad in ({500}, set(range(1000)), {0, 999}, set(range(300, 700)), set()):
        asked: list[int] = []

        def refusing(some: Any, bad: Any = bad, asked: Any = asked) -> int:
            asked.append(len(some))
            return len(bad & set(some))

        assert refused_among(range(1000), refusing) == sorted(bad)
        assert len(asked) <= 42
