"""The faults that are not survived as they should be, and why: the short tests leave them out.

One that is mended leaves this table.
"""

from tests.hosts.flows import ATLEAST_ONCE, EFFECTIVELY_ONCE

_TRIGGER = (
    "a stream manager that wakes up drops its connection with the master, and the order to take a "
    "checkpoint that waited there: none is complete for topology.checkpoint.timeout.secs"
)
_RESET = (
    "a stream manager whose connection with the master is reset is refused as its own successor, "
    "ends, and is started again"
)
KNOWN: dict[tuple[str, str], str] = {
    ("frozen", EFFECTIVELY_ONCE): _TRIGGER,
    ("master-cut", EFFECTIVELY_ONCE): _TRIGGER,
    ("master-reset", EFFECTIVELY_ONCE): _RESET,
    ("master-reset", ATLEAST_ONCE): _RESET,
}
"""(fault, mode) -> what goes wrong."""
