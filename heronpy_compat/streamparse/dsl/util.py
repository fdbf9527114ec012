"""Arguments of Java constructors (streamparse.dsl.util)."""

from collections.abc import Iterable
from typing import Any

from heron_api.errors import WrongArgumentError
from heronpy_compat.streamparse.thrift import JavaObjectArg

_FIELDS = ((bool, "bool_arg"), (int, "long_arg"), (bytes, "binary_arg"), (str, "string_arg"),
           (float, "double_arg"))  # fmt: skip
"""A bool is an int as well, so the order counts."""


def to_java_arg(arg: object) -> JavaObjectArg:
    """`arg` (a bool, int, bytes, str or float) as Thrift's value; TypeError for anything else."""
    for kind, field in _FIELDS:
        if isinstance(arg, kind):
            return JavaObjectArg(**{field: arg})
    raise WrongArgumentError(
        "arguments of a Java constructor must be bool, int, float, str or bytes,"
        f" not {arg!r}: only basic data types can be sent to Storm"
    )


def to_python_arg(java_arg: Any) -> Any:
    """The inverse of `to_java_arg`."""
    return next((value for value in vars(java_arg).values() if value is not None), None)


def to_python_arg_list(java_arg_list: Iterable[Any]) -> list[Any]:
    """The inverse of `to_java_arg`, for each of them."""
    return [to_python_arg(each) for each in java_arg_list]
