"""The files of dead letters, and what is asked to be sent again."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from heron_connectors.letters.folder import (
    letters,
    letters_since,
    replayed_ids,
    request,
    request_is_done,
    request_replay,
    waiting_requests,
)
from heron_connectors.letters.records import letter_of, record_of, values_of
from heron_core.dead_letters import FIELDS
from heron_core.errors import HeronError


def letter(number: int, *values: Any) -> list[Any]:
    """Its values on the stream."""
    given: dict[str, Any] = dict.fromkeys(FIELDS, "") | {
        "id": f"{number:016x}", "component": "parse", "time_ms": 1000 + number, "task": 1,
        "attempt": 1, "fields": ["line"], "values": list(values),
    }  # fmt: skip
    return [given[each] for each in FIELDS]


def written(folder: Path, *numbers: int, name: str = "00000-0001") -> None:
    lines = b"".join(record_of(letter(each, each)) + b"\n" for each in numbers)
    (folder / f"part-__dead_letters-{name}.jsonl").write_bytes(lines)


@pytest.mark.parametrize(
    "value",
    [
        None, "", b"\xff\x00", float("inf"), (1, {2}), {"a": Decimal("1.10")}, 1 << 70,
        datetime(2026, 1, 2, 3, 4, 5), "\ud800", [{"deep": [1]}],
    ],
)  # fmt: skip
def test_a_letter_has_the_very_values_whatever_they_are(value: Any) -> None:
    line = record_of(letter(1, value, "plain"))
    assert b"\n" not in line
    found = letter_of(line)
    assert values_of(found) == [value, "plain"]
    assert found["values"][1] == "plain"


def test_a_value_without_json_is_shown_as_python_shows_it() -> None:
    found = letter_of(record_of(letter(1, {1, 2}, float("nan"))))
    assert found["values"] == ["{1, 2}", "nan"]


@pytest.mark.parametrize("line", [b"", b"[]", b'{"id": 1}', b"\xff"])
def test_a_line_of_another_program_is_named_with_its_file(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "part-__dead_letters-0.jsonl").write_bytes(line + b"\n")
    with pytest.raises(HeronError, match=r"part-__dead_letters-0\.jsonl:1: not a dead letter"):
        list(letters(str(tmp_path)))


def test_letters_of_several_files_come_in_the_order_of_their_time(tmp_path: Path) -> None:
    written(tmp_path, 2, 4, name="00000-0001")
    written(tmp_path, 1, 3, name="00000-0002")
    assert [each["values"] for each in letters(str(tmp_path))] == [[1], [2], [3], [4]]
    assert letters_since(str(tmp_path), 1003) == 2
    assert list(letters(str(tmp_path / "absent"))) == []


def test_requests_have_numbers_and_are_done_in_any_order(tmp_path: Path) -> None:
    folder = str(tmp_path)
    lines = [record_of(letter(each, each)) for each in range(3)]
    request_replay(folder, lines[:2])
    request_replay(folder, lines[2:])
    assert waiting_requests(folder) == [1, 2]
    assert [each["values"] for each in request(folder, 1)] == [[0], [1]]
    request_is_done(folder, 2)
    request_is_done(folder, 2)
    assert waiting_requests(folder) == [1]
    assert replayed_ids(folder) == {f"{each:016x}" for each in range(3)}
    request_is_done(folder, 1)
    request_replay(folder, lines[:1])
    assert waiting_requests(folder) == [3]
    assert not list((tmp_path / "replay").glob(".*"))
