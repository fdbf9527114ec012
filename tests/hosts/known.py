"""The faults that are not survived as they should be, and why: the short tests leave them out.

One that is mended leaves this table.
"""

from tests.hosts.flows import ATLEAST_ONCE, EFFECTIVELY_ONCE

_UNWRITTEN = (
    "on Aurora only `submit` has written the nodes of the topology, its keys and its scheduler: "
    "nothing writes them again, and without the first a master writes nothing either"
)
KNOWN: dict[tuple[str, str], str] = {
    ("zookeeper-emptied", EFFECTIVELY_ONCE): _UNWRITTEN,
    ("zookeeper-emptied", ATLEAST_ONCE): _UNWRITTEN,
}
"""(fault, mode) -> what goes wrong."""
