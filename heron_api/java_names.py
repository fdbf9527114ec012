"""Methods of users' classes under the names of Storm's Java API, which the engine never calls.

A required method under such a name is missed at the first call. An optional hook is not: without
this check a ported `beginCommit` or `processTick` would be silently ignored.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from heron_core.errors import ComponentError
from heron_core.library import LIBRARIES

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def java_name_problems(kind: type, is_hook: Callable[[str], bool]) -> Iterator[tuple[Any, str]]:
    """Method and one line, for each method whose name is a hook in Java's form.

    A class that defines the hook in Python's form, too, has no problem. `is_hook`: whether the
    engine calls a name.
    """
    for name, method, owner in _own_methods(kind):
        hook = _HUMP.sub("_", name).lower()
        if hook == name or not is_hook(hook) or _library_has(kind, name) or _defines(kind, hook):
            continue
        yield method, f"{name} of class {owner.__name__} would never be called: name it {hook}"


def _own_methods(kind: type) -> Iterator[tuple[str, Any, type]]:
    for owner in kind.__mro__:
        if owner is not object and not owner.__module__.startswith(LIBRARIES):
            for name, method in vars(owner).items():
                if callable(method) and not name.startswith("_"):
                    yield name, method, owner


def _library_has(kind: type, name: str) -> bool:
    return any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith(LIBRARIES))


def _defines(kind: type, name: str) -> bool:
    return any(
        name in vars(base) for base in kind.__mro__ if not base.__module__.startswith(LIBRARIES)
    )


class CalledByEngine:
    """Base of interfaces whose public methods are all called by the engine.

    A derived class with a method under Java's name raises ComponentError when it is defined.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the names of a user's class."""
        super().__init_subclass__(**options)
        for _, problem in java_name_problems(cls, lambda name: _library_has(cls, name)):
            raise ComponentError(problem)
