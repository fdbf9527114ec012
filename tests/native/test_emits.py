"""Emits in C: the slots of plain keys, pystorm's emits, and their leftovers."""

import gc
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from tests.native.hot_path_support import KEYED, PYTHON, SEVERAL, WAYS, Emitted, Emitter
from tests.native.test_hot_path import CALLS_MAX, calls, states

EMITS, ROUNDS = 250_000, 10
GROWTH_MAX = 4 << 20
"""16 bytes for each emit; the smallest block of malloc has 32."""
BLOCKS_MAX = 1000
"""One in 250 emits: each of the 35 kinds of calls below would leave seven times as many behind.
Caches of Python's and threads of other tests have kept 149."""
KEYS = (0.0, -0.0, 0.5, -2.25, 1e18, -1e18, 2.0**53 + 2, 1 / 3, 2.0**-10, 2.0**-62, 3 * 2.0**-63,
        float("inf"), float("-inf"), float("nan"), True, False, None)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_no_text_or_integer_is_not_looked_up_either(
    compiled: SimpleNamespace, key: Any
) -> None:
    for slots in (1, 2, 7, 1000):
        of_one = compiled.PlainKeys({}, list(range(slots)), False)[key]
        assert of_one == slot(stable_hash([key]), slots)
        of_two = compiled.PlainKeys({}, list(range(slots)), True)[key, "a"]
        assert of_two == slot(stable_hash([key, "a"]), slots)


@pytest.mark.parametrize("key", [1e300, 2.0**63, 2.0**-64, 5e-324])
def test_a_fraction_of_more_than_64_bits_is_looked_up(
    compiled: SimpleNamespace, key: float
) -> None:
    assert compiled.PlainKeys({key: "looked up"}, [1, 2], False)[key] == "looked up"


@given(tracked=st.booleans(), way=st.sampled_from(WAYS), three=st.tuples(states, states, states),
       are_numbers=st.booleans(), autos=st.lists(st.booleans(), min_size=CALLS_MAX + 1),
       sequence=calls)  # fmt: skip
def test_a_bolt_of_pystorm_emits_the_same(
    compiled: SimpleNamespace, tracked: bool, way: str, three: Any, are_numbers: bool,
    autos: list[bool], sequence: list[Emitted],
) -> None:  # fmt: skip
    """Emits without anchors are anchored to the current tuples, unless disabled."""
    outcomes = []
    for module in (PYTHON, compiled):
        emitter = Emitter(module, tracked, way, three, are_numbers)
        user = SimpleNamespace()
        emit, returned = emitter.bolt(user, get_ident), []
        for each, auto, names in zip(sequence, autos, autos[1:], strict=False):
            emitter.begin(each)
            user.auto_anchor, user._current_tups = auto, emitter.chosen(each) or []
            named = user._current_tups if names else None
            returned.append(emit(each.values, anchors=named, direct_task=each.direct_task))
        outcomes.append((returned, emitter.outcome()))
    assert outcomes[0] == outcomes[1]


@given(tracked=st.booleans(), three=st.tuples(states, states, states), are_numbers=st.booleans(),
       is_pystorm=st.booleans(), sequence=calls)  # fmt: skip
def test_a_direct_stream_is_the_same(
    compiled: SimpleNamespace, tracked: bool, three: Any, are_numbers: bool, is_pystorm: bool,
    sequence: list[Emitted],
) -> None:  # fmt: skip
    """Each emit has to name a task; an emit without a task is refused."""
    outcomes = []
    for module in (PYTHON, compiled):
        bolt = Emitter(module, tracked, SEVERAL, three, are_numbers, wants_direct=True)
        spout = Emitter(module, tracked, SEVERAL, wants_direct=True)
        user = SimpleNamespace(auto_anchor=True, _current_tups=[])
        emit = bolt.bolt(user, get_ident) if is_pystorm else bolt.bolt()
        begin = spout.spout(True, get_ident if is_pystorm else None)
        returned = []
        for each in sequence:
            bolt.begin(each)
            user._current_tups, task = bolt.chosen(each) or [], each.direct_task
            named = None if is_pystorm else user._current_tups
            returned.append(emit(each.values, each.stream, named, direct_task=task))
            returned.append(begin(each.values, each.tup_id, each.stream, direct_task=task))
        outcomes.append((returned, bolt.outcome(), spout.outcome()))
    assert outcomes[0] == outcomes[1]


def test_anchors_are_looked_for_where_python_looks(compiled: SimpleNamespace) -> None:
    """After any change between two emits: the object, its class, or the tuple in its list."""

    def run(module: SimpleNamespace) -> Any:
        emitter = Emitter(module, states=[(1, 2), (3, 4), (5, 6)])
        first, second, third = emitter.anchors
        kind = type("User", (), {"auto_anchor": True, "_current_tups": [first]})
        user, log = kind(), list[Any]()
        emit = emitter.bolt(user, get_ident)
        changes: list[Callable[[], Any]] = [
            lambda: None,
            lambda: vars(user).update(_current_tups=[second]),
            lambda: vars(user)["_current_tups"].__setitem__(0, third),
            lambda: setattr(kind, "auto_anchor", False),
            lambda: setattr(user, "auto_anchor", 1),
            lambda: vars(user).clear(),
            lambda: setattr(kind, "auto_anchor", property(lambda self: True)),
            lambda: setattr(user, "_current_tups", []),
        ]
        for change in changes:
            change()
            for named in (None, [], [third], (second,), [first, second], "id"):
                log.append(emit(["a", 1], anchors=named))
        return log, emitter.outcome()

    assert run(PYTHON) == run(compiled)


def test_an_anchored_emit_has_anchors_where_none_are_named(compiled: SimpleNamespace) -> None:
    for module in (PYTHON, compiled):
        given, current = list[Any](), ["a tuple"]

        def take(tup: Any, stream: str, anchors: Any, direct_task: Any, need_task_ids: Any) -> None:
            given.append((tup, stream, anchors, direct_task, need_task_ids))  # noqa: B023

        emit = module.anchored_emit(take, current, "default")
        emit([1])
        emit([2], "named", ["another"], 3, True)
        emit(tup=[4], anchors=[], direct_task=5)
        assert given == [
            ([1], "default", current, None, False),
            ([2], "named", ["another"], 3, True),
            ([4], "default", [], 5, False),
        ]
        assert given[0][2] is current
        for wrong, names in (((), {}), (([1],), {"tup": [2]}), (([1],), {"unknown": 1})):
            with pytest.raises(TypeError):
                emit(*wrong, **names)


def test_anchored_emits_leave_nothing_behind(compiled: SimpleNamespace) -> None:
    def make(number: int) -> None:
        for _ in range(number):
            own: list[Any] = []
            emit = compiled.anchored_emit(lambda *arguments: None, own, "default")
            own.append(emit)  # a cycle
            emit([1])

    make(1000)
    gc.collect()
    before = sys.getallocatedblocks()
    make(10_000)
    gc.collect()
    assert sys.getallocatedblocks() - before < BLOCKS_MAX


def test_emits_of_other_threads_are_left_to_the_general_one(compiled: SimpleNamespace) -> None:
    """Whatever tells the threads apart."""
    idents: list[Callable[[], int]] = [get_ident, lambda: get_ident() + 1]
    user = SimpleNamespace(auto_anchor=True, _current_tups=[])
    for module, ident in product((PYTHON, compiled), idents):
        emitter = Emitter(module)
        bolt, spout = emitter.bolt(user, ident), emitter.spout(False, ident)
        with ThreadPoolExecutor(1) as elsewhere:
            for emit in (bolt, spout):
                assert emit(["a", 1]) is None
                assert elsewhere.submit(emit, ["a", 1]).result() == "general"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("tracked", "are_numbers"), [(True, True), (True, False), (False, False)])
def test_many_emits_leave_nothing_behind(
    compiled: SimpleNamespace, way: str, tracked: bool, are_numbers: bool
) -> None:
    """Neither objects nor memory of C: of plain tuples, of packed ones, and tuples of the general
    emit."""
    emitter = Emitter(compiled, tracked, way, [(1, 2), None, (3, 4, 5, 6)], are_numbers)
    emitter.outbox.room = 2**62
    emit, buffers = emitter.bolt(), (*emitter.buffers, emitter.fanout)
    tuples: list[Any] = [["a", 1], ("a", 2), [None, 3], [[1.5], 2], ["a" * 50, 1], ["a"], [{1}, 2]]
    calls: list[Any] = [
        (values, emitter.chosen(Emitted(values, anchors=anchors)))
        for values in tuples
        for anchors in ((), (0,), (1,), (2,), None)
    ]

    def round_of_emits() -> None:
        for _ in range(EMITS // ROUNDS // len(calls)):
            for values, anchors in calls:
                emit(values, anchors=anchors)
        for buffer in buffers:
            buffer.clear()
        emitter.log.clear()

    for _ in range(3):
        round_of_emits()
    blocks, size, references = _memory(calls)
    for _ in range(ROUNDS):
        round_of_emits()
    blocks_now, size_now, references_now = _memory(calls)
    assert blocks_now - blocks < BLOCKS_MAX
    assert size_now - size < GROWTH_MAX
    assert references_now == references


@pytest.mark.parametrize("way", [SEVERAL, KEYED])
@pytest.mark.parametrize("tracked", [True, False])
def test_many_emits_of_a_spout_leave_nothing_behind(
    compiled: SimpleNamespace, way: str, tracked: bool
) -> None:
    """Into one buffer and into several, to a named task and to a missing one."""
    emitter = Emitter(compiled, tracked, way)
    emitter.outbox.room = 2**62
    emit, buffers = emitter.spout(True), (*emitter.buffers, emitter.fanout)
    tuples: list[Any] = [["a", 1], ("a", 2), ["a", 70], [[1.5], 2], ["a" * 50, 1], ["a"], [{1}, 2]]
    calls = [
        (values, tup_id, task)
        for values in tuples
        for tup_id in (None, object())
        for task in (None, 1, 77)
    ]

    def round_of_emits() -> None:
        for _ in range(EMITS // ROUNDS // len(calls)):
            for values, tup_id, task in calls:
                emit(values, tup_id, direct_task=task)
            emitter.pending.clear()
        for held in (*buffers, emitter.log, emitter.done, emitter.inits):
            held.clear()

    for _ in range(3):
        round_of_emits()
    before = _memory(calls)
    for _ in range(ROUNDS):
        round_of_emits()
    blocks, size, references = _memory(calls)
    assert blocks - before[0] < BLOCKS_MAX
    assert size - before[1] < GROWTH_MAX
    assert references == before[2]


def _memory(calls: Sequence[tuple[Any, ...]]) -> tuple[int, int, list[int]]:
    """Python's blocks, the process's memory, and the references to emitted objects."""
    gc.collect()
    given_objects = [each for call in calls for each in call if each is not None]
    references = [sys.getrefcount(each) for each in given_objects]
    return sys.getallocatedblocks(), psutil.Process().memory_info().rss, references
