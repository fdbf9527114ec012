"""What fails, is late or waits counts on Spark as it does on the native engine."""

import time
from collections import defaultdict
from typing import Any

import pytest

from heron_cli.run_result import late_lines, shortfall_line
from heron_core.records import replace
from heron_spark.backend.metrics import QueryMetrics
from heron_spark.compile.plan import one_container
from heron_tester.sources import topology_of
from heronpy_compat.testing import TopologyTester
from spark_failing import BOLTS, COUNT, EVERY, Failing
from tests.spark.spark_support import HERE, Watched, run


def native() -> dict[str, list[Any]]:
    """What each bolt emits in the tester, which runs the native engine's own code."""
    with TopologyTester(Failing) as tester:
        tester.run_spouts()
        tester.finish()
        assert len(tester.errors("seen")) == 1
        assert tester.metrics("seen")["undeclared"] == COUNT
        return {each: sorted(map(list, tester.values(each))) for each in BOLTS}


@pytest.fixture(scope="module")
def watched(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """One run of it, in several batches."""
    found = Watched()
    spec = replace(topology_of(Failing, None, None, {}), search_paths=(HERE,))
    folder = tmp_path_factory.mktemp("failing") / "checkpoint"
    assert run(spark, spec, folder, found, max_batch=COUNT * 3) == 0
    return found


def test_both_engines_emit_the_same_where_tuples_fail_are_late_or_wait(watched: Watched) -> None:
    (seen,) = (each["seen"] for each in watched.printed if "seen" in each)
    found: dict[str, list[Any]] = defaultdict(list)
    for component, *values in seen:
        found[component].append(values)
    assert {name: sorted(values) for name, values in found.items()} == native()
    assert len(found["waits"]) == COUNT


def test_a_tuple_that_a_bolt_fails_is_counted_and_told_at_the_end(watched: Watched) -> None:
    spec = topology_of(Failing, None, None, {})
    metrics = QueryMetrics(spec, one_container(spec))
    for each in watched.batches:
        metrics.record_batch(each, time.monotonic())
    stats = metrics.stats(None, time.monotonic())
    failed = COUNT // EVERY
    assert shortfall_line(stats) == (
        f"INCOMPLETE: {failed} tuples failed for good;"
        f" seen: {COUNT} tuples emitted without declared outputs, and dropped"
    )
    late = COUNT // EVERY // 2
    assert late_lines(stats)[0].startswith(f"by_events: {late} tuples came too late for a window")


def test_a_spout_gets_no_ack_for_a_batch_of_which_a_bolt_failed_tuples(watched: Watched) -> None:
    emitted = failed = acked = 0
    for each in watched.batches:
        results = {result["component"]: result for result in each.results}
        assert results["numbers"]["acked"] == (0 if failed else emitted)
        acked += results["numbers"]["acked"]
        emitted, failed = results["waits"]["executed"], results["fails"]["failed"]
    assert acked < COUNT
