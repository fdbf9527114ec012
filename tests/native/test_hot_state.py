"""The compiled states and the Python ones behave equally: tables, keys, and whole runs of both."""

import copy
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import StateError
from heron_core.state.codec import StateCodec
from heron_core.state.key_values import is_laid_out
from heron_core.state.protocol import ABSENT, StateKind, TableId
from heron_frontends.adapters.tuple_layout import TupleLayout
from heron_instance.input.tuples import EngineTuple, tuple_class
from tests.native.hot_path_support import PYTHON, Compiled, outcome_of, run_compiled, run_python

SEEDS = "range(12)"


class Unsaved:
    """Values that need pickle."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unsaved)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "Unsaved()"


keys = st.sampled_from(["a", "b", 1, ("a", 2), None, ("a",)])
subs: Any = st.sampled_from(["x", 0, None, ("x", 1), Unsaved()]) | st.just([])
values = st.sampled_from(
    [1, "text", b"bytes", 2.5, None, True, 1j, frozenset({1}), [1], {"x": 1}, {1}, (1, [2]), 2**80,
     Unsaved(), bytearray(b"x")]
)  # fmt: skip
operations = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "put"]), keys, values, subs),
    st.tuples(st.sampled_from(["get", "remove"]), keys, subs),
    st.tuples(st.sampled_from(["items", "last", "values", "remove_all"]), keys),
    st.tuples(st.just("append"), st.sampled_from(["list", "other list"]), values),
    st.tuples(st.sampled_from(["all_keys", "clear", "note", "note"])),
)
kinds = st.sampled_from([StateKind.VALUE, StateKind.PLAIN, StateKind.MAP])
many = st.lists(operations, max_size=40)


def step(table: Any, operation: str, *arguments: Any) -> Any:
    """An operation, and its result."""
    if operation == "note":
        return table.note_changes()
    if not hasattr(table, operation):  # of lists and maps alone
        return None
    found = outcome_of(getattr(table, operation), *copy.deepcopy(arguments))
    return list(found) if operation == "all_keys" else found


def saved(table: Any) -> Any:
    """A snapshot's content."""
    if hasattr(table, "size"):
        return list(table.entries.values()), table.changed, table.size
    return table.values(), table.changes()


@given(kind=kinds, steps=many)
def test_tables_hold_and_note_the_same(
    compiled: SimpleNamespace, kind: StateKind, steps: list[Any]
) -> None:
    nested = kind is StateKind.MAP
    found: list[Any] = []
    for module in (PYTHON, compiled):
        table_id = TableId("table", kind, nested)
        codec = StateCodec("component", pickles=False)
        table = (module.NestedTable if nested else module.FlatTable)(table_id, codec)
        outcomes: list[Any] = []
        for each in steps:
            outcomes.append((step(table, *each), list(table.entries), table.kinds))
            outcomes.append((table.is_all_new, saved(table)))
        found.append(repr(outcomes))
        if nested:
            assert table.size == sum(map(len, table.entries.values()))
            assert all(table.entries.values())
    assert found[0] == found[1]


plain = st.one_of(
    st.text(max_size=40), st.binary(max_size=40), st.integers(-(2**64), 2**64), st.floats(),
    st.booleans(), st.none(), st.sampled_from(["x" * 5000, "\ud800", "é" * 40, "k" * 300]),
)  # fmt: skip


@given(
    before=st.lists(st.tuples(plain, plain | values), max_size=20),
    after=st.lists(st.tuples(plain, plain | values | st.just(ABSENT)), max_size=20),
)
def test_entries_are_packed_as_the_codec_packs_them_or_left_to_it(
    compiled: SimpleNamespace, before: list[Any], after: list[Any]
) -> None:
    codec = StateCodec("component")
    table = compiled.FlatTable(TableId("table", StateKind.VALUE, False), codec)
    _change(table, before)
    table.note_changes()
    _change(table, after)
    changed, changes, gone = table.changes()
    for full, some, theirs in (
        (False, changed, changes), (True, list(table.entries), table.values()),
    ):  # fmt: skip
        is_short = all(map(_is_short_and_plain, some + theirs))
        removed = [] if full else gone
        expected = (codec.pack(some), codec.pack(theirs), removed) if is_short else None
        assert table.packed(full=full) == expected


def _change(table: Any, steps: list[Any]) -> None:
    for key, value in steps:
        if value is ABSENT:
            table.remove(key)
        else:
            table.put(key, value)


def _is_short_and_plain(value: Any) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, str):
        return len(value) < 4000 and value != "\ud800"
    return value is None or type(value) in (bytes, float)


@pytest.mark.parametrize("number", [15, 16, 65_535, 65_536])
def test_an_array_has_the_head_of_its_length(compiled: SimpleNamespace, number: int) -> None:
    codec = StateCodec("component")
    table = compiled.FlatTable(TableId("table", StateKind.VALUE, False), codec)
    _change(table, [(str(each), each) for each in range(number)])
    keys = list(table.entries)
    assert table.packed(full=True) == (codec.pack(keys), codec.pack(list(range(number))), [])


def test_keys_that_come_and_go_are_noted_no_longer(compiled: SimpleNamespace) -> None:
    for module in (PYTHON, compiled):
        for kind, make in (
            (StateKind.VALUE, module.FlatTable),
            (StateKind.MAP, module.NestedTable),
        ):
            table = make(TableId("table", kind, kind.is_nested), StateCodec("component"))
            table.note_changes()
            noted = []
            for number in range(1100):
                table.put(number, 1, "x")
                table.remove(number, "x")
                noted.append(not table.is_all_new)
            assert noted.index(False) == 1000


class Backwards(NamedTuple):
    """A tuple with other items."""

    values: Any
    stream: str
    component: str


class Plain:
    """No tuple at all."""

    def __init__(self, component: str, stream: str, values: Any) -> None:
        self.component, self.stream, self.values = component, stream, values


class Renamed(TupleLayout):
    """A tuple whose methods contradict its items."""

    @property
    def stream(self) -> str:
        """Another stream."""
        return "renamed"


class Answering(TupleLayout):
    """A tuple whose attributes are found by its own code."""

    def __getattribute__(self, name: str) -> Any:
        return "answered" if name == "stream" else super().__getattribute__(name)


def laid_out(kind: Any) -> Any:
    """Makes tuples of a class as the engine does."""
    return lambda component, stream, values: kind((0, component, stream, 1, values, 0.0, None))


MAKERS = {
    "engine": laid_out(EngineTuple),
    "bolt": laid_out(tuple_class({("a", "default"): ("x", "y", "z")})),
    "layout": laid_out(TupleLayout),
    "renamed": laid_out(Renamed),
    "answering": laid_out(Answering),
    "backwards": lambda component, stream, values: Backwards(values, stream, component),
    "plain": Plain,
    "short": lambda component, stream, values: EngineTuple((0, component, stream)),
}
LAID_OUT = {"engine", "bolt", "layout", "short"}
key_values = st.one_of(values, st.lists(values, max_size=2), st.tuples(values), st.text(max_size=2))
tuples = st.tuples(
    st.sampled_from(list(MAKERS)), st.sampled_from("ab"), st.sampled_from(["default", "other"]),
    st.lists(key_values, min_size=2, max_size=3) | st.tuples(key_values, key_values, key_values),
)  # fmt: skip


def test_a_layout_is_recognised() -> None:
    found = {name for name, make in MAKERS.items() if is_laid_out(type(make("a", "default", [])))}
    assert found == LAID_OUT


@given(rows=st.lists(tuples, max_size=20))
def test_a_tuple_has_the_same_key(compiled: SimpleNamespace, rows: list[Any]) -> None:
    positions = {("a", "default"): [1], ("b", "default"): [0, 2], ("a", "other"): [2, 1, 0],
                 ("a", "renamed"): [0], ("a", "answered"): [0, 1]}  # fmt: skip

    def positions_of(tup: Any) -> list[int]:
        try:
            return positions[tup.component, tup.stream]
        except KeyError:
            raise StateError("no key") from None

    found = []
    for module in (PYTHON, compiled):
        key_of_tuple = module.TupleKeys(positions_of)
        made = [MAKERS[kind](*copy.deepcopy(row)) for kind, *row in rows]
        found.append(repr([outcome_of(key_of_tuple, tup) for tup in made]))
    assert found[0] == found[1]


def test_whole_runs_come_to_the_same(extensions: Compiled) -> None:
    """Each step's contents and each snapshot's bytes, of states with and without time to live,
    through snapshots, restores and changed numbers of tasks."""
    program = f"from tests.native.state_steps import print_steps; print_steps({SEEDS})"
    in_python, in_c = run_python(program), run_compiled(extensions, program)
    assert in_python.returncode == in_c.returncode == 0, in_python.stderr + in_c.stderr
    lines = list(zip(in_python.stdout.splitlines(), in_c.stdout.splitlines(), strict=True))
    assert len(lines) > 12 * 600
    assert [pair for pair in lines if pair[0] != pair[1]][:1] == []
