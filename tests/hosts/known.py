"""The faults that are not survived as they should be, and why: the short tests leave them out.

One that is mended leaves this table.
"""

KNOWN: dict[tuple[str, str], str] = {}
"""(fault, mode) -> what goes wrong."""
