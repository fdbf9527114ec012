"""Common base of spouts and bolts (heronpy.api.component.base_component)."""

from typing import TYPE_CHECKING, Any

from heron_api.errors import WrongArgumentError

if TYPE_CHECKING:
    import logging

_LOGGER_METHODS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "error": "error",
}


class BaseComponent:
    """Constructed by the runtime with the keyword `delegate`; do not override `__init__`.

    `delegate` does the work of emit, ack and fail. It may be another component: a wrapping
    component passes itself to the one it wraps, so only duck typing is assumed of it.
    """

    def __init__(self, delegate: Any = None, **wrong: Any) -> None:
        """WrongArgumentError for a constructor call in place of `spec`."""
        if wrong or not hasattr(delegate, "logger"):
            name = type(self).__name__
            raise WrongArgumentError(
                f"{name}() makes no component of a topology: write {name}.spec(...)"
            )
        self.delegate = delegate
        self.logger: logging.Logger = delegate.logger

    def log(self, message: object, level: str | None = None) -> None:
        """Write `message` to the instance's log; `level` trace, debug, info, warn or error.

        Any other level raises ValueError.
        """
        method = _LOGGER_METHODS.get(level or "info")
        if method is None:
            choices = ", ".join(_LOGGER_METHODS)
            raise WrongArgumentError(f"log level must be one of {choices}, not {level!r}")
        getattr(self.logger, method)(message)
