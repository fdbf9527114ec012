"""A source of elements that needs a setup (heronpy.streamlet.generator)."""

from typing import Any, Generic

from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.elements import Element


class Generator(Generic[Element]):
    """Derive from it and give an instance to `Builder.new_source`; it is pickled on its way.

    Example:

        class Lines(Generator[str]):
            def setup(self, context):
                self.file = open("lines.txt")

            def get(self):
                return next(self.file)  # ends with the file
    """

    def setup(self, context: Context) -> None:
        """Called once in each partition before the first `get`."""
        raise NotImplementedError(f"{type(self).__name__} must define setup(self, context)")

    def get(self) -> Element | None:
        """The next element, or None if no element is available now.

        StopIteration ends the source, an extension of heronpy's API: a run stops after all sources
        have ended and all elements are processed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define get(self)")

    def position(self) -> Any:
        """The position for `seek`, of any type that a tuple can carry. Called at each checkpoint;
        None, the default, if the position cannot be restored."""
        return None

    def seek(self, position: Any) -> None:
        """Go to where it was; called after `setup`, in another process, too."""
        raise NotImplementedError(f"{type(self).__name__} must define seek(self, position)")
