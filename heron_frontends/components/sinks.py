"""Where tuples end: the log, standard output, nowhere."""

from typing import Any

from heron_api.bolt.bolt import Bolt


def shown(tup: Any) -> str:
    """A tuple in a line: where it comes from, and its values."""
    return f"{tup.component}:{tup.stream} {list(tup.values)!r}"


class Log(Bolt):
    """Writes each tuple to the log of the instance (Storm: LogInfoBolt)."""

    auto_ack = True

    def process(self, tup: Any) -> None:
        """One line at level info."""
        self.log(shown(tup))


class Print(Bolt):
    """Prints each tuple (Storm: PrinterBolt of storm-starter)."""

    auto_ack = True

    def process(self, tup: Any) -> None:
        """One line on standard output."""
        print(shown(tup))


class Discard(Bolt):
    """Takes each tuple and does nothing with it."""

    auto_ack = True

    def process(self, tup: Any) -> None:
        """Nothing."""
