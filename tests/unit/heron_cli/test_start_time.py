"""When an update is to begin: `--at`."""

from datetime import datetime, timedelta, timezone

import pytest

from heron_cli.start_time import start_time
from heron_core.errors import UsageError

NOW = datetime(2026, 11, 23, 22, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("word", "secs"),
    [
        ("+10m", 600),
        ("+1h30m", 5400),
        ("+1d5s", 86405),
        ("2026-11-23T22:00:01+01:00", 1),
        ("2026-11-23T21:30Z", 1800),
    ],
)
def test_a_time_is_understood(word: str, secs: int) -> None:
    assert start_time(word, NOW) == NOW.timestamp() + secs


def test_a_time_without_an_offset_is_the_local_one() -> None:
    assert start_time("2027-01-05T03:00", NOW) == datetime(2027, 1, 5, 3).astimezone().timestamp()


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("+", "use 2026-12-01T03:00"),
        ("+10", "use 2026-12-01T03:00"),
        ("+9999999999999d", "use 2026-12-01T03:00"),
        ("tonight", "use 2026-12-01T03:00"),
        ("2026-11-23T20:59Z", "that was 0:01:00 ago"),
        ("+0s", "ago"),
        ("+400d", "more than 366 days ahead"),
    ],
)
def test_any_other_word_is_refused(word: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"^--at ") as refused:
        start_time(word, NOW)
    assert told in str(refused.value)
