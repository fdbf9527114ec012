"""Calls that raise for no single tuple make letters on Spark as they do on the native engine."""

from collections import Counter
from pathlib import Path
from typing import Any

from heron_connectors.letters.folder import letters
from heron_core.records import replace
from heron_tester.sources import topology_of
from heronpy_compat.testing import TopologyTester
from spark_letters import COUNT, Calls
from tests.spark.spark_support import HERE, Watched, run

INPUTS = 6
"""Bolts that get each number."""


def config(folder: Path) -> dict[str, str]:
    """Letters go there."""
    return {"topology.dead.letter": f"file:{folder}"}


def found(folder: Path) -> Counter[tuple[str, ...]]:
    """The letters of a folder."""
    names = ("component", "fields", "values", "exception", "source")
    return Counter(tuple(str(each[name]) for name in names) for each in letters(str(folder)))


def native(folder: Path) -> Counter[tuple[str, ...]]:
    """Those of the tester, which runs the native engine's own code."""
    with TopologyTester(Calls, config=config(folder)) as tester:
        tester.run_spouts()
        tester.advance(1)
        tester.finish()
        for each in ("parse", "ticking", "timed", "by_events", "by_number", "ending"):
            tester.errors(each)
    return found(folder)


def test_ticks_timers_windows_and_the_end_make_the_letters_of_the_native_engine(
    spark: Any, tmp_path: Path
) -> None:
    expected = native(tmp_path / "native")
    assert {each[0] for each in expected} == {
        "parse", "ticking", "timed", "by_events", "by_number", "ending"
    }  # fmt: skip
    watched, folder = Watched(), tmp_path / "letters"
    spec = replace(topology_of(Calls, None, None, config(folder)), search_paths=(HERE,))
    limit = INPUTS * COUNT // 4
    assert run(spark, spec, tmp_path / "checkpoint", watched, max_batch=limit) == 0
    assert len(watched.batches) > 2
    assert found(folder) == expected
    assert not [result for each in watched.batches for result in each.results if result["failed"]]
