"""Values of an emit that is made later than user code has asked for it."""

import copy
from typing import Any

from heron_core.errors import ComponentError
from heron_core.state.plain_types import IMMUTABLE
from heron_instance.emit.routing import Route


def kept_values(values: list[Any], route: Route) -> list[Any]:
    """The values as they are now, whatever user code changes behind its emit; ComponentError for
    a value that cannot be copied. Only values that can change are."""
    if all(type(each) in IMMUTABLE for each in values):
        return values
    return [_kept(each, at, route) for at, each in enumerate(values)]


def _kept(value: Any, at: int, route: Route) -> Any:
    if type(value) in IMMUTABLE:
        return value
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise ComponentError(
            f"stream {route.spec.name}, field {route.spec.fields[at]}: a value of the type"
            f" {type(value).__name__} cannot be copied for an emit that is made later: {error}"
        ) from error
