"""What is mutated, and what is left alone."""

import ast

from tests.mutants.mutations import mutations

CODE = b'''"""A module."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os
Kind = int | str
LIMIT = 7
BYTES = 64 << 10
def function(at: int | None, most: int = 3) -> bool:
    """It says \xc3\xa4."""
    assert at == 1
    log.info("at %d", 5)
    if at is None and not most:
        raise ValueError(f"{at + 1}")
    self.at = at - 1
    call(at)
    return at < most
class Core:
    def validate(self):
        return self.at > 0
    def __repr__(self):
        return self.at + 1
'''


def changed() -> list[tuple[str, str]]:
    """(before, after) of each."""
    return [(each.before, each.after) for each in mutations("core.py", CODE)]


def test_each_decision_and_each_effect_is_mutated() -> None:
    assert changed() == [
        ("7", "(0)"),
        ("64 << 10", "(0)"),
        ("3", "(4)"),
        ("at is None", "(at is not None)"),
        ("at is None and not most", "(at is None or not most)"),
        ("not most", "(most)"),
        ('raise ValueError(f"{at + 1}")', "pass"),
        ("self.at = at - 1", "pass"),
        ("at - 1", "(at + 1)"),
        ("1", "(2)"),
        ("call(at)", "pass"),
        ("return at < most", "return None"),
        ("at < most", "(at <= most)"),
        ("at < most", "(at >= most)"),
    ]


def test_a_mutation_changes_its_place_alone() -> None:
    for each in mutations("core.py", CODE):
        mutated = each.applied(CODE)
        ast.parse(mutated)
        assert mutated != CODE
        assert CODE[each.start : each.end].decode() == each.before
        assert each.line == CODE[: each.start].count(b"\n") + 1
