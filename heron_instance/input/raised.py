"""Exceptions of user code with undoable effects, on the way to the undoing caller."""

from typing import Any


class UserCodeRaised(BaseException):
    """A call of user code raised in a topology with checkpoints: emits and changes of the call
    are void. The report is already made.

    Not a subclass of Exception, so that handlers in user code do not catch it.
    """

    def __init__(self, where: str, what: str, row: int | None = None) -> None:
        """`where`: location, `what`: the error in a line; `row`: index of the tuple in the
        message."""
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what
        self.row = row
        self.rows = 1
        """Number of tuples of the failed call, from the row on."""
        self.key = 0
        """What the tuple, or the call, is known by when it comes again."""
        self.pause_secs = 0.0
        """Until the topology is restored, if the driver counts its tries itself."""


class Abandoned(UserCodeRaised):
    """Nothing was raised: the topology is restored, or the process ends, and so the calls that are
    left are not made."""

    def __init__(self) -> None:
        super().__init__("a message", "its rest counts for nothing any more")


def line_of(error: BaseException | None) -> str:
    """An exception in one line."""
    text: Any = "" if error is None else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
