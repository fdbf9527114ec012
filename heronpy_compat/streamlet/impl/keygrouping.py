"""Elements (key, value): how they are taken apart, and how equal keys meet in one partition."""

from typing import Any

from heron_api.custom_grouping import ICustomGrouping
from heron_core.algorithms.hashing import NotHashable, slot, stable_hash
from heron_core.errors import ComponentError


def key_and_value(element: Any, where: str) -> tuple[Any, Any]:
    """The two items of `element`; ComponentError naming the operation if it has not two."""
    try:
        key, value = element
    except (TypeError, ValueError):
        raise ComponentError(f"{where} takes elements (key, value), not {element!r}") from None
    return key, value


class KeyGrouping(ICustomGrouping):
    """Equal keys go to the same partition, in every process: by a hash that is not Python's."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Any of `target_tasks`."""
        self._tasks = target_tasks
        self._where = f"the stage after {component}"

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The one task of the key."""
        key, _ = key_and_value(values[0], self._where)
        try:
            return [self._tasks[slot(stable_hash([key]), len(self._tasks))]]
        except NotHashable as error:
            raise ComponentError(f"{self._where}: {error}") from None


KEY_GROUPING = f"{KeyGrouping.__module__}.{KeyGrouping.__qualname__}"
"""For Grouping.custom."""
