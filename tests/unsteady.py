"""Tests that failed in CI and passed alone: named, dated and few.

`python -m tests.unsteady OUTPUT` reads the output of a pytest run whose failed tests have passed
since, alone on the machine. A test missing in tests/unsteady.txt is printed with the line to add;
exit code 1 means that a test is in the list already, or that the list is full: an unsteady test is
fixed at its second failure at the latest.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

LIST = Path(__file__).parent / "unsteady.txt"
UNSTEADY_MAX = 3
"""More would be a suite whose failures say nothing."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unsteady:
    """A line of the list: the day of the failure, the test's id of pytest, what was seen."""

    day: date
    test: str
    seen: str


def read(text: str) -> list[Unsteady]:
    """The lines of the list; those with # at the start explain. ValueError: a line is wrong."""
    return [_entry(line) for line in text.splitlines() if line and not line.startswith("#")]


def _entry(line: str) -> Unsteady:
    day, test, seen = line.split(" ", 2)
    return Unsteady(date.fromisoformat(day), test, seen)


def failed_in(output: str) -> list[str]:
    """Ids of the failed tests, from the summary of pytest."""
    return list(dict.fromkeys(_FAILED.findall(output)))


def told(failed: Sequence[str], known: Sequence[Unsteady], today: date) -> tuple[list[str], bool]:
    """A line for each failed test; whether the list allows all of them."""
    days = {each.test: each.day for each in known}
    lines = [_line(test, days.get(test), today) for test in failed]
    new = [test for test in failed if test not in days]
    if len(known) + len(new) > UNSTEADY_MAX:
        lines.append(f"tests/unsteady.txt holds {UNSTEADY_MAX} tests at most: mend one of them")
    return lines, len(new) == len(failed) and len(known) + len(new) <= UNSTEADY_MAX


def _line(test: str, day: date | None, today: date) -> str:
    if day is not None:
        return f"{test} failed again, is in tests/unsteady.txt since {day}: mend it"
    return f"add to tests/unsteady.txt, and mend it: {today} {test} what was seen"


def main(arguments: Sequence[str]) -> int:
    """The exit code for the output of a run in the file that is named."""
    output = Path(arguments[0]).read_text(errors="replace")
    known = read(LIST.read_text())
    lines, allowed = told(failed_in(output), known, date.today())
    print(*lines, sep="\n")
    return 0 if allowed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
