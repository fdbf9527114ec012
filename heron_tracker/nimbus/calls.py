"""Calls that Nimbus does not take: methods that it lacks. Pure."""

from collections.abc import Mapping
from typing import Any

from heron_core.errors import shown
from heron_core.thrift.calls import (
    UNKNOWN_METHOD,
    TApplicationException,
    ThriftCall,
)


def unknown_method(call: ThriftCall, known: Mapping[str, Any]) -> TApplicationException:
    """The error of a method that is not offered."""
    names = ", ".join(sorted(known))
    return TApplicationException(
        f"Nimbus of heronpy has no method {shown(call.method)}, it has: {names}", UNKNOWN_METHOD
    )
