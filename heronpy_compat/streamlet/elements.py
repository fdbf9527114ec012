"""Type variables of streamlets: editors and type checkers follow the type of the elements.

    lines = builder.new_source(Lines())          # Streamlet[str], as Lines.get returns a str
    pairs = lines.map(lambda line: (line, 1))    # Streamlet[tuple[str, int]]

Nothing is checked by them at run time. The elements of an operation whose result has no type of its
own (`transform`, `sql`, an aggregate) are Any.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

Made = TypeVar("Made")
"""A function's result."""
Key = TypeVar("Key")
Value = TypeVar("Value")
Right = TypeVar("Right")
"""The values, or the elements, of a join's or union's other streamlet."""

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVariable

    Element = TypeVariable("Element", default=Any)
    """The elements of a streamlet; Any unless known."""
else:
    Element = TypeVar("Element")  # a default needs Python 3.13

Function = Callable[[Any], Any]
Fold = Callable[[Any, Any], Any]
