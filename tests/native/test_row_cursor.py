"""A cursor makes the tuples of lists, with equal acks."""

import gc
import sys
from array import array
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgpack
import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heron_core.wire.frames import EVERY_OWNER, header_of, root_owner
from heron_core.wire.values import array_of
from heron_frontends.adapters.tuple_layout import FromItems, Items, TupleLayout
from heron_instance.emit import output_buffers
from heron_instance.emit.output_buffers import Outbox
from heron_instance.input import anchors
from heron_instance.input.tuples import EngineTuple
from tests.native.hot_path_support import PYTHON, Careful, anchored

OWNERS = [(task << 44) + number for task in (1, 2) for number in (1, 2)]
"""Roots of two spouts."""
NEVER = float("inf")
BLOCKS_MAX, GROWTH_MAX = 1000, 4 << 20
"""Allowance for objects of the test and further threads: one in a thousand tuples, four bytes for
each."""


class Values(FromItems, namedtuple("Values", "first second")):
    """As pystorm's values of a stream."""

    __slots__ = ()


KINDS: tuple[Any, ...] = (None, tuple, Values)
values_kinds = st.sampled_from(KINDS)
numbers = st.integers(-(2**63), 2**64 - 1) | st.sampled_from(
    [sign * 2**bits + off for bits in (5, 7, 8, 15, 16, 31, 32, 62) for sign in (-1, 1)
     for off in (-1, 0, 1)]
)  # fmt: skip
texts = st.text(max_size=30) | st.integers(250, 300).map("é".__mul__) | st.just("x" * 70_000)
words = st.sampled_from(["", "a", "the", "nineteen letters ab", "é", "the\0"])
plain = st.one_of(st.none(), st.booleans(), numbers, st.floats(), texts, words,
                  st.binary(max_size=300))  # fmt: skip
plain_rows = st.lists(st.lists(plain, max_size=15), max_size=8)
others = st.one_of(st.lists(plain, max_size=1), st.dictionaries(words, plain, max_size=1),
                   st.just(msgpack.ExtType(1, b"x")), st.just([0] * 16))  # fmt: skip
runs = st.lists(
    st.tuples(st.sampled_from([0, *OWNERS]), st.integers(1, 2**64 - 1), st.integers(1, 3)),
    min_size=1,
    max_size=5,
)


def body_of(rows: list[Any]) -> bytes:
    return array_of([msgpack.packb(row) for row in rows])


def outbox_of(module: SimpleNamespace, tracked: bool) -> Any:
    """An outbox on the base class of the module, whose `settle` is the product's."""
    own = dict(vars(Outbox))
    own.pop("__dict__", None)
    own.pop("__weakref__", None)
    # super() in its methods names the class of their definition.
    made: Any = type("Room", (module.BufferRoom,), own)
    outbox = made.__new__(made)
    module.BufferRoom.__init__(outbox, 0, tracked)
    outbox.acks, outbox.fails = {}, []
    outbox.epoch, outbox.task = 1, 9
    return outbox


@contextmanager
def used_by_the_outbox(module: SimpleNamespace) -> Iterator[None]:
    """The outbox and the tuples have the anchor states of this variant, for either choice of this
    process."""
    shared = module.SharedAnchorState
    roots = module.roots_item(vars(Items)["roots"])
    with (
        patch.object(EngineTuple, "roots", roots),
        patch.object(TupleLayout, "roots", roots),
        patch.multiple(output_buffers, SharedAnchorState=shared, fold_acks=module.fold_acks),
        patch.multiple(anchors, SharedAnchorState=shared, fold_at_once=module.fold_at_once),
    ):
        yield


def cursor_of(
    module: SimpleNamespace,
    body: bytes,
    rows: int,
    given_runs: list[tuple[int, int, int]] | None = None,
    outbox: Any = None,
    kind: Any = EngineTuple,
    clock: Callable[[], float] = float,
    values_kind: Any = None,
) -> Any:
    """Of runs of (root, edge, size); None: of untracked tuples."""
    ids = sizes = None
    if given_runs is not None:
        ids = array("Q", [number for run in given_runs for number in run[:2]]).tobytes()
        sizes = array("I", [run[2] for run in given_runs]).tobytes()
    outbox = outbox or outbox_of(module, given_runs is not None)
    return module.RowCursor(
        kind, "a", "default", 7, 1.5, body, rows, ids, sizes, module.RowKeys(100), outbox, clock,
        values_kind,
    )  # fmt: skip


def taken(cursor: Any, number: int | None = None) -> Iterator[Any]:
    cursor.stretch(cursor.left if number is None else number, 0.0, NEVER)
    return iter(cursor)


def items_of(tup: Any) -> list[Any]:
    """Parts of a tuple, its values as their class and a list."""
    *head, values, created, roots = tuple.__iter__(tup)
    return [*head, (type(values), list(values)), created, roots]


@given(rows=plain_rows, values_kind=values_kinds)
def test_tuples_are_those_of_the_list(
    compiled: SimpleNamespace, rows: list[Any], values_kind: Any
) -> None:
    """Values keep their types and signs, in C as well as by msgpack; rows are of the class that is
    asked for, whose fields need not be as many."""
    kind = values_kind or list
    wanted = [[0, "a", "default", 7, (kind, row), 1.5, None] for row in rows]
    for module in (PYTHON, compiled):
        cursor = cursor_of(module, body_of(rows), len(rows), values_kind=values_kind)
        assert cursor.is_plain
        assert repr(list(map(items_of, taken(cursor)))) == repr(wanted)
        assert cursor.left == 0


def test_values_of_a_class_that_runs_python_are_left_to_the_list(
    compiled: SimpleNamespace,
) -> None:
    for kind in (namedtuple("Called", "a"), Careful, list, list[int], tuple[int], (1).__add__):
        for module in (PYTHON, compiled):
            assert not cursor_of(module, body_of([[1]]), 1, values_kind=kind).is_plain


@given(rows=plain_rows, other=others, at=st.integers(0, 8))
def test_other_values_are_left_to_the_list(
    compiled: SimpleNamespace, rows: list[Any], other: Any, at: int
) -> None:
    rows.insert(min(at, len(rows)), other if isinstance(other, list) else [other])
    for module in (PYTHON, compiled):
        is_plain = cursor_of(module, body_of(rows), len(rows)).is_plain
        assert is_plain == (isinstance(other, list) and len(other) < 16 and not any(
            isinstance(value, list) for value in other))  # fmt: skip


@given(
    rows=plain_rows,
    changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 3),
    items=st.integers(-1, 1),
)
@example(rows=[["é"]], changes=[(7, 0xFF)], cut=0, items=0)
def test_a_malformed_body_is_not_plain(
    compiled: SimpleNamespace,
    rows: list[Any],
    changes: list[tuple[int, int]],
    cut: int,
    items: int,
) -> None:
    """For any bytes, C and msgpack agree about plain bodies."""
    body = bytearray(body_of(rows))
    for at, byte in changes:
        body[at % len(body)] = byte
    data, wanted = bytes(body[: len(body) - cut]), len(rows) + items
    cursor = cursor_of(compiled, data, wanted)
    if cursor.is_plain:
        read = msgpack.unpackb(data)
        assert len(read) == wanted
        assert repr([tup.values for tup in taken(cursor)]) == repr(read)


@given(given_runs=runs, data=st.data(), keeps=st.booleans(), kind=st.sampled_from(
    [EngineTuple, TupleLayout, Careful]))  # fmt: skip
def test_acks_come_to_the_same(
    compiled: SimpleNamespace, given_runs: Any, data: st.DataObject, keeps: bool, kind: Any
) -> None:
    """In order, out of order, twice, late, and after a fail; by tuples that are kept or not."""
    total = sum(size for _, _, size in given_runs)
    acks_of = data.draw(
        st.just([[at] for at in range(total)])
        | st.lists(st.lists(st.integers(0, total - 1), max_size=3), min_size=total, max_size=total)
    )
    failed = data.draw(st.none() | st.integers(0, total - 1))
    found = []
    for module in (PYTHON, compiled):
        outbox = outbox_of(module, True)
        cursor = cursor_of(
            module, body_of([[f"value {at}"] for at in range(total)]), total, given_runs, outbox,
            kind,
        )  # fmt: skip
        seen: list[Any] = []
        with used_by_the_outbox(module):
            for at, tup in enumerate(taken(cursor)):
                seen.append(tup if keeps or any(at in acks for acks in acks_of[at + 1 :]) else None)
                shared = tup.roots
                if at == failed and hasattr(shared, "left") and shared:
                    assert shared.first_settle(tup.tuple_key)
                    shared.has_failed = True
                    continue
                for other in acks_of[at]:
                    if other <= at and seen[other] is not None:
                        outbox.acked.append(seen[other])
            outbox.settle()
        folded: dict[int, int] = dict(outbox.acks)
        pairs = iter(outbox.pairs.listed())
        for root, value in zip(pairs, pairs, strict=True):
            folded[root] = folded.get(root, 0) ^ value
        values = [None if tup is None else tup.values for tup in seen]
        found.append((folded, outbox.acks_counted, outbox.late, values, outbox.acked))
    assert found[0] == found[1]


def test_pairs_leave_as_one_packet(compiled: SimpleNamespace) -> None:
    """The packet names the owner of all pairs, or EVERY_OWNER for several."""
    for module in (PYTHON, compiled):
        for roots, owner in ((OWNERS[:2], root_owner(OWNERS[0])), (OWNERS, EVERY_OWNER)):
            outbox = outbox_of(module, True)
            outbox.pairs.extend(number for root in roots for number in (root, 5))
            ((head, frame),) = outbox._ack_messages()
            assert header_of([head]).destination == owner
            assert list(array("Q", frame)) == [number for root in roots for number in (root, 5)]
            assert outbox.pairs.listed() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_tuple_that_is_kept_stays_what_it_is(compiled: SimpleNamespace, kind: Any) -> None:
    """A released tuple is made anew, with its values."""
    rows = [[at, f"value {at}"] for at in range(1_000)]
    wanted = list(map(kind or list, rows))
    for module in (PYTHON, compiled):
        kept = list(taken(cursor_of(module, body_of(rows), len(rows), values_kind=kind)))
        assert [tup.values for tup in kept] == wanted
        values = [
            tup.values for tup in taken(cursor_of(module, body_of(rows), 1_000, values_kind=kind))
        ]
        assert values == wanted
        assert len(set(map(id, values))) == len(rows)
    assert len(addresses(cursor_of(compiled, body_of(rows), len(rows)))) <= 3
    assert len(addresses(cursor_of(PYTHON, body_of(rows), len(rows)))) > len(rows) / 2


def addresses(cursor: Any) -> set[int]:
    """Of its tuples. Memory of a freed tuple is taken at once by a kept tuple, so that the next
    tuple cannot reuse the memory by chance."""
    stays, found = [], set()
    for tup in taken(cursor):
        found.add(id(tup))
        stays.append(tuple.__new__(type(tup), tup))
    return found


def test_a_loop_ends_when_something_else_is_due(compiled: SimpleNamespace) -> None:
    """Every 8 tuples: for a due event, or after slow tuples; and the rest behind the cut."""
    rows = [[at] for at in range(40)]
    now = [0.0]
    for module in (PYTHON, compiled):
        now[0] = 0.0
        cursor = cursor_of(module, body_of(rows), len(rows), clock=lambda: now[0])
        cursor.stretch(40, 0.0, 5.0)
        for tup in cursor:
            now[0] += 0.0001 if tup.values[0] != 11 else 5.0
        assert (cursor.left, cursor[0].values) == (24, [15])
        now[0] = 0.0
        cursor.stretch(40, 0.0, 5.0)
        for _ in cursor:
            now[0] += 0.0002
        assert (cursor.left, now[0] - cursor.few_began_at > 0.001) == (16, True)
        cursor.stretch(3, 0.0, 5.0)
        assert [tup.values for tup in cursor] == [[24], [25], [26]]
        cursor.stretch(40, now[0], 5.0)
        assert [tup.values[0] for tup in cursor] == list(range(27, 40))
        assert cursor.left == 0


def test_roots_travel_as_a_list(compiled: SimpleNamespace) -> None:
    tup = anchored(compiled, 5, 6)
    state = tuple.__getitem__(tup, 6)
    make, arguments = state.__reduce__()
    assert (type(state), make(*arguments), tup.roots) == (compiled.RunState, [5, 6], [5, 6])
    assert tup.roots is state.whole()


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_tuples_leave_nothing_behind(compiled: SimpleNamespace, kind: Any) -> None:
    """Acked in their turn, late, twice and never; kept or not, with and without a look at roots."""
    sizes = [1, 2, 3, 5] * 25
    rows = [["word", at, 1.5, None] for at in range(sum(sizes))]
    given_runs = [(1 + at % 3, at, size) for at, size in enumerate(sizes)]
    body, outbox = body_of(rows), outbox_of(compiled, True)

    def messages(number: int) -> None:
        for _ in range(number):
            late: list[Any] = []
            for at, tup in enumerate(
                taken(cursor_of(compiled, body, 275, given_runs, outbox, values_kind=kind))
            ):
                if at % 7 == 3:
                    late.append(tup)
                elif at % 11:
                    outbox.acked.extend([tup] * (1 + (at % 13 == 5)))
                assert at % 17 or len(tup.roots) in (0, 2)
            outbox.acked += late
            outbox.settle()
            assert outbox._ack_messages()

    with used_by_the_outbox(compiled):
        messages(200)
        gc.collect()
        before = sys.getallocatedblocks(), psutil.Process().memory_info().rss
        messages(1_000_000 // len(rows))
        gc.collect()
        assert sys.getallocatedblocks() - before[0] < BLOCKS_MAX
        assert psutil.Process().memory_info().rss - before[1] < GROWTH_MAX


KEEP, REPLACE, DELETE, ADD, SWITCH, SEE, RAISE, NOTHING = ACTIONS = range(8)
"""Actions of user code on its current tuples, with `auto_ack`, or with a tuple's id."""


def act(user: SimpleNamespace, kept: list[Any], action: int) -> None:
    """Take an action, except SEE."""
    if action == KEEP:
        kept.append(user._current_tups)
    elif action == REPLACE:
        kept.append(user._current_tups)
        user._current_tups = [0]
    elif action == DELETE:
        del user._current_tups
    elif action == ADD:
        user._current_tups.append(0)
    elif action == SWITCH:
        user.auto_ack = not user.auto_ack
    elif action == RAISE:
        raise ValueError


def turns_of(module: SimpleNamespace, actions: list[int], acks: bool) -> Any:
    """Events of a user's object whose `process` takes these actions, one for each tuple."""
    user, named = SimpleNamespace(auto_ack=True, _current_tups=[]), dict[int, Any]()
    kept: list[Any] = []
    log: list[Any] = []
    source = iter(range(1, len(actions) + 1))

    def forget(tup: int) -> None:
        log.append(("forgotten", named.pop(tup, None)))

    ack = (lambda tup: log.append(("ack", tup))) if acks else None
    is_over = False
    while not is_over:
        try:
            for tup in module.CurrentTuples(source, user, ack, named, forget):
                log.append(("current", list(user._current_tups)))
                if actions[tup - 1] == SEE:
                    named[tup] = tup
                act(user, kept, actions[tup - 1])
            is_over = True
        except ValueError:
            log.append(("raised", user._current_tups))
    return log, kept, named, user


@given(actions=st.lists(st.sampled_from(ACTIONS), max_size=20), acks=st.booleans())
def test_current_tuples_are_the_same(
    compiled: SimpleNamespace, actions: list[int], acks: bool
) -> None:
    """A list kept by user code stays unchanged."""
    assert turns_of(PYTHON, actions, acks) == turns_of(compiled, actions, acks)


class Bolt:
    """Attributes of a class, until set on an object."""

    auto_ack = True
    _current_tups: list[Any] = []


class Computed(Bolt):
    """A property in place of an attribute."""

    @property
    def auto_ack(self) -> bool:  # type: ignore[override]
        return len(self._current_tups) == 1


class Asked(Bolt):
    """An attribute found by a function."""

    def __getattribute__(self, name: str) -> Any:
        return False if name == "auto_ack" else super().__getattribute__(name)


@pytest.mark.parametrize("kind", [Bolt, Computed, Asked])
def test_attributes_are_found_as_python_finds_them(compiled: SimpleNamespace, kind: Any) -> None:
    """After any change between two tuples: the object, its class, or a base."""
    base = type("Base", (kind,), {})

    def run(module: SimpleNamespace) -> list[int]:
        user_class = type("User", (base,), {})
        user, acked = user_class(), list[int]()
        changes: list[Callable[[], Any]] = [
            lambda: setattr(base, "auto_ack", False),
            lambda: setattr(user_class, "auto_ack", True),
            lambda: vars(user).update(auto_ack=False),
            lambda: vars(user).clear(),
            lambda: delattr(user_class, "auto_ack"),
            lambda: setattr(base, "auto_ack", 1),
            lambda: setattr(user, "other", 1),
            lambda: setattr(user, "__dict__", {"auto_ack": []}),
        ]
        turns = module.CurrentTuples(iter(range(100)), user, acked.append, {}, acked.remove)
        for tup in turns:
            assert user._current_tups == [tup]
            if tup % 3 == 2 and changes:
                changes.pop(0)()
        if "auto_ack" in vars(base):
            delattr(base, "auto_ack")
        return acked

    assert run(PYTHON) == run(compiled)


def test_turns_leave_nothing_behind(compiled: SimpleNamespace) -> None:
    actions = [*ACTIONS, *[NOTHING] * 100]
    turns_of(compiled, actions, True)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(1_000):
        turns_of(compiled, actions, True)
    gc.collect()
    assert sys.getallocatedblocks() - before < BLOCKS_MAX


def test_what_an_ack_raises_belongs_to_its_tuple(compiled: SimpleNamespace) -> None:
    for module in (PYTHON, compiled):
        user, source = SimpleNamespace(auto_ack=True, _current_tups=[]), iter([1, 2])
        turns = module.CurrentTuples(source, user, {}.__getitem__, {}, None)
        assert next(turns) == 1
        with pytest.raises(KeyError):
            next(turns)
        assert (user._current_tups, list(source)) == ([1], [2])


def test_a_thread_that_emits_leaves_acks_to_the_outbox(compiled: SimpleNamespace) -> None:
    """Emits before an ack leave before the ack."""
    for module in (PYTHON, compiled):
        outbox = outbox_of(module, True)
        cursor = cursor_of(module, body_of([[1], [2]]), 2, [(5, 6, 2)], outbox)
        outbox.foreign = SimpleNamespace(make_now=lambda: False)
        for tup in taken(cursor):
            outbox.acked.append(tup)
        assert (len(outbox.acked), outbox.pairs.listed()) == (2, [])
