"""The names that are C alone: a hot_*.py imports them from here where it is not compiled, and calls
them only where it is."""

from collections.abc import Callable
from typing import Any, NoReturn

listed_numbers: Callable[[Any], list[int]]
packed_body: Callable[[Any], bytes]
packed_header: Callable[..., bytes]
packed_ids: Callable[[Any], bytes]
packed_numbers: Callable[[Any], bytes]
packed_sizes: Callable[[Any], bytes]
packed_streams: Callable[[Any], bytes]
packed_repeats: Callable[[Any], list[int]]


def __getattr__(name: str) -> Callable[..., Any]:
    def in_c_alone(*arguments: Any) -> NoReturn:
        raise AssertionError(f"{name} is C alone")

    return in_c_alone
