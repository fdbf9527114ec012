"""States as tables: all entries of savepoints and checkpoints, and savepoints of tables."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pandas
import pyarrow as pa
import pytest

from heron_connectors.state_files import FORMATS, write_rows
from heron_connectors.state_rows import entries_in_file
from heron_connectors.state_tables import SavedStateTable, read_state, write_state, write_states
from heron_core.errors import HeronError, UsageError
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan
from heron_core.state.description import Description, SavedComponent
from heron_core.state.keys import KEY_GROUPS, key_group, owner
from heron_core.state.parts import KeyRange, Parts, StatePart, encode_parts
from heron_core.state.protocol import StateKind
from heron_core.topology import ComponentSpec, GroupingKind, GroupingSpec, InputSpec, TopologySpec
from heron_core.typed_json import to_json
from heron_core.typed_values import typed_text, value_in
from heron_engine.scheduler.savepoints import read_savepoint
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.signatures import Trust, key_of
from heron_io.saved_states import GroupsOfState
from heron_io.savepoint_writer import NewEntry, NewState, SavepointPlan, write_savepoint
from tests.unit.topology_master.test_trace_export import RESOURCE

NAME = "words"
BACKENDS = ("memory", "rocksdb")


class Strange:
    """A class of a topology's own."""


ENTRIES: dict[str, tuple[StateKind, list[NewEntry]]] = {
    "count.seen": (
        StateKind.VALUE,
        [
            *(NewEntry(f"w{n}", None, n, 2000.5 + n) for n in range(300)),
            NewEntry(7, None, None),
            NewEntry(("a", 1), None, {"b": (1, {2})}),
            NewEntry((("t", 2),), None, [date(2026, 1, 2)]),
            NewEntry(date(2026, 1, 2), None, Decimal("1.50")),
        ],
    ),
    "count.pages": (
        StateKind.MAP,
        [NewEntry(f"w{n}", page, n) for n in range(50) for page in ("/", 3, (1, "x"))],
    ),
    "count.last": (
        StateKind.LIST,
        [NewEntry(f"w{n}", at, [n] * at) for n in range(50) for at in range(3)],
    ),
    "days.most": (StateKind.REDUCING, [NewEntry(n, None, float(n)) for n in range(20)]),
    "lines.put": (StateKind.PLAIN, [NewEntry("at", None, 5), NewEntry((1, 2), None, b"x")]),
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERONPY_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module", params=BACKENDS)
def savepoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """To be read alone: to write one takes RocksDB a second."""
    return written(tmp_path_factory.mktemp("saved") / request.param, request.param, 3)


def written(folder: Path, backend: str, tasks: int) -> str:
    states = []
    for name, (kind, entries) in ENTRIES.items():
        component, _, state = name.partition(".")
        states.append(NewState(component, state, kind, entries))
    plan = SavepointPlan(topology=NAME, at=1000.0, tasks=tasks, backend=backend)
    counts = write_savepoint(str(folder), states, plan)
    assert counts == {name: len(entries) for name, (_, entries) in ENTRIES.items()}
    return str(folder)


def entries_in(table: SavedStateTable) -> set[tuple[str, str, str, float | None]]:
    return {
        (typed_text(row.key), typed_text(row.sub), typed_text(row.value), row.expires_at)
        for row in table.saved.rows()
    }


def wanted(name: str) -> set[tuple[str, str, str, float | None]]:
    return {
        (typed_text(each.key), typed_text(each.sub), typed_text(each.value), each.expires_at)
        for each in ENTRIES[name][1]
    }


@pytest.mark.parametrize("name", ENTRIES)
def test_all_entries_are_rows_with_their_group_and_task(savepoint: str, name: str) -> None:
    table = read_state(savepoint, name)
    assert entries_in(table) == wanted(name)
    assert table.saved.kind() is ENTRIES[name][0]
    tasks = table.saved.tasks
    for row in table.saved.rows():
        if ENTRIES[name][0] is StateKind.PLAIN:
            assert row.group is None
        else:
            assert row.group == key_group(row.key)
            assert row.task == tasks[owner(row.key, len(tasks))]
    rows = list(table.saved.rows())
    for task in tasks:
        groups = [row.group or 0 for row in rows if row.task == task]
        assert groups == sorted(groups), "by key group within a task"


@pytest.mark.parametrize("name", ENTRIES)
def test_each_entry_is_of_exactly_one_group(savepoint: str, name: str) -> None:
    table = read_state(savepoint, name)
    by_group = GroupsOfState(table.saved)
    found = [row for group in range(KEY_GROUPS) for row in by_group.rows(group)]
    by_group.close()
    assert len(found) == len(ENTRIES[name][1])
    assert set(map(repr, found)) == set(map(repr, table.saved.rows()))


def test_a_key_at_another_task_than_grouping_sends_it_to_is_of_one_group(tmp_path: Path) -> None:
    """A bolt that is not grouped by fields keeps any key at any task."""
    folder = open_checkpoint_store(str(tmp_path / "odd")).savepoint()
    for task in (1, 2, 3):
        one = tmp_path / f"one-{task}"
        own = NewState(
            "count", "seen", StateKind.VALUE, [NewEntry(n, None, task) for n in range(99)]
        )
        write_savepoint(str(one), [own], SavepointPlan(topology=NAME, at=1.0))
        folder.save(task, open_checkpoint_store(str(one)).savepoint().load(1))
    described = Description(
        topology=NAME, checkpoint=1, at=1.0, version="x", is_savepoint=True,
        components={"count": SavedComponent((1, 2, 3))},
    )  # fmt: skip
    folder.describe(to_json(described))
    saved = read_state(str(tmp_path / "odd"), "count.seen").saved
    by_group = GroupsOfState(saved)
    found = [(row.key, row.task) for group in range(KEY_GROUPS) for row in by_group.rows(group)]
    assert sorted(found) == sorted((n, task) for n in range(99) for task in (1, 2, 3))


def test_a_state_that_is_made_of_parts_is_read(tmp_path: Path) -> None:
    """The folder of a checkpoint with which a topology of another parallelism has begun."""
    source = open_checkpoint_store(written(tmp_path / "three", "memory", 3)).savepoint()
    folder = open_checkpoint_store(str(tmp_path / "two")).savepoint()
    for index in range(2):
        parts = [StatePart(KeyRange(at, 3), source.load(at + 1)) for at in range(3)]
        folder.save(index + 1, encode_parts(Parts(KeyRange(index, 2), tuple(parts))))
    described = Description(
        topology=NAME, checkpoint=1, at=1.0, version="x", is_savepoint=True,
        components={"count": SavedComponent((1, 2))},
    )  # fmt: skip
    folder.describe(to_json(described))
    assert entries_in(read_state(str(tmp_path / "two"), "count.seen")) == wanted("count.seen")


def test_a_table_of_arrow_has_types_that_are_declared(savepoint: str) -> None:
    typed = read_state(savepoint, "days.most", key_type="int64", value_type="double")
    table = typed.table()
    assert [str(field.type) for field in table.schema] == [
        "int64", "string", "double", "int32", "int32", "timestamp[us, tz=UTC]"
    ]  # fmt: skip
    rows = sorted(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
    assert rows == [(n, float(n)) for n in range(20)]
    frame = typed.pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["value"].sum() == sum(range(20))
    seen = read_state(savepoint, "count.seen").table().to_pylist()
    by_key = {row["key"]: row for row in seen}
    assert by_key['"w3"']["value"] == "3"
    assert by_key['"w3"']["expires_at"].timestamp() == 2003.5
    assert by_key["7"]["value"] == "null"


@pytest.mark.parametrize(
    ("name", "types", "text"),
    [
        ("days.most", {"value_type": "string"}, "which is not string"),
        ("days.most", {"value_type": "bool"}, "which is not bool"),
        ("count.seen", {"value_type": "int64"}, "which is not int64"),
        ("days.most", {"key_type": "int7"}, "Arrow has no type 'int7'"),
    ],
)
def test_a_value_of_another_type_is_an_error(
    savepoint: str, name: str, types: dict[str, str], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        read_state(savepoint, name, **types).table()


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_file_of_each_format_comes_back_as_the_same_state(
    tmp_path: Path, savepoint: str, form: str
) -> None:
    for name, (kind, _) in ENTRIES.items():
        file = tmp_path / f"{name}.{'jsonl' if form == 'json' else form}"
        rows = write_rows(read_state(savepoint, name), form, str(file))
        assert rows == len(ENTRIES[name][1])
        json_columns = ("key", "map_key", "value") if form == "csv" else ()

        entries = partial(entries_in_file, str(file), json_columns=json_columns)
        again = tmp_path / f"again-{name}"
        write_states(str(again), NAME, {name: entries}, {name: kind.value}, 2, "memory")
        assert entries_in(read_state(str(again), name)) == wanted(name)


def packing() -> PackingPlan:
    names = {"lines": (1,), "count": (2, 3), "days": (4, 5, 6)}
    instances = tuple(
        InstancePlan(task, name, index, RESOURCE)
        for name, tasks in names.items()
        for index, task in enumerate(tasks)
    )
    return PackingPlan(NAME, (ContainerPlan(1, instances, RESOURCE),))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_loader_of_all_savepoints_takes_it(tmp_path: Path, home: Path, backend: str) -> None:
    by_key = InputSpec("lines", "default", GroupingSpec(GroupingKind.FIELDS, ("word",)))
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE", "topology.state.backend": backend,
    }  # fmt: skip
    topology = TopologySpec(
        NAME,
        (
            ComponentSpec("lines", True, "m.S", 1),
            ComponentSpec("count", False, "m.B", 2, (), (by_key,)),
            ComponentSpec("days", False, "m.B", 3, (), (by_key,)),
        ),
        config,
    )
    tables = {name: read_state(written(tmp_path / "first", backend, 1), name).table()
              for name in ("count.seen",)}  # fmt: skip
    url = str(tmp_path / "signed")
    assert write_state(url, NAME, tables, backend=backend) == {"count.seen": 304}
    trust = Trust(key_of(str(home)))
    found = read_savepoint(url, topology, packing(), False, trust)
    assert found.description.components["count"].states[0].name == "seen"
    assert any("no state of days" in note for note in found.plan.notes)


def test_frames_of_pandas_and_columns_of_several_fields(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"key": ["storm", "heron"], "value": [3, 4]})
    fields = pa.struct([("word", pa.string()), ("day", pa.int64())])
    keys = pa.array([{"word": "a", "day": 1}, {"word": "b", "day": 2}], fields)
    table = pa.table({"key": keys, "value": pa.array([datetime(2026, 1, 2), None])})
    url = str(tmp_path / "new")
    assert write_state(url, NAME, {"count.seen": frame, "days.at": table}) == {
        "count.seen": 2, "days.at": 2,
    }  # fmt: skip
    assert {(row.key, row.value) for row in read_state(url, "count.seen").saved.rows()} == {
        ("storm", 3), ("heron", 4),
    }  # fmt: skip
    assert {(row.key, row.value) for row in read_state(url, "days.at").saved.rows()} == {
        (("a", 1), datetime(2026, 1, 2)), (("b", 2), None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "kind", "text"),
    [
        ({"key": ["a", "a"], "value": [1, 2]}, "value", "duplicate entry count.s: the key 'a'"),
        (
            {"key": ["a"], "value": [1], "map_key": ["x"]},
            "value",
            "has a map_key, and a value state",
        ),
        ({"key": ["a", "a"], "value": [1, 2], "map_key": [1, 0]}, "list", "come in their order"),
        ({"key": ["a"], "values": [1]}, "value", "has no column value"),
        ({"key": ["a"], "value": [1], "extra": [1]}, "value", "has a column 'extra'"),
        ({"key": ["a"], "value": [1]}, "windows", "cannot be a windows state"),
        ({"key": ["a"], "value": [1]}, "tree", "cannot be a 'tree' state"),
        ({"key": ["a"], "value": [1]}, "plain", "cannot be a plain state"),
    ],
)
def test_what_is_no_state_is_refused_and_leaves_nothing(
    tmp_path: Path, columns: dict[str, list[Any]], kind: str, text: str
) -> None:
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match=text):
        write_state(str(folder), NAME, {"count.s": pa.table(columns)}, kinds={"count.s": kind})
    assert not folder.exists()


def test_what_only_its_class_can_make_is_shown_and_not_written(tmp_path: Path) -> None:
    url = str(tmp_path / "strange")
    state = NewState("count", "s", StateKind.VALUE, [NewEntry("a", None, Strange())])
    write_savepoint(url, [state], SavepointPlan(topology=NAME, at=1.0))
    table = read_state(url, "count.s").table()
    (row,) = table.to_pylist()
    shown = json.loads(row["value"])
    assert shown["$object"] == f"{Strange.__module__}.Strange"
    with pytest.raises(UsageError, match="which only code of its topology can make"):
        write_state(str(tmp_path / "again"), NAME, {"count.s": table})


def test_a_folder_that_is_taken_and_names_that_are_wrong(tmp_path: Path, savepoint: str) -> None:
    table = pa.table({"key": ["a"], "value": [1]})
    with pytest.raises(UsageError, match="is not empty: name a folder that is new"):
        write_state(savepoint, NAME, {"count.s": table})
    with pytest.raises(UsageError, match=r"'count' is not COMPONENT\.STATE"):
        write_state(str(tmp_path / "new"), NAME, {"count": table})
    with pytest.raises(
        UsageError, match=r"has no state 'sen' of count \(it has: last, pages, seen"
    ):
        read_state(savepoint, "count.sen").table()
    with pytest.raises(UsageError, match=r"has no component 'cuont\.seen'"):
        read_state(savepoint, "cuont.seen")
    with pytest.raises(HeronError, match="is not a folder"):
        read_state("nothing-is-here", "count.seen")


def test_texts_that_are_json_say_so_or_are_named(tmp_path: Path) -> None:
    rng = Random(3)
    keys = [typed_text((rng.random(), n)) for n in range(9)]
    table = pa.table({"key": keys, "value": [typed_text({n}) for n in range(9)]})
    url = str(tmp_path / "new")
    write_state(url, NAME, {"count.s": table}, json_columns=("key", "value"))
    found = {row.key: row.value for row in read_state(url, "count.s").saved.rows()}
    assert found == {value_in(key): {n} for n, key in enumerate(keys)}
