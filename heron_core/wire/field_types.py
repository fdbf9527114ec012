"""Types of the fields of control messages, which are checked on arrival."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

WHOLE_NUMBER_MAX = (1 << 63) - 1
Whole = Annotated[int, Meta(ge=0, le=WHOLE_NUMBER_MAX)]
"""Ids, counters and sizes: none is negative, and each fits into eight bytes with a sign."""
Amount = Annotated[float, Meta(ge=0, le=1 << 50)]
"""Sums of thousands of them still fit into the 64 bits of a message."""
Json = Mapping[str, Any]
