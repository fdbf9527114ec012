"""Notes of a replay about values that a component's code takes from elsewhere."""

import sys
import threading
from types import ModuleType

import pytest

from heron_core.topology import ComponentSpec
from heron_tester.replay_notes import notes_of_code

MODULE = "streamparse.storm.bolt"


class OfStreamparse:
    """A base class; streamparse's own module imports threading."""


class Counted(OfStreamparse):
    """User code."""


@pytest.mark.parametrize(
    ("class_path", "notes"),
    [
        (
            f"{__name__}.Counted",
            ["threads of threading, which its module imports, are not recorded"],
        ),
        (
            "tests.sim.pools.PooledBolt",
            ["random numbers of random, which its module imports, are not recorded"],
        ),
    ],
)
def test_modules_of_user_code_are_named(class_path: str, notes: list[str]) -> None:
    assert notes_of(class_path) == notes


def test_modules_of_base_classes_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(MODULE)
    vars(module)["threading"] = threading
    monkeypatch.delattr(sys.modules[__name__], "threading")
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setattr(OfStreamparse, "__module__", MODULE)
    assert notes_of(f"{__name__}.Counted") == []


def notes_of(class_path: str) -> list[str]:
    spec = ComponentSpec("counted", False, class_path, 1, (), (), {})
    return notes_of_code(spec, spec, allow_external=False)
