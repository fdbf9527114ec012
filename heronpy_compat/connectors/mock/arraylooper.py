"""A source that repeats what it was given (heronpy.connectors.mock.arraylooper)."""

import itertools
import time
from collections.abc import Iterable
from typing import Any

from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator


class ArrayLooper(Generator):
    """Gets the items of `user_iterable` over and over, each after `sleep` seconds.

    A source without items ends at once.
    """

    def __init__(self, user_iterable: Iterable[Any], sleep: float | None = None) -> None:
        super().__init__()
        if not isinstance(user_iterable, Iterable):
            raise StreamletError(f"ArrayLooper takes something to iterate over: {user_iterable!r}")
        self._user_iterable = user_iterable
        self._sleep_secs = sleep

    def setup(self, context: Context) -> None:
        """Begin with the first item."""
        self._items = itertools.cycle(self._user_iterable)

    def get(self) -> Any:
        """The next item."""
        if self._sleep_secs is not None:
            time.sleep(self._sleep_secs)
        return next(self._items)
