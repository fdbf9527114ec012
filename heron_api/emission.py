"""What a `yield` in `process` or `next_tuple` emits, where the values alone do not say it all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heron_core.topology import DEFAULT_STREAM


@dataclass(frozen=True, slots=True)
class Emission:
    """An emit: `yield Emission([line], stream="errors")`.

    `yield [word, 1]` is the same as `yield Emission([word, 1])`, and `yield word` as
    `yield Emission([word])`; `yield None` emits nothing.

    Example:

        from heronpy_compat import Bolt, Stream

        class Parse(Bolt):
            outputs = ["number", Stream(["line"], name="bad")]

            def process(self, tup):
                line = tup.values[0]
                yield [int(line)] if line.isdigit() else Emission([line], stream="bad")
    """

    values: Sequence[Any]
    stream: str = DEFAULT_STREAM
    direct_task: int | None = None
    """The task that gets it besides the groupings."""
    tup_id: Any = None
    """Of a spout's: `ack(tup_id)` or `fail(tup_id)` is called for it."""
