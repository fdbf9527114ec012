"""Iceberg tables: foreign tables are written by their partitions and requirements, each checkpoint
is in a table once beside any writers, and an unwritable value costs its row."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from heron_connectors.iceberg.partitions import Term, term_of
from heron_connectors.iceberg.sink import COMMIT_ATTEMPTS, IcebergSink
from heron_core.errors import ComponentError
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester

TABLE = "shop.sales"


class Sales(Spout):
    outputs = ["id", "price", "at", "name"]


class TypedSales(Spout):
    outputs = {"id": "bigint", "price": "decimal(10,2)", "at": "timestamp", "name": "string"}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }


@pytest.fixture
def catalog(settings: dict[str, str]) -> Iterator[Any]:
    found = load_catalog("default", **settings)
    found.create_namespace("shop")
    yield found
    found.close()


def topology(
    settings: dict[str, str],
    spout: Any = Sales,
    mode: str = "EFFECTIVELY_ONCE",
    kind: Any = IcebergSink,
    **more: Any,
) -> type[Topology]:
    given: dict[str, Any] = {"topology.reliability.mode": mode, "topology.bolt.retries": 0}
    given |= {"iceberg.table": TABLE, "iceberg.catalog.properties": settings}
    given |= {f"iceberg.{name.replace('_', '.')}": value for name, value in more.items()}

    class Selling(Topology):
        config = given
        sales = spout.spec()
        sink = kind.spec(inputs=[sales])

    return Selling


@contextmanager
def running(made: type[Topology]) -> Iterator[TopologyTester]:
    with TopologyTester(made) as tester:
        yield tester


def sell(tester: TopologyTester, *rows: Any) -> None:
    for row in rows:
        tester.feed("sales", list(row), tup_id=row[0], replays=0)
    tester.run()


def committed(tester: TopologyTester, mode: str) -> None:
    if mode == "EFFECTIVELY_ONCE":
        assert tester.checkpoint()
    else:
        tester.advance(10)


def rows_in(catalog: Any) -> list[dict[str, Any]]:
    found = catalog.load_table(TABLE).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def ids_in(catalog: Any) -> list[int]:
    return [row["id"] for row in rows_in(catalog)]


def texts(tester: TopologyTester) -> list[str]:
    return [each.text for each in tester.errors("sink")]


AT = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
NEXT_DAY = datetime(2026, 3, 2, tzinfo=UTC)


def test_a_new_table_is_divided_as_the_config_says(settings: Any, catalog: Any) -> None:
    made = topology(settings, partition_by=["day(at)", "bucket(4, id)", "name"])
    with running(made) as tester:
        sell(tester, [1, 2.5, AT, "a"], [2, 2.5, NEXT_DAY, "a"], [3, None, AT, None])
        assert tester.checkpoint()
        assert texts(tester) == []
    table = catalog.load_table(TABLE)
    assert [str(each.transform) for each in table.spec().fields] == ["day", "bucket[4]", "identity"]
    assert ids_in(catalog) == [1, 2, 3]
    assert len(table.inspect.partitions()) == 3


def test_a_table_of_others_keeps_its_division_whatever_the_config_says(
    settings: Any, catalog: Any
) -> None:
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "price", DoubleType()),
        NestedField(3, "at", TimestamptzType()),
        NestedField(4, "name", StringType()),
    )
    spec = PartitionSpec(
        PartitionField(3, 1000, DayTransform(), "sold_on"),
        PartitionField(1, 1001, BucketTransform(2), "bucket"),
    )
    catalog.create_table(TABLE, schema, partition_spec=spec)
    with running(topology(settings, partition_by=["name"])) as tester:
        sell(tester, [1, 2.5, AT, "a"], [2, 2.5, NEXT_DAY, "b"])
        assert tester.checkpoint()
        assert texts(tester) == []
    assert catalog.load_table(TABLE).spec() == spec
    found = catalog.load_table(TABLE).inspect.partitions().to_pylist()
    assert sorted(str(each["partition"]["sold_on"]) for each in found) == [
        "2026-03-01",
        "2026-03-02",
    ]


@pytest.mark.parametrize("mode", ["EFFECTIVELY_ONCE", "ATLEAST_ONCE"])
def test_a_row_without_a_partition_costs_itself_alone(
    mode: str, settings: Any, catalog: Any
) -> None:
    """pyiceberg itself loses a row whose partition is NaN without a word."""
    with running(topology(settings, mode=mode, partition_by=["price", "name"])) as tester:
        sell(tester, [1, 1.0, AT, "a"])
        committed(tester, mode)
        sell(tester, [2, float("nan"), AT, "a"], [3, 1.0, AT, "x" * 300], [4, 1.0, AT, None])
        committed(tester, mode)
        first, second = texts(tester)
        assert "price=nan" in first
        assert "name='xxx" in second
        assert "a folder has 255" in second
    assert ids_in(catalog) == [1, 4]


def test_a_column_that_a_table_requires_has_a_value_in_each_row(
    settings: Any, catalog: Any
) -> None:
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType(), required=True),
    )
    catalog.create_table(TABLE, schema)
    with running(topology(settings)) as tester:
        sell(tester, [1, 2.5, AT, "a"], [2, 2.5, AT, None], [3, 2.5, AT, "c"])
        assert tester.checkpoint()
        (said,) = texts(tester)
    assert "name=None: the table requires a value" in said
    assert ids_in(catalog) == [1, 3]
    assert catalog.load_table(TABLE).schema().find_field("name").required


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (NestedField(9, "other", LongType(), required=True), "requires column 'other'"),
        (
            NestedField(
                9, "name", StructType(NestedField(10, "last", StringType(), required=True))
            ),
            "requires name.last, which is missing in the input",
        ),
    ],
)
def test_a_table_that_requires_what_does_not_come_is_refused(
    field: Any, said: str, settings: Any, catalog: Any
) -> None:
    catalog.create_table(TABLE, Schema(NestedField(1, "id", LongType()), field))
    types: Any = {} if "other" in said else {"types": {"name": "struct<first: string>"}}
    with pytest.raises(ComponentError, match=said), running(topology(settings, **types)):
        pass


REQUIRED_INSIDE: Any = [
    (
        StructType(
            NestedField(3, "last", StringType(), required=True),
            NestedField(4, "first", StringType()),
        ),
        [{"last": "a", "first": None}, {"last": None, "first": "b"}, None, {"first": "c"}],
        "name.last=None: the table requires a value",
    ),
    (
        ListType(3, StringType(), element_required=True),
        [["a"], ["b", None], None, [None]],
        "the elements of name=None: the table requires a value",
    ),
    (
        MapType(3, StringType(), 4, LongType(), value_required=True),
        [{"a": 1}, {"a": None}, None, {"a": 1, "b": None}],
        "the values of name=None: the table requires a value",
    ),
]
"""(a column, values with a missing requirement in the second and the last, reported text)"""


@pytest.mark.parametrize("mode", ["EFFECTIVELY_ONCE", "ATLEAST_ONCE"])
@pytest.mark.parametrize(("kind", "values", "said"), REQUIRED_INSIDE)
def test_what_a_table_requires_inside_of_a_column_costs_the_rows_without_it(
    kind: Any, values: list[Any], said: str, mode: str, settings: Any, catalog: Any
) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", kind))
    catalog.create_table(TABLE, schema)
    with running(topology(settings, mode=mode)) as tester:
        sell(tester, *([number, 2.5, AT, each] for number, each in enumerate(values)))
        committed(tester, mode)
        told = [each for each in texts(tester) if said in each]
        assert len(told) == 2, texts(tester)
    assert ids_in(catalog) == [0, 2]
    found = catalog.load_table(TABLE).scan().to_arrow().sort_by("id").to_pylist()
    assert [dict(row["name"]) if isinstance(kind, MapType) and row["name"] else row["name"]
            for row in found] == [values[0], None]  # fmt: skip
    field = catalog.load_table(TABLE).schema().find_field("name")
    assert str(field.field_type) == str(kind)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"types": {"at": "duration[us]"}}, "field 'at': Iceberg has no duration"),
        ({"types": {"id": "uint32"}}, "field 'id': Iceberg has no uint32"),
        ({"partition_by": ["week(at)"]}, r"week\(at\)' is not a field, year"),
        ({"partition_by": ["bucket(id)"]}, r"bucket\(id\)' is not a field, year"),
        ({"table": "sales"}, "is sales, not NAMESPACE.TABLE"),
        ({"catalog": "moon", "catalog_properties": {}}, "catalog 'moon': .*iceberg.catalog"),
        ({"schema_mode": "drop"}, "iceberg.schema.mode is merge or refuse, not drop"),
    ],
)
def test_a_config_that_is_wrong_is_refused_in_one_line(
    made: dict[str, Any], said: str, settings: Any
) -> None:
    with pytest.raises(ComponentError, match=said) as error, running(topology(settings, **made)):
        pass
    assert "\n" not in str(error.value)


def test_what_divides_a_table_is_written_as_in_sql() -> None:
    assert term_of("day") == Term("day", "identity")
    assert term_of("day(at)") == Term("at", "day")
    assert term_of("bucket(16, id)") == Term("id", "bucket[16]")
    assert term_of("truncate(3,name)") == Term("name", "truncate[3]")


def test_a_declared_type_is_that_of_the_column_from_a_row_without_values_on(
    settings: Any, catalog: Any
) -> None:
    with running(topology(settings, TypedSales)) as tester:
        sell(tester, [1, None, None, None])
        assert tester.checkpoint()
    found = catalog.load_table(TABLE).schema()
    types = [str(each.field_type) for each in found.fields]
    assert types == ["long", "decimal(10, 2)", "timestamptz", "string"]


def test_a_row_of_which_no_type_is_known_makes_no_table(settings: Any, catalog: Any) -> None:
    with running(topology(settings)) as tester:
        tester.feed("sales", [None, None, None, None], tup_id=1, replays=0)
        tester.run()
        assert tester.checkpoint()
        (said,) = texts(tester)
        assert "declare the type" in said
        sell(tester, [2, None, None, None])
        assert tester.checkpoint()
    assert ids_in(catalog) == [2]


def test_a_narrower_column_of_others_takes_what_it_holds(settings: Any, catalog: Any) -> None:
    """Values beyond the column are refused row by row."""
    catalog.create_table(TABLE, Schema(NestedField(1, "id", IntegerType())))
    with running(topology(settings)) as tester:
        sell(tester, [1, 2.5, AT, "a"], [2**40, 2.5, AT, "b"], [3, None, AT, "c"])
        assert tester.checkpoint()
        (said,) = texts(tester)
    assert f"id={2**40}" in said
    assert ids_in(catalog) == [1, 3]
    assert rows_in(catalog)[0]["name"] == "a"


class Rival(IcebergSink):
    """Foreign commits between the sink's read and its commit, a number of times."""

    commits = 0
    batch = arrow.table({"id": arrow.array([-1])})

    def _append(self, table: Any, rows: Any, transaction_id: Any) -> dict[int, str]:
        if Rival.commits:
            Rival.commits -= 1
            self.rival(rows, transaction_id)
        return super()._append(table, rows, transaction_id)

    def rival(self, rows: Any, transaction_id: Any) -> None:
        self._loaded_catalog().load_table(TABLE).append(self.batch)


class Twin(Rival):
    """The rival is the replacement of this process, with an equal checkpoint to commit."""

    def rival(self, rows: Any, transaction_id: Any) -> None:
        IcebergSink._append(self, self.present(), rows, transaction_id)


def test_commits_of_others_that_come_first_cost_an_attempt_each(
    settings: Any, catalog: Any
) -> None:
    Rival.commits = COMMIT_ATTEMPTS - 1
    with running(topology(settings, kind=Rival)) as tester:
        sell(tester, [1, 2.5, AT, "a"])
        assert tester.checkpoint()
        assert texts(tester) == []
    assert ids_in(catalog) == [-1] * (COMMIT_ATTEMPTS - 1) + [1]


def test_too_many_of_them_are_told_and_the_commit_is_tried_again(
    settings: Any, catalog: Any
) -> None:
    Rival.commits = COMMIT_ATTEMPTS
    with running(topology(settings, kind=Rival)) as tester:
        sell(tester, [1, 2.5, AT, "a"])
        assert tester.checkpoint()
        (said,) = texts(tester)
        assert f"came first {COMMIT_ATTEMPTS} times" in said
        assert ids_in(catalog) == [-1] * COMMIT_ATTEMPTS
        tester.advance(2)
        assert ids_in(catalog) == [-1] * COMMIT_ATTEMPTS + [1]


def test_a_checkpoint_that_the_replacement_of_a_process_has_committed_is_not_committed_again(
    settings: Any, catalog: Any
) -> None:
    """pyiceberg's own attempts would commit: only conflicts are checked."""
    Rival.commits = 1
    with running(topology(settings, kind=Twin)) as tester:
        sell(tester, [1, 2.5, AT, "a"])
        assert tester.checkpoint()
        assert texts(tester) == []
    assert Rival.commits == 0
    assert ids_in(catalog) == [1]


class Lost(IcebergSink):
    """The answer to its first commit is lost on the way."""

    losses = 0

    def _append(self, table: Any, rows: Any, transaction_id: Any) -> dict[int, str]:
        refused = super()._append(table, rows, transaction_id)
        if Lost.losses:
            Lost.losses -= 1
            self.after()
            raise OSError("the connection is lost")
        return refused

    def after(self) -> None:
        """Nothing more happens."""


class Expired(Lost):
    """With the snapshots expired before the next attempt."""

    def after(self) -> None:
        table = self._loaded_catalog().load_table(TABLE)
        table.append(self.one)
        for each in table.refresh().snapshots()[:-1]:
            table.maintenance.expire_snapshots().by_id(each.snapshot_id).commit()

    one = arrow.table({"id": arrow.array([-1])})


def test_a_commit_whose_answer_is_lost_is_not_repeated(settings: Any, catalog: Any) -> None:
    Lost.losses = 1
    with running(topology(settings, kind=Lost)) as tester:
        sell(tester, [1, 2.5, AT, "a"])
        assert tester.checkpoint()
        (said,) = texts(tester)
        assert "the connection is lost" in said
        tester.advance(2)
        sell(tester, [2, 2.5, AT, "a"])
        assert tester.checkpoint()
        assert len(texts(tester)) == 1
    assert ids_in(catalog) == [1, 2]


def test_whether_a_commit_is_there_cannot_be_known_without_the_snapshots_and_is_said(
    settings: Any, catalog: Any
) -> None:
    Lost.losses = 1
    with running(topology(settings, kind=Expired)) as tester:
        sell(tester, [1, 2.5, AT, "a"])
        assert tester.checkpoint()
        tester.advance(2)
        tester.finish()
        assert any("the snapshots since its preparation" in each for each in texts(tester))
    assert ids_in(catalog) == [-1, 1]


def test_columns_are_compared_with_what_another_has_made_meanwhile(
    settings: Any, catalog: Any
) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    with running(topology(settings, schema_mode="refuse")) as tester:
        catalog.create_table(TABLE, Schema(NestedField(1, "id", LongType())), partition_spec=spec)
        sell(tester, [1, 2.5, AT, "a"])
        tester.checkpoint()
        assert any("refuse" in each or "more columns" in each for each in texts(tester))


class Evolved(Lost):
    """Another program evolves the table between a checkpoint and its commit."""

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        if self._is_first_time():
            with self.present().update_schema(allow_incompatible_changes=True) as update:
                update.update_column("name", required=True)
        super().commit(prepared, transaction_id)

    times = 0

    def _is_first_time(self) -> bool:
        Evolved.times += 1
        return Evolved.times == 1


@pytest.mark.parametrize("is_lost", [False, True])
def test_rows_that_a_table_of_now_does_not_take_are_left_out_of_their_commit(
    settings: Any, catalog: Any, is_lost: bool
) -> None:
    fields = [NestedField(1, "id", LongType()), NestedField(2, "price", DoubleType())]
    fields += [NestedField(3, "at", TimestamptzType()), NestedField(4, "name", StringType())]
    catalog.create_table(TABLE, Schema(*fields))
    Evolved.times, Lost.losses = 0, int(is_lost)
    with running(topology(settings, kind=Evolved)) as tester:
        sell(tester, [1, 2.5, AT, "a"], [2, 2.5, AT, None], [3, 2.5, AT, "c"])
        assert tester.checkpoint()
        tester.advance(2)  # a commit whose answer is lost is repeated
        assert tester.checkpoint()
        told = [each for each in texts(tester) if "name=None: the table requires" in each]
        assert len(told) == 1
        assert tester.metrics("sink")["failed"] == 1
    assert ids_in(catalog) == [1, 3]
