"""What a test makes go wrong: which tuples a bolt fails, loses, raises at or dies of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

When = Callable[[Any], object]

FAIL, RAISE, DROP, CRASH = "fail", "raise", "drop", "crash"


class InstanceKilled(BaseException):
    """Death of the instance. Not a subclass of Exception, so that `except Exception` does not
    catch the death."""


@dataclass(slots=True)
class InputFault:
    """One fault at a bolt's inputs, repeated `times` times (None: always)."""

    action: str
    component: str
    when: When | None = None
    times: int | None = 1
    task: int | None = None
    source: str | None = None
    error: BaseException | None = None
    happened: int = 0

    def takes(self, task: int, tup: Any) -> bool:
        """Whether this input is to go wrong."""
        return (
            (self.times is None or self.happened < self.times)
            and self.task in (None, task)
            and self.source in (None, tup.component)
            and (self.when is None or bool(self.when(tup)))
        )


class Faults:
    """All faults of one tester, in order of creation."""

    def __init__(self) -> None:
        self._of: dict[str, list[InputFault]] = {}

    def add(self, fault: InputFault) -> None:
        """From now on."""
        self._of.setdefault(fault.component, []).append(fault)

    def pick(self, component: str, task: int, tup: Any) -> InputFault | None:
        """The first fault that matches the input, with its count increased."""
        for fault in self._of.get(component, ()):
            if fault.takes(task, tup):
                fault.happened += 1
                return fault
        return None
