"""TableSpout: every row of every file once, failed rows again, resumed from the position after a
move."""

import os
import sys
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from deltalake import write_deltalake
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from heron_connectors.tables import table_files
from heron_connectors.tables.source import TableSource, TableSpout
from heron_core import optional_packages
from heron_core.errors import ComponentError, TopologyError
from heron_tester.errors import TesterError
from heronpy_compat import Bolt, Topology
from heronpy_compat.testing import ComponentTester

NOON = datetime(2013, 1, 1, 12)


def table(first: int, count: int) -> Any:
    numbers = range(first, first + count)
    return arrow.table({"number": numbers, "text": [f"row {each}" for each in numbers]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten rows in row groups of four, and three in another file."""
    parquet.write_table(table(0, 10), tmp_path / "a.parquet", row_group_size=4)
    parquet.write_table(table(10, 3), tmp_path / "b.parquet")
    return tmp_path


def alone(source: TableSource, **config: Any) -> ComponentTester:
    return ComponentTester(
        TableSpout, outputs=source.outputs, config={**source.config, **config}, name="table"
    )


def drained(spout: ComponentTester) -> list[list[Any]]:
    """Output until the finish."""
    found = []
    while not spout.finished:
        found += [each.values for each in spout.next_tuple()]
    return found


def test_rows_come_in_order_with_their_place_as_id(folder: Path) -> None:
    source = TableSpout.of(folder, columns=["text", "number"])
    with alone(source) as spout:
        emitted = spout.next_tuple(calls=13)
        assert [each.values for each in emitted] == [[f"row {n}", n] for n in range(13)]
        first, second = str(folder / "a.parquet"), str(folder / "b.parquet")
        assert [each.tup_id for each in emitted] == [
            *((first, row) for row in range(10)),
            *((second, row) for row in range(3)),
        ]
        assert not spout.finished
        assert spout.next_tuple() == []
        assert spout.finished


def test_a_failed_row_is_emitted_again_even_after_the_end(folder: Path) -> None:
    with alone(TableSpout.of(folder / "b.parquet")) as spout:
        assert len(drained(spout)) == 3
        place = (str(folder / "b.parquet"), 1)
        spout.fail(place)
        (again,) = spout.next_tuple()
        assert (again.values, again.tup_id) == ([11, "row 11"], place)
        spout.ack(place)
        assert spout.next_tuple() == []


def test_at_most_once_remembers_nothing(folder: Path) -> None:
    config = {"topology.reliability.mode": "ATMOST_ONCE"}
    with alone(TableSpout.of(folder), **config) as spout:
        assert {each.tup_id for each in spout.next_tuple(calls=13)} == {None}
        assert spout.component._pending == {}


def test_several_rows_in_a_tuple(folder: Path) -> None:
    """No tuple spans two row groups: 4 + 4 + 2 rows, then 3."""
    source = TableSpout.of(folder, columns=["number"], rows_per_tuple=3)
    assert source.outputs == ("rows",)
    with alone(source) as spout:
        emitted = spout.next_tuple(calls=6)
        assert [[row[0] for row in each.values[0]] for each in emitted] == [
            [0, 1, 2], [3], [4, 5, 6], [7], [8, 9], [10, 11, 12]
        ]  # fmt: skip
        assert emitted[2].tup_id == (str(folder / "a.parquet"), 4, 3)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_folders_name_is_of_one_type(tmp_path: Path, kind: str) -> None:
    for name in ("hour=01/zip=7", "hour=2/zip=12", "hour=__HIVE_DEFAULT_PARTITION__/zip=-1"):
        (tmp_path / name).mkdir(parents=True)
        if kind == "csv":
            (tmp_path / name / "rows.csv").write_text("id\n1\n")
        else:
            parquet.write_table(arrow.table({"id": [1]}), tmp_path / name / "rows.parquet")
    with alone(TableSpout.of(tmp_path, columns=["hour", "zip"])) as spout:
        assert drained(spout) == [["01", 7], ["2", 12], [None, -1]]
    typed = {"zip": "string", "hour": "string"}
    with alone(TableSpout.of(tmp_path, columns=["hour", "zip"], types=typed)) as spout:
        assert drained(spout) == [["01", "7"], ["2", "12"], [None, "-1"]]


def test_texts_by_which_a_delta_table_is_divided_stay_texts(tmp_path: Path) -> None:
    rows = arrow.table({"id": [1, 2], "zip": ["7", "12"], "hour": [3, 4]})
    write_deltalake(str(tmp_path), rows, partition_by=["zip", "hour"])
    with alone(TableSpout.of(tmp_path, columns=["id", "zip", "hour"])) as spout:
        assert sorted(drained(spout)) == [[1, "7", 3], [2, "12", 4]]


def test_all_columns_are_the_fields_unless_some_are_named(folder: Path) -> None:
    assert TableSpout.of(folder).outputs == ("number", "text")
    spec = TableSpout.of(folder, columns=["text"]).spec(par=2).outputs
    assert spec == ["text"]


def test_instances_share_row_groups(folder: Path) -> None:
    table_ = table_files.FileTable(str(folder))
    pieces = list(table_.pieces(table_.files()))
    assert [(each.group, each.first_row) for each in pieces] == [(0, 0), (1, 4), (2, 8), (0, 0)]
    for divide in (table_files.share, table_files.lasting_share):
        shares = [divide(pieces, index, 3) for index in range(3)]
        assert sorted(chain(*shares), key=str) == sorted(pieces, key=str)
    assert table_files.share(pieces, 1, 3) == [pieces[1]]


def test_a_file_has_its_instance_whatever_comes_before_it(folder: Path) -> None:
    table_ = table_files.FileTable(str(folder))
    before = table_files.lasting_share(table_.pieces(table_.files()), 0, 2)
    parquet.write_table(table(20, 1), folder / "0.parquet")
    after = table_files.lasting_share(table_.pieces(table_.files()), 0, 2)
    assert set(before) <= set(after)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_formats(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        arrow_csv.write_csv(table(0, 3), path)
    else:
        path.write_text("".join(f'{{"number": {n}, "text": "row {n}"}}\n' for n in range(3)))
    with alone(TableSpout.of(path)) as spout:
        assert drained(spout) == [[0, "row 0"], [1, "row 1"], [2, "row 2"]]


def test_a_name_that_says_no_format_needs_to_be_told(tmp_path: Path) -> None:
    arrow_csv.write_csv(table(0, 1), tmp_path / "rows.txt")
    with pytest.raises(TopologyError, match=r"rows\.txt: its name does not show its format"):
        TableSpout.of(tmp_path / "rows.txt")
    with alone(TableSpout.of(tmp_path / "rows.txt", format="csv")) as spout:
        assert drained(spout) == [[0, "row 0"]]


def test_folders_that_name_columns(tmp_path: Path) -> None:
    """A partitioned table of ParquetSink or Spark is read as one table."""
    for day in ("2013-01-01", "2013-01-02"):
        (tmp_path / f"day={day}").mkdir()
        parquet.write_table(table(0, 1), tmp_path / f"day={day}" / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "day=2013-01-01" / ".half.parquet.tmp").touch()
    with alone(TableSpout.of(tmp_path, columns=["day", "number"])) as spout:
        assert drained(spout) == [["2013-01-01", 0], ["2013-01-02", 0]]


def test_values_are_pythons(tmp_path: Path) -> None:
    parquet.write_table(
        arrow.table({"at": [NOON, None], "list": [[1], []]}), tmp_path / "x.parquet"
    )
    with alone(TableSpout.of(tmp_path)) as spout:
        assert drained(spout) == [[NOON, [1]], [None, []]]


def test_following_reads_files_that_appear(folder: Path) -> None:
    with alone(TableSpout.of(folder, columns=["number"], follow=True)) as spout:
        assert len(spout.next_tuple(calls=20)) == 13
        assert not spout.finished
        half = folder / ".c.parquet.tmp"
        parquet.write_table(table(13, 2), half)
        spout.advance(1)
        assert spout.next_tuple(calls=2) == []
        half.rename(folder / "c.parquet")
        spout.advance(1)
        assert [each.values for each in spout.next_tuple(calls=3)] == [[13], [14]]


def test_it_goes_on_where_its_state_was_saved(folder: Path) -> None:
    source = TableSpout.of(folder, columns=["number"])
    with alone(source) as first:
        first.next_tuple(calls=6)
        state = first.component.__getstate__()
    with alone(source) as second:
        vars(second.component).update(state)
        assert [values[0] for values in drained(second)] == list(range(6, 13))


class Flights(TableSpout):
    """Declared without `of`."""

    outputs = ["text"]


class Sink(Bolt):
    """A reader."""

    def process(self, tup: Any) -> None:
        """Nothing."""


def test_a_subclass_names_its_columns_as_outputs(folder: Path) -> None:
    with ComponentTester(Flights, config={"table.path": str(folder)}) as spout:
        assert spout.next_tuple()[0].values == ["row 0"]


def test_it_stands_in_a_topology(folder: Path) -> None:
    class Table(Topology):
        rows = TableSpout.of(folder).spec(par=2)
        sink = Sink.spec(inputs=[rows])

    (component, _) = Table._topology_spec.components
    assert (component.name, component.parallelism) == ("rows", 2)
    assert component.outputs[0].fields == ("number", "text")


def complaint(act: Callable[[], object]) -> str:
    with pytest.raises((ComponentError, TopologyError, TesterError)) as caught:
        act()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    assert "does not exist" in complaint(lambda: TableSpout.of(folder / "none.parquet"))
    missing = TableSpout.of(folder / "none.parquet", columns=["number"])
    assert "file not found" in complaint(lambda: alone(missing))
    (folder / "bad.parquet").write_bytes(b"PAR1 but no more")
    assert "bad.parquet cannot be read" in complaint(lambda: TableSpout.of(folder / "bad.parquet"))
    with alone(TableSpout.of(folder / "a.parquet", columns=["nummer"])) as spout:
        said = complaint(spout.next_tuple)
    assert said.endswith("a.parquet has no column 'nummer'; did you mean 'number'?")


def test_missing_packages_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    assert complaint(lambda: TableSpout.of(folder)) == (
        "reading tables needs the package pyarrow: pip install 'heronpy-topologies[tables]'"
    )
    assert optional_packages.needed("json", "anything").__name__ == "json"


def test_delta_reads_the_files_that_count(tmp_path: Path) -> None:
    """The second write replaces the first, whose file still exists."""
    import deltalake

    path = str(tmp_path / "delta")
    deltalake.write_deltalake(path, table(0, 2))
    deltalake.write_deltalake(path, table(5, 2), mode="overwrite")
    assert sum(name.endswith(".parquet") for name in os.listdir(path)) == 2
    with alone(TableSpout.of(path, columns=["number"])) as spout:
        assert drained(spout) == [[5], [6]]
    assert "cannot be followed" in complaint(lambda: alone(TableSpout.of(path, follow=True)))
