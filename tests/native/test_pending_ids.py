"""Pending tuple ids and calls of user code behave in C as in Python, where a dict has the ids."""

import gc
import sys
from array import array
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.native.hot_path_support import PYTHON

FIRST = 7 << 44
PUT, POP, TIME, NEWEST, SETTLE = range(5)
steps = st.lists(
    st.tuples(st.sampled_from([PUT, PUT, POP, TIME, NEWEST, SETTLE]), st.integers(0, 40)),
    max_size=60,
)


def came_of(module: SimpleNamespace, given_steps: list[tuple[int, int]]) -> list[Any]:
    """Results and calls of the steps; roots rise as those of a spout."""
    pending, started, came = module.pending_ids(), dict[int, float](), list[Any]()
    next_root = FIRST

    def ack(tup_id: Any) -> None:
        came.append(("ack", tup_id))
        if tup_id[0] % 5 == 0:
            raise ValueError

    def complete(root: int) -> None:
        came.append(("complete", root, started.pop(root)))

    def raised(name: str) -> None:
        came.append((name, type(sys.exc_info()[1])))

    for step, number in given_steps:
        root = FIRST + number
        if step == PUT:
            pending[next_root] = [number]
            next_root += 1
        elif step == POP and root in pending:
            came.append((pending[root], pending.pop(root), started.pop(root, None)))
        elif step == TIME and root in pending:
            module.time_root(pending, started, root, float(number))
        elif step == NEWEST:
            came.append(module.newest_root(pending))
        elif step == SETTLE:
            roots = array("Q", [root, root + 3, root])
            came.append(module.settle_acked(pending, roots, started, complete, ack, raised))
        came.append((len(pending), list(pending), list(pending.items()), list(reversed(pending))))
    came.append((list(pending.values()), set(pending.keys()), pending == dict(pending.items())))
    return came


@given(given_steps=steps)
def test_pending_ids_are_a_dict(
    compiled: SimpleNamespace, given_steps: list[tuple[int, int]]
) -> None:
    assert came_of(PYTHON, given_steps) == came_of(compiled, given_steps)


def test_a_root_that_is_not_pending_is_a_key_error(compiled: SimpleNamespace) -> None:
    for module in (PYTHON, compiled):
        pending = module.pending_ids()
        for act in (pending.pop, pending.__getitem__, pending.__delitem__):
            with pytest.raises(KeyError):
                act(FIRST)
        assert (len(pending), module.newest_root(pending), FIRST in pending) == (0, 0, False)


def test_ids_are_held_until_they_are_settled(compiled: SimpleNamespace) -> None:
    """An id has a reference for each root; the end of the table frees the rest."""
    tup_id: Any = object()
    before = sys.getrefcount(tup_id)
    pending = compiled.pending_ids()
    for root in (FIRST, FIRST + 1, FIRST, FIRST + 2):
        pending[root] = tup_id
    assert sys.getrefcount(tup_id) == before + 3
    compiled.settle_acked(pending, array("Q", [FIRST]), {}, None, None, None)
    assert sys.getrefcount(tup_id) == before + 2
    del pending
    assert sys.getrefcount(tup_id) == before


def test_roots_of_a_million_emits_leave_nothing_behind(compiled: SimpleNamespace) -> None:
    pending = compiled.pending_ids()

    def emits(first: int, number: int) -> None:
        for root in range(first, first + number):
            pending[root] = (root,)
            if root - first >= 100:
                roots = array("Q", [root - 100])
                assert compiled.settle_acked(pending, roots, {}, None, hash, None) == 1

    emits(FIRST, 10_000)
    gc.collect()
    before = sys.getallocatedblocks()
    emits(FIRST + 9_900, 100_000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1_000


class Spout:
    """A driver whose next_tuple follows a plan."""

    def __init__(self, module: SimpleNamespace, plan: list[str]) -> None:
        self.outbox = module.BufferRoom(1000, True)
        self.plan = iter(plan)
        self.component = self
        self.finished = False
        self.log: list[str] = []

    def refuse_returned(self, value: object) -> None:
        """A value is an error of user code."""
        raise TypeError(value)

    def user_raised(self, name: str) -> None:
        """The exception of a call."""
        self.log.append(f"{name} {sys.exc_info()[1]!r}")

    def next_tuple(self) -> Any:
        """The next part of the plan."""
        part = next(self.plan)
        if part == "emit":
            self.outbox.room -= 1
        elif part == "flush":
            self.outbox.flushes += 1
        elif part == "finish":
            self.outbox.room -= 1
            self.finished = True
        elif part == "raise":
            raise ValueError(part)
        return 5 if part == "return" else None


@given(
    plan=st.lists(st.sampled_from(["emit", "flush", "finish", "raise", "return", "nothing"]),
                  min_size=8, max_size=8),
    most=st.integers(1, 8),
)  # fmt: skip
def test_calls_of_next_tuple_end_alike(
    compiled: SimpleNamespace, plan: list[str], most: int
) -> None:
    """With the last call, with a call without output, and with the end of the spout."""
    found = []
    for module in (PYTHON, compiled):
        spout = Spout(module, plan)
        calls = module.next_tuples(spout, spout.outbox, spout.next_tuple, most)
        found.append((calls, spout.log, list(spout.plan), spout.outbox.room))
    assert found[0] == found[1]
    calls, _, left, _ = found[0]
    assert len(left) == len(plan) - abs(calls)
    assert calls < 0 or calls == most or plan[calls - 1] == "finish"
