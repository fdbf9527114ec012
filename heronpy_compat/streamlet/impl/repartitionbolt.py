"""repartition and clone (heronpy.streamlet.impl.repartitionbolt)."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from heron_api.custom_grouping import ICustomGrouping
from heron_api.stream import Grouping
from heron_core.errors import ComponentError
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.stage import ElementBolt, StageStreamlet, checked_function
from heronpy_compat.streamlet.streamlet import Streamlet


class RepartitionCustomGrouping(ICustomGrouping):
    """Sends an element to the partitions that the user's function names."""

    def __init__(self, repartition_function: Callable[..., Any]) -> None:
        self._function = repartition_function
        self._wants_number = _takes(repartition_function, 2)

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Partition i is the task at index i."""
        self._tasks = target_tasks
        self._where = f"the repartition function after {component}"

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The tasks of the function's partitions, modulo their number."""
        tasks = self._tasks
        arguments = (values[0], len(tasks)) if self._wants_number else (values[0],)
        chosen = self._function(*arguments)
        indexes = list(chosen) if isinstance(chosen, Iterable) else [chosen]
        try:
            return [tasks[index % len(tasks)] for index in indexes]
        except TypeError:
            raise ComponentError(
                f"{self._where} must return the index of a partition or a list of them,"
                f" not {chosen!r}"
            ) from None


class RepartitionBolt(ElementBolt):
    """Emits every element as it is."""


class RepartitionStreamlet(StageStreamlet):
    """What `Streamlet.repartition` returns."""

    prefix = "repartition"
    bolt = RepartitionBolt
    begins_chain = True

    def __init__(self, num_partitions: int, repartition_function: Any, parent: Streamlet) -> None:
        super().__init__(parent)
        self._function = repartition_function
        if repartition_function is not None:
            checked_function("repartition", repartition_function)
            if not (_takes(repartition_function, 2) or _takes(repartition_function, 1)):
                raise StreamletError(
                    "a repartition function takes the element, or the element and the number of"
                    f" partitions: {repartition_function!r}"
                )
        self.set_num_partitions(num_partitions)

    def _grouping(self) -> Any:
        if self._function is None:
            return Grouping.SHUFFLE
        return Grouping.custom(RepartitionCustomGrouping(self._function))


def _takes(function: Callable[..., Any], number: int) -> bool:
    """Whether it can be called with so many arguments; what cannot tell takes one."""
    try:
        inspect.signature(function).bind(*[None] * number)
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        return number == 1
    return True
