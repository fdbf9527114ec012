"""Spark's log of batches: the batch started at a given time.

    ROOT/offsets/NUMBER      a line with the format, then {"batchTimestampMs": ...}, then offsets

Spark logs a batch before its run, and repeats the batch with the logged time. The time is part of
the batch's plan (`current_timestamp`), so every row of the batch carries it, whichever thread runs
the query.
"""

import json
import os
from pathlib import Path


def batch_begun_at(root: str, time_ms: int) -> int | None:
    """Number of the batch, searched from the newest; None without a match."""
    folder = Path(root, "offsets")
    names = os.listdir(folder) if folder.is_dir() else []
    for number in sorted((int(each) for each in names if each.isdigit()), reverse=True):
        if _time_ms(folder / str(number)) == time_ms:
            return number
    return None


def _time_ms(path: Path) -> int | None:
    try:
        _, head, *_ = path.read_text("utf-8").split("\n", 2)
        found = json.loads(head)["batchTimestampMs"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # Spark has removed it just now, or writes it
    return int(found)
