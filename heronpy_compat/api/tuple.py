"""The tuple that a bolt processes (heronpy.api.tuple)."""

from collections import namedtuple

from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM

Tuple = namedtuple("Tuple", "id component stream task values")
Tuple.__doc__ = """One received tuple.

`values` is the list of its field values in the order of the stream's fields (None for a tick),
`component` and `stream` say where it comes from, `task` is the spout task at the root of its tree
or None, `id` is "0" when nobody tracks it.
"""


class TupleHelper:
    """What a tick tuple looks like: TICK_TUPLE_ID as id and stream, from the system component."""

    TICK_TUPLE_ID = TICK_STREAM
    TICK_SOURCE_COMPONENT = SYSTEM_COMPONENT
