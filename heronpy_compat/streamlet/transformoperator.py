"""An operator with setup and free emits (heronpy.streamlet.transformoperator)."""

from typing import Any

from heronpy_compat.streamlet.context import Context


class TransformOperator:
    """Derive from it and give an instance to `Streamlet.transform`; it is pickled on its way.

    Example:

        class Numbered(TransformOperator):
            def setup(self, context):
                self.context, self.number = context, 0

            def transform(self, tup):
                self.number += 1
                self.context.emit((self.number, tup.values[0]))
    """

    def setup(self, context: Context) -> None:
        """Called once in each partition before the first `transform`."""
        raise NotImplementedError(f"{type(self).__name__} must define setup(self, context)")

    def transform(self, tup: Any) -> None:
        """Process one tuple, whose element is `tup.values[0]`; emit through the context; never
        ack."""
        raise NotImplementedError(f"{type(self).__name__} must define transform(self, tup)")
