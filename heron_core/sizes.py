"""Sizes of memory and disk as people write them. Pure."""

import re

from heron_core.errors import shown

UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
"""Powers of 1024, as in Heron."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B|)", re.IGNORECASE)


def parse_size(value: object) -> int:
    """Bytes of a number, or of a text such as 512MB; ValueError for anything else."""
    found = None if isinstance(value, bool) else _SIZE.fullmatch(_text_of(value))
    unit = UNITS[found[2].upper()] if found is not None else 1
    if found is None or (unit == 1 and not found[1].isdecimal()):
        raise ValueError(f"{shown(value)} is not a size")
    return int(found[1]) if unit == 1 else int(float(found[1]) * unit)


def _text_of(value: object) -> str:
    try:
        return str(value).strip()
    except ValueError:  # a number of thousands of digits is no size
        return ""
