"""What user code raised where its effects are to be undone, on its way to whoever undoes them."""

from typing import Any


class UserCodeRaised(BaseException):
    """A call of user code raised, in a topology that takes checkpoints: what the call has emitted
    and changed counts for nothing. Its report is made.

    No Exception: user code that catches what its own calls raise is not to catch this.
    """

    def __init__(self, where: str, what: str, row: int | None = None) -> None:
        """`where` it was raised, `what` it was, in a line; `row`: by which tuple of the message."""
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what
        self.row = row
        self.rows = 1
        """How many tuples of the message it was raised for at once, from that one on."""
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
