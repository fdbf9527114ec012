"""The faults that are not survived as they should be, and why: the short tests leave them out.

One that is mended leaves this table.
"""

from tests.hosts.flows import EFFECTIVELY_ONCE

_NEWER = (
    "servers that lost their disks refuse clients that have seen a newer zxid than theirs: the "
    "master's client is never connected again, so no checkpoint is stored until they have caught up"
)
KNOWN: dict[tuple[str, str], str] = {("zookeeper-emptied", EFFECTIVELY_ONCE): _NEWER}
"""(fault, mode) -> what goes wrong."""
