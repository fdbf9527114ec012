"""Numbers as the terminal and the pages show them."""

import pytest

from heron_core.number_text import duration, milliseconds, share, short, size


def test_numbers_have_three_digits_and_a_unit() -> None:
    numbers = (0, 0.3, 7.4, 999.4, 999.6, 1234, 12_345, 99_950, 999_500, 4.56e6, 1e9, 2e18)
    assert [short(each) for each in numbers] == [
        "0", "0.3", "7.4", "999", "1.00k", "1.23k", "12.3k", "100k", "1.00M", "4.56M",
        "1.00G", "2000P",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (duration(0.0), "0.0 s"), (duration(4.2), "4.2 s"), (duration(59.94), "59 s"),
        (duration(200), "3 min 20 s"), (duration(7500), "2 h 5 min"), (duration(86400), "1 d"),
        (size(0), "0 B"), (size(1536), "1.5 KiB"), (size(1010 * 1024), "1010 KiB"),
        (size(1024**2 - 1), "1 MiB"), (size(20.25 * 1024**2), "20.2 MiB"),
        (share(0.054), "5.4%"), (share(0.54), "54%"),
        (milliseconds(None), "-"), (milliseconds(0.0512), "51 µs"),
        (milliseconds(0.9999), "1.0 ms"), (milliseconds(45.26), "45.3 ms"),
        (milliseconds(99.96), "100 ms"),
        (milliseconds(4200), "4.2 s"), (milliseconds(90_000), "1 min 30 s"),
    ],
)  # fmt: skip
def test_the_unit_is_the_one_that_suits(shown: str, expected: str) -> None:
    assert shown == expected
