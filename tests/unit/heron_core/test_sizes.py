"""Sizes as people write them."""

import pytest

from heron_core.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [(7, 7), ("7", 7), ("512MB", 512 << 20), ("1.5 gb", 3 << 29), ("2KB", 2048), ("3B", 3)],
)
def test_a_size(text: object, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 PB", "3GB5", "1.5", True, None])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
