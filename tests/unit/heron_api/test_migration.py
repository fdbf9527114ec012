"""State that an earlier version of a class has saved, and the class that takes it over."""

from typing import Any

import pytest

from heron_api.state.binding import component_state
from heron_api.state.component_state import ComponentState
from heron_api.state.migration import migrate
from heron_core.errors import ComponentError
from heron_core.topology import ComponentSpec

SPEC = ComponentSpec("count", False, "a.Count", 1)


class Count:
    """Version 2 keeps totals by key and the newest word by put."""

    state_version = 2

    def __init__(self) -> None:
        self.versions: list[int] = []

    def init_state(self, state: Any) -> None:
        self.state = state
        self.total = state.value_state("total", 0.0)

    def migrate(self, old: Any) -> None:
        self.versions.append(old.version)
        seen = old.map_state("seen")
        for key, numbers in list(seen.all_items()):
            self.total.for_key(key).put(float(sum(numbers.values())))
        seen.clear_all()
        self.state.put("newest", old.get("last"))


class NoMigration:
    """It says that its state is another, and not what to do."""

    state_version = 3


def saved_by_version_0() -> bytes:
    """Of a class that says nothing of versions."""
    state = component_state(SPEC, {})
    seen = state.map_state("seen")
    seen.for_key("a").put("x", 2)
    seen.for_key("a").put("y", 3)
    state.put("last", "y")
    return state.snapshot()


def begun(user: Any, saved: bytes | None) -> ComponentState:
    """An instance's state, as it is when `initialize` is called."""
    state = component_state(SPEC, {})
    if saved is not None:
        state.restore(saved)
    if hasattr(user, "init_state"):
        user.init_state(state)
    migrate(user, state, "count", is_restored=saved is not None)
    return state


def test_a_state_is_taken_over_once_and_knows_it() -> None:
    first, again = Count(), Count()
    state = begun(first, saved_by_version_0())
    assert (first.versions, dict(first.total.all_items())) == ([0], {"a": 5.0})
    begun(again, state.snapshot())
    assert (again.versions, dict(again.total.all_items())) == ([], {"a": 5.0})
    assert again.state.get("newest") == "y"


def test_what_was_put_belongs_to_its_instance_after_a_restore_as_well() -> None:
    before = begun(Count(), None)
    assert not before.is_fixed
    assert not begun(Count(), before.snapshot()).is_fixed
    before.put("newest", "x")
    assert before.is_fixed
    assert begun(Count(), before.snapshot()).is_fixed


def test_who_begins_without_state_has_nothing_to_take_over() -> None:
    user = Count()
    later = Count()
    begun(later, begun(user, None).snapshot())
    assert user.versions == later.versions == []


def test_a_class_without_migrate_is_told_apart() -> None:
    with pytest.raises(ComponentError, match="by state_version 0 of its class, but version 3 has"):
        begun(NoMigration(), saved_by_version_0())
