"""The faults that are not survived as they should be, and why: the short tests leave them out.

One that is mended leaves this table.
"""

from tests.hosts.flows import EFFECTIVELY_ONCE

_TRIGGER = (
    "a stream manager that wakes up drops its connection with the master, and the order to take a "
    "checkpoint that waited there: none is complete for topology.checkpoint.timeout.secs"
)
KNOWN: dict[tuple[str, str], str] = {
    ("frozen", EFFECTIVELY_ONCE): _TRIGGER,
}
"""(fault, mode) -> what goes wrong."""
