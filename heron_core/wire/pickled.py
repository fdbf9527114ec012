"""Config values that JSON does not have: cloudpickle bytes, opened only where user code runs.

The command line, the scheduler and the master handle topologies without the user's modules on their
paths, and so must not open values that refer to user modules.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import ComponentError, TopologyError


class Pickled(Struct, frozen=True):
    """A config value that came as cloudpickle bytes and is not opened yet."""

    data: bytes

    @staticmethod
    def of(value: object, where: str) -> "Pickled":
        """Any value, pickled; an unopened Pickled is returned unchanged.

        TopologyError with `where` the value is if the value cannot be pickled.
        """
        if isinstance(value, Pickled):
            return value
        import cloudpickle  # costs 20 ms, and few topologies need it

        try:
            return Pickled(cloudpickle.dumps(value))
        except Exception as error:
            raise TopologyError(f"{where} cannot be pickled: {_error_text(error)}") from error


def opened(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with its pickled values as objects.

    ComponentError with the key if a value cannot be opened (its module is missing, for instance).
    """
    return {key: _opened(key, value) for key, value in config.items()}


def _opened(key: str, value: Any) -> Any:
    if not isinstance(value, Pickled):
        return value
    import pickle

    try:
        return pickle.loads(value.data)
    except Exception as error:
        text = _error_text(error)
        raise ComponentError(f"the config value of {key} cannot be loaded: {text}") from error


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
