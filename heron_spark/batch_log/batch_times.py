"""Spark's log of batches: which one began at a time.

    ROOT/offsets/NUMBER      a line with the format, then {"batchTimestampMs": ...}, then offsets

Spark writes a batch there before it runs it, and repeats it with the time that is written there.
The time is in the plan of the batch (`current_timestamp`), so it is in the batch's rows, whichever
thread asks for them.
"""

import json
import os
from pathlib import Path


def batch_begun_at(root: str, time_ms: int) -> int | None:
    """The number of the batch, the newest ones looked at first; None if the log has none."""
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
