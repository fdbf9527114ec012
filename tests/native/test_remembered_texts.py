"""Short texts that come again are the objects of before, and never any other text."""

import sys
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from tests.native.test_row_cursor import body_of, cursor_of, taken

REMEMBERED_BYTES_MAX, CAPACITY = 24, 7 * 2048
"""As heron_core/hot_remembered.h has them."""
TRIES_MAX = 64
"""Messages of CAPACITY new texts: more than it takes until the next look for any text."""
OF_A_LIST = 3
"""References to what a list has, while its size is asked for in a loop."""
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


def read_new_texts_until(module: SimpleNamespace, is_looked_for: bool) -> None:
    """Texts that are all new, until a text is found again, or is not."""
    for turn in range(TRIES_MAX):
        list(read(module, (f"new {turn} {at}" for at in range(CAPACITY))))
        one, other = read(module, ["comes again"] * 2)
        assert one == other == "comes again"
        if (one is other) == is_looked_for:
            return
    raise AssertionError(f"after {TRIES_MAX * CAPACITY} new texts nothing has changed")


def test_a_text_that_comes_again_is_the_same_object(compiled: SimpleNamespace) -> None:
    """As often as it comes, in any message; and it has a reference of its own each time."""
    read_new_texts_until(compiled, is_looked_for=True)
    for size in range(2, REMEMBERED_BYTES_MAX + 1):
        (first,) = read(compiled, [LETTERS[:size]])
        before = sys.getrefcount(first)
        again = list(read(compiled, [LETTERS[:size]] * 100))
        assert all(each is first for each in again)
        assert sys.getrefcount(first) == before + 100
        del again
        assert sys.getrefcount(first) == before


def test_texts_are_looked_for_where_enough_come_again(compiled: SimpleNamespace) -> None:
    """Where most texts are new, the look is left out after a while, and taken up again later."""
    for is_looked_for in (True, False, True):
        read_new_texts_until(compiled, is_looked_for)


def test_texts_that_are_new_take_the_place_of_older_ones(compiled: SimpleNamespace) -> None:
    """So the memory that they need has a limit."""
    texts = [f"text number {at}" for at in range(8 * CAPACITY)]
    found = list(read(compiled, texts))
    assert found == texts
    assert sum(sys.getrefcount(each) > OF_A_LIST for each in found) <= CAPACITY
