"""Short texts of messages that repeat are the same objects."""

import sys
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from tests.native.test_row_cursor import body_of, cursor_of, taken

REMEMBERED_BYTES_MAX, CAPACITY = 24, 7 * 2048
"""As in heron_core/hot_remembered.h."""
TRIES_MAX = 64
"""Messages of CAPACITY new texts: more than the pause until the next look for texts."""
OF_A_LIST = 3
"""References to an item of a list, in a loop that counts references."""
LETTERS = "abcdefghijklmnopqrstuvwxyz0123"


def read(module: SimpleNamespace, texts: Iterable[str]) -> Iterator[Any]:
    """The texts as a cursor reads them."""
    rows = [[text] for text in texts]
    return (tup.values[0] for tup in taken(cursor_of(module, body_of(rows), len(rows))))


def test_texts_that_differ_in_one_byte_are_told_apart(compiled: SimpleNamespace) -> None:
    for size in range(REMEMBERED_BYTES_MAX + 3):
        text = LETTERS[:size]
        texts = [text, text[:-1], text + "\0"]
        texts += [f"{text[:at]}{other}{text[at + 1 :]}" for at in range(size) for other in "\0~é😀"]
        for _ in range(2):
            assert list(read(compiled, texts)) == texts


def test_rows_of_several_texts_are_read_ahead(compiled: SimpleNamespace) -> None:
    """The next row is looked at before the end of the current one, and may have any values."""
    rows = [["a", "bc", "d" * at, at, "é", None, b"x"][: at % 8] for at in range(64)]
    for turn in range(8):
        cursor = cursor_of(compiled, body_of(rows[turn:]), len(rows) - turn)
        assert [tup.values for tup in taken(cursor)] == rows[turn:]


def read_new_texts_until(module: SimpleNamespace, is_looked_for: bool) -> None:
    """Read texts that are all new, until repeated texts are the same object, or are not."""
    for turn in range(TRIES_MAX):
        list(read(module, (f"new {turn} {at}" for at in range(CAPACITY))))
        one, other = read(module, ["comes again"] * 2)
        assert one == other == "comes again"
        if (one is other) == is_looked_for:
            return
    raise AssertionError(f"after {TRIES_MAX * CAPACITY} new texts nothing has changed")


def test_a_repeated_text_is_the_same_object(compiled: SimpleNamespace) -> None:
    """In any message, with one reference more for each tuple."""
    read_new_texts_until(compiled, is_looked_for=True)
    for size in range(2, REMEMBERED_BYTES_MAX + 1):
        (first,) = read(compiled, [LETTERS[:size]])
        before = sys.getrefcount(first)
        again = list(read(compiled, [LETTERS[:size]] * 100))
        assert all(each is first for each in again)
        assert sys.getrefcount(first) == before + 100
        del again
        assert sys.getrefcount(first) == before


def test_texts_are_looked_for_where_enough_of_them_repeat(compiled: SimpleNamespace) -> None:
    """Where most texts are new, the look is left out after a while, and taken up again later."""
    for is_looked_for in (True, False, True):
        read_new_texts_until(compiled, is_looked_for)


def test_new_texts_take_the_place_of_older_ones(compiled: SimpleNamespace) -> None:
    """The number of texts has a limit."""
    texts = [f"text number {at}" for at in range(8 * CAPACITY)]
    found = list(read(compiled, texts))
    assert found == texts
    assert sum(sys.getrefcount(each) > OF_A_LIST for each in found) <= CAPACITY
