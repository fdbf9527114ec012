"""The watermark of a component's instance in its state.

It stands in a table without a key: an instance that takes over keys of several instances starts
from the lowest of their watermarks (`parts.gather`).
"""

from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heron_core.state.protocol import ABSENT, StateTable

WATERMARK = "watermark_ms"


def save_watermark(table: StateTable, watermark_ms: int) -> None:
    """Write the watermark (ms since 1970) to the table of watermarks, unless unchanged."""
    if table.get(WATERMARK) != watermark_ms:
        table.put(WATERMARK, watermark_ms)


def saved_watermark(table: StateTable) -> int:
    """The saved watermark (ms since 1970); NO_WATERMARK if none is saved."""
    found = table.get(WATERMARK)
    return NO_WATERMARK if found is ABSENT else int(found)
