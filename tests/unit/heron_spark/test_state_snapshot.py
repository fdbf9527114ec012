"""What a component remembers."""

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_spark.worker import state_snapshot
from heron_spark.worker.state_snapshot import StateSnapshot


class Component:
    """Any component; `engine` stands for a part of ours."""

    def __init__(self, engine: Any) -> None:
        self.emit = engine
        self.count = 0


class Selective(Component):
    """It says itself what to keep."""

    def __getstate__(self) -> dict[str, Any]:
        return {"kept": self.count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.count = state["kept"] * 10


class Users:
    """What a component of another API drives."""

    def __init__(self) -> None:
        self.total = 0
        self.lock = threading.Lock()

    def process(self, tup: Any) -> None:
        self.total += tup


def emit(values: Any) -> None:
    """The engine's."""


def other_emit(values: Any) -> None:
    """That of another process."""


def memory(component: Any, engine: Any = emit, told: list[str] | None = None) -> StateSnapshot:
    lines = [] if told is None else told
    return StateSnapshot(component, {"component.emit": engine}, {"emit"}, lines.append)


def moved(old: Any, new: Any) -> dict[str, Any]:
    """Save one component, give it to another; returns the extra values."""
    return memory(new, other_emit).restore(memory(old).save({"finished": True}))


def test_attributes_move_and_the_engine_s_parts_are_the_new_ones() -> None:
    old, new = Component(emit), Component(other_emit)
    old.count, old.words = 3, {"a": 1}  # type: ignore[attr-defined]
    assert moved(old, new) == {"finished": True}
    assert vars(new) == {"emit": other_emit, "count": 3, "words": {"a": 1}}


def test_attributes_that_share_an_object_still_do() -> None:
    old, new = Component(emit), Component(other_emit)
    old.first = old.second = ["shared"]  # type: ignore[attr-defined]
    old.myself = old  # type: ignore[attr-defined]
    moved(old, new)
    assert new.first is new.second  # type: ignore[attr-defined]
    assert new.myself is new  # type: ignore[attr-defined]


def test_what_cannot_be_saved_is_left_out_and_named_once() -> None:
    told: list[str] = []
    old, new = Component(emit), Component(other_emit)
    old.lines = (number for number in range(3))  # type: ignore[attr-defined]
    new.lines = "made by initialize"  # type: ignore[attr-defined]
    old.count = 5
    saving = memory(old, told=told)
    saving.save({})
    old.count = 6
    memory(new, other_emit).restore(saving.save({}))
    assert new.count == 6
    assert new.lines == "made by initialize"  # type: ignore[attr-defined]
    (line,) = told
    assert line.startswith("attribute 'lines' (a generator) cannot be saved")


def test_a_function_made_at_run_time_is_saved() -> None:
    old, new = Component(emit), Component(other_emit)
    old.double = lambda number: 2 * number  # type: ignore[attr-defined]
    moved(old, new)
    assert new.double(4) == 8  # type: ignore[attr-defined]


def test_getstate_and_setstate_are_honoured() -> None:
    old, new = Selective(emit), Selective(other_emit)
    old.count = 4
    moved(old, new)
    assert new.count == 40
    assert new.emit is other_emit


def test_the_object_of_another_door_is_saved_attribute_by_attribute() -> None:
    old, new = Component(emit), Component(other_emit)
    old.user, new.user = Users(), Users()  # type: ignore[attr-defined]
    old.user.process(7)  # type: ignore[attr-defined]
    lock = new.user.lock  # type: ignore[attr-defined]
    moved(old, new)
    assert new.user.total == 7  # type: ignore[attr-defined]
    assert new.user.lock is lock  # type: ignore[attr-defined]


def test_what_becomes_unsaveable_later_is_found() -> None:
    told: list[str] = []
    old = Component(emit)
    saving = memory(old, told=told)
    saving.save({})

    def numbers() -> Iterator[int]:
        yield 1

    old.numbers = numbers()  # type: ignore[attr-defined]
    saving.save({})
    assert len(told) == 1


class Unpicklable:
    """Like a lock; it counts how often it is tried."""

    def __init__(self) -> None:
        self.tries = 0

    def __getstate__(self) -> object:
        self.tries += 1
        raise TypeError("it does not pickle")


@pytest.mark.parametrize(("items", "expected"), [(1, 100), (10, 9)])
def test_a_large_attribute_that_does_not_pickle_is_not_tried_in_each_batch(
    items: int, expected: int
) -> None:
    # A list of texts with a lock behind them: each try pickles all of the texts.
    component, lock = Component(emit), Unpicklable()
    large = [str(number) + "x" * state_snapshot.RETRY_BYTES for number in range(items)]
    component.found = [*large[1:], lock]  # type: ignore[attr-defined]
    saving = memory(component)
    saving.save({})
    lock.tries = 0
    for _ in range(100):
        saving.save({})
    assert lock.tries in (expected, expected + 1)
    component.found = large  # type: ignore[attr-defined]
    other = Component(other_emit)
    memory(other, other_emit).restore(saving.save({}))
    assert other.found == large, "another value is saved at once"  # type: ignore[attr-defined]


def test_what_can_be_saved_again_is_saved_again() -> None:
    old, new = Component(emit), Component(other_emit)
    old.lines = (number for number in range(3))  # type: ignore[attr-defined]
    old.locks = {"lock": threading.Lock(), "count": 1}  # type: ignore[attr-defined]
    saving = memory(old)
    saving.save({})
    assert saving.unsaved == ("lines", "locks")
    old.lines = [1, 2]  # type: ignore[attr-defined]
    del old.locks["lock"]  # type: ignore[attr-defined]
    memory(new, other_emit).restore(saving.save({}))
    assert not saving.unsaved
    assert (new.lines, new.locks) == ([1, 2], {"count": 1})


def test_another_value_does_not_inherit_the_pause_of_the_one_before() -> None:
    component, other = Component(emit), Component(other_emit)
    large = ["x" * state_snapshot.RETRY_BYTES for _ in range(10)]
    component.found = [tuple(large), threading.Lock()]  # type: ignore[attr-defined]
    saving = memory(component)
    for _ in range(2):
        saving.save({})
    small = {"lock": threading.Lock(), "count": 1}
    component.found = small  # type: ignore[attr-defined]
    saving.save({})
    del small["lock"]
    memory(other, other_emit).restore(saving.save({}))
    assert not saving.unsaved
    assert other.found == {"count": 1}  # type: ignore[attr-defined]


def test_data_that_a_restart_has_lost_is_named_and_connections_are_not(tmp_path: Path) -> None:
    old, new = Component(emit), Component(other_emit)
    old.lines = (number for number in range(3))  # type: ignore[attr-defined]
    old.locks = {"lock": threading.Lock()}  # type: ignore[attr-defined]
    old.lock = threading.Lock()  # type: ignore[attr-defined]
    with open(tmp_path / "written", "w") as file:
        old.file = file  # type: ignore[attr-defined]
        saving, restored = memory(old), memory(new, other_emit)
        restored.restore(saving.save({}))
    assert saving.unsaved == ("file", "lines", "lock", "locks")
    assert saving.forgotten == ()
    assert restored.forgotten == ("lines", "locks")


def test_a_state_that_was_saved_before_data_was_told_apart_is_restored() -> None:
    new = Component(other_emit)
    restored = memory(new, other_emit)
    restored.restore(pickle.dumps({"extra": {}, "holders": {"": {"count": 3}}}))
    assert (new.count, restored.forgotten) == (3, ())
