"""A use case in real processes: the table is that of a plain program, whatever is killed."""

import sys
from importlib import import_module

import pytest

from tests.process.process_support import EXAMPLES, Master, Place
from tests.process.test_exact_counts import Watched, kill
from tests.process.test_recovery import title_of
from tests.unit.heronpy_compat.test_use_cases import means_of, rows_of

CALLS = 2_000


def test_the_table_of_latencies_is_exact_whatever_is_killed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "use_cases"))
    example, database = import_module("latencies"), place.path / "latencies.db"
    for name in ("latencies", "numbered"):
        monkeypatch.delitem(sys.modules, name)
    options = {
        "use_case.events": CALLS, "use_case.secs": 0.004, "use_case.database": database,
        "topology.stateful.checkpoint.interval.seconds": 1,
    }  # fmt: skip
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    running = place.start("run", EXAMPLES / "use_cases" / "latencies.py", *given)
    with Master(place.store_url, "Latencies") as master:
        watched = Watched(running, master)
        watched.goes_on_after(0, "a checkpoint is complete")
        before = watched.epoch()
        kill(running, *(title_of(running, f"heron: {name}") for name in ("latency[1]", "means[0]")))
        watched.restores_and_continues(before)
    running.wait().succeeded()
    assert rows_of(database) == means_of(example, CALLS)
