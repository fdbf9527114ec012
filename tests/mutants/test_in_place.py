"""A mutation reaches functions that live, and verdicts are kept and told."""

from pathlib import Path

import pytest

from tests.mutants import in_place, mutated_support
from tests.mutants.in_place import NotInPlace
from tests.mutants.mutated_support import Core
from tests.mutants.mutations import Mutation, mutations
from tests.mutants.verdicts import Journal, Verdict, fingerprint, table

FILE = str(mutated_support.__file__)
SOURCE = Path(FILE).read_bytes()
FOUND = mutations("mutated_support.py", SOURCE)


def mutation(before: str, after: str) -> Mutation:
    (found,) = (each for each in FOUND if (each.before, each.after) == (before, after))
    return found


def undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test changes is as it was afterwards."""
    for each in (Core.larger, Core.adder):
        monkeypatch.setattr(each, "__code__", each.__code__)


def test_a_method_is_changed_wherever_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    undone(monkeypatch)
    bound = Core().larger
    in_place.apply(mutation("number + 1", "(number - 1)"), SOURCE, FILE, in_place.living()[FILE])
    assert bound(5) == 4


def test_a_function_in_a_function_is_changed_where_it_lives_and_where_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    undone(monkeypatch)
    before = Core.adder()
    in_place.apply(mutation("number + 2", "(number - 2)"), SOURCE, FILE, in_place.living()[FILE])
    assert (before(3), Core.adder()(3)) == (1, 1)


def test_what_a_module_does_while_it_is_imported_cannot_be_changed() -> None:
    default = mutation("7", "(8)")
    assert in_place.place_of(default, SOURCE) is None
    with pytest.raises(NotInPlace):
        in_place.apply(default, SOURCE, FILE, in_place.living()[FILE])


def test_a_function_is_known_by_the_line_of_its_first_decorator() -> None:
    inner = mutation("number + 2", "(number - 2)")
    lines = in_place.functions_around(inner, SOURCE)
    assert [lines[0], lines[1] - lines[0]] == [Core.adder.__code__.co_firstlineno, 2]


def test_a_journal_keeps_what_became_of_each_and_survivors_are_tried_again(tmp_path: Path) -> None:
    noticed, lived = FOUND[:2]
    journal = Journal(tmp_path / "journal")
    journal.add(fingerprint(noticed, SOURCE), Verdict(noticed, "unit", "test_x: AssertionError"))
    journal.add(fingerprint(lived, SOURCE), Verdict(lived, "", "7 tests passed"))
    again = Journal(tmp_path / "journal")
    found = again.known(fingerprint(noticed, SOURCE), is_survivor_again=True)
    assert found == Verdict(noticed, "unit", "test_x: AssertionError")
    assert again.known(fingerprint(lived, SOURCE), is_survivor_again=True) is None
    assert again.known(fingerprint(lived, SOURCE), is_survivor_again=False) is not None
    assert again.known(fingerprint(lived, SOURCE + b"#"), is_survivor_again=False) is None


def test_each_package_has_a_row_of_what_was_noticed() -> None:
    kinds = {"stream_manager/x.py": "unit", "heron_core/wire/x.py": ""}
    verdicts = [
        Verdict(Mutation(path, "f", 1, 0, 1, "1", "(2)"), stage) for path, stage in kinds.items()
    ]
    assert table(verdicts)[2:] == [
        "| heron_core/wire | 1 | 0 | 0 | 1 |",
        "| stream_manager | 1 | 1 | 0 | 0 |",
        "| all | 2 | 1 | 0 | 1 |",
    ]
