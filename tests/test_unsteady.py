"""CI hides no unsteady test: the list of those that it forgives is short, and forgives once."""

from datetime import date

from tests.unsteady import LIST, UNSTEADY_MAX, Unsteady, failed_in, read, told

DAY = date(2026, 11, 26)
OUTPUT = """
=========================== short test summary info ============================
FAILED tests/process/test_run.py::test_it_runs[two words-1] - AssertionError: not - this
ERROR tests/spark/test_start.py::test_it_starts
FAILED tests/process/test_run.py::test_it_runs[two words-1] - AssertionError: not - this
2 failed, 10 passed in 1.00s
"""
TESTS = [
    "tests/process/test_run.py::test_it_runs[two words-1]",
    "tests/spark/test_start.py::test_it_starts",
]


def known(*tests: str) -> list[Unsteady]:
    return [Unsteady(DAY, test, "a deadline") for test in tests]


def test_failed_tests_are_found_in_the_output() -> None:
    assert failed_in(OUTPUT) == TESTS


def test_a_first_failure_is_told_with_the_line_to_add() -> None:
    lines, allowed = told(TESTS[1:], [], DAY)
    assert allowed
    assert lines == [f"add to tests/unsteady.txt, and mend it: 2026-11-26 {TESTS[1]} what was seen"]


def test_a_second_failure_is_red() -> None:
    lines, allowed = told(TESTS, known(TESTS[1]), DAY)
    assert not allowed
    assert f"{TESTS[1]} failed again, is in tests/unsteady.txt since 2026-11-26: mend it" in lines


def test_a_full_list_is_red_for_another_test() -> None:
    lines, allowed = told(TESTS[:1], known(*"abc"[:UNSTEADY_MAX]), DAY)
    assert not allowed
    assert "mend one" in lines[-1]


def test_a_line_of_the_list_is_read() -> None:
    entry = "2026-11-26 tests/a.py::test_b nothing within 30 s"
    assert read(f"# why\n{entry}\n") == [Unsteady(DAY, "tests/a.py::test_b", "nothing within 30 s")]


def test_the_list_is_short() -> None:
    assert len(read(LIST.read_text())) <= UNSTEADY_MAX
