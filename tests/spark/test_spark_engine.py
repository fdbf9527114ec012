"""Topologies as queries of a real Spark: groupings, streams, ticks, last words, acks."""

from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError
from heronpy_compat.testing import TopologyTester
from spark_support import Watched, bolt, numbers, reads, run, spout, topology

COUNT = 600
KINDS = ("shuffle", "none", "local_or_shuffle", "all", "global", "custom")


@pytest.fixture(scope="module")
def everything(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """One run with every grouping and feature: each batch costs, so they share them."""
    sinks = [bolt(kind, "Seen", 3, reads("numbers", kind)) for kind in KINDS]
    spec = topology(
        "everything",
        COUNT,
        spout("numbers", par=2),
        *sinks,
        bolt("fields", "Seen", 3, reads("numbers", "fields", "key")),
        bolt("partial_key", "Seen", 3, reads("numbers", "partial_key", "key")),
        bolt("direct", "Seen", 3, reads("numbers", "direct", stream="chosen")),
        bolt("doubled", "Times", 2, reads("numbers"), factor=2),
        bolt("both", "Seen", 1, reads("numbers", stream="third"), reads("doubled", "global")),
        bolt("ticking", "Ticking", 1, reads("numbers")),
        bolt("ticks", "Seen", 1, reads("ticking")),
        bolt("by_window", "ByWindow", 1, reads("numbers", "fields", "key")),
        bolt("by_timer", "ByTimer", 1, reads("numbers", "fields", "key")),
        bolt("by_time", "Seen", 1, reads("by_window"), reads("by_timer")),
        **{"topology.tick.tuple.freq.ms": 1, "topology.message.timeout.secs": 5},
    )
    watched = Watched()
    assert run(spark, spec, tmp_path_factory.mktemp("everything"), watched, max_batch=1200) == 0
    return watched


@pytest.mark.parametrize("kind", ["shuffle", "none", "local_or_shuffle", "fields", "partial_key"])
def test_each_tuple_goes_to_one_task(everything: Watched, kind: str) -> None:
    seen = everything.seen(kind)
    assert numbers([each for task in seen.values() for each in task]) == list(range(COUNT))


@pytest.mark.parametrize("kind", ["shuffle", "none", "local_or_shuffle"])
def test_a_shuffle_shares_evenly(everything: Watched, kind: str) -> None:
    shares = [len(seen) for seen in everything.seen(kind).values()]
    assert len(shares) == 3
    assert max(shares) - min(shares) <= 2  # one of each of the two emitting tasks


def test_fields_keeps_a_key_in_one_task(everything: Watched) -> None:
    keys = [{each[3] for each in seen} for seen in everything.seen("fields").values()]
    assert sorted(key for task in keys for key in task) == [f"key {number}" for number in range(7)]


def test_all_reaches_every_task(everything: Watched) -> None:
    seen = everything.seen("all")
    assert [numbers(each) for each in seen.values()] == [list(range(COUNT))] * 3


def test_global_reaches_the_lowest_task(everything: Watched) -> None:
    first, *others = (seen for _, seen in sorted(everything.seen("global").items()))
    assert numbers(first) == list(range(COUNT))
    assert others == [[], []]


def test_a_direct_emit_reaches_the_task_it_names(everything: Watched) -> None:
    seen = sorted(everything.seen("direct").items())
    assert [numbers(each) for _, each in seen] == [list(range(rest, COUNT, 3)) for rest in range(3)]


def test_a_custom_grouping_chooses(everything: Watched) -> None:
    first, *others = (seen for _, seen in sorted(everything.seen("custom").items()))
    assert numbers(first) == list(range(0, COUNT, 2))
    assert [numbers(each) for each in others] == [list(range(1, COUNT, 2))] * 2


def test_tuples_of_an_early_level_pass_later_ones_and_last_words_are_heard(
    everything: Watched,
) -> None:
    (seen,) = everything.seen("both").values()
    third = [each[2] for each in seen if each[:2] == ["numbers", "third"]]
    doubled = [each for each in seen if each[:2] == ["doubled", "default"]]
    assert sorted(third) == list(range(0, COUNT, 3))
    assert numbers([each for each in doubled if each[3] == "any"]) == list(range(0, 2 * COUNT, 2))
    assert sum(each[2] for each in doubled if each[3] == "last words") == -COUNT
    assert len(doubled) == COUNT + 2


def test_ticks_come_with_the_batches(everything: Watched) -> None:
    (seen,) = everything.seen("ticks").values()
    assert seen
    assert {each[3] for each in seen} == {"__tick"}


@pytest.mark.parametrize("kind", ["window", "timer"])
def test_windows_and_timers_by_event_time_are_those_of_the_native_engine(
    everything: Watched, kind: str
) -> None:
    """Over several batches, and equal to the tester, which runs the native engine's own code."""
    (seen,) = everything.seen("by_time").values()
    counted = sorted(each[2:] for each in seen if each[0] == f"by_{kind}")
    by = bolt(f"by_{kind}", f"By{kind.title()}", 1, reads("numbers", "fields", "key"))
    with TopologyTester(topology("native", COUNT, spout("numbers", par=2), by)) as tester:
        tester.run_spouts()
        tester.finish()
        assert counted == sorted(tester.values(f"by_{kind}"))
    assert sum(count for count, _ in counted) == COUNT


def test_a_spout_hears_of_every_tuple(everything: Watched) -> None:
    acked = [each["acked"] for each in everything.printed if "acked" in each]
    assert acked == [COUNT // 2] * 2


def test_several_batches_were_made_of_it(everything: Watched) -> None:
    assert [each.batch for each in everything.batches] == list(range(len(everything.batches)))
    emitting = [
        each
        for each in everything.batches
        if any(f["spout"] and f["emitted"] for f in each.results)
    ]
    assert len(emitting) >= 2


def test_a_poisoned_tuple_fails_alone(spark: Any, tmp_path: Path) -> None:
    spec = topology(
        "poisoned", 100, spout("numbers"), bolt("count", "Poisoned", 1, reads("numbers"))
    )
    watched = Watched()
    run(spark, spec, tmp_path / "checkpoint", watched)
    assert watched.counts == {number: 1 for number in range(100) if number % 10}
    results = [result for each in watched.batches for result in each.results if not result["spout"]]
    assert (
        sum(result["errors"] for result in results)
        == sum(result["failed"] for result in results)
        == 10
    )


def test_a_component_that_does_not_start_ends_the_query_with_its_name(
    spark: Any, tmp_path: Path
) -> None:
    spec = topology("broken", 10, spout("numbers"), bolt("count", "Broken", 1, reads("numbers")))
    with pytest.raises(HeronError) as caught:
        run(spark, spec, tmp_path / "checkpoint", Watched())
    assert "count[0]: " in str(caught.value)
    assert "ValueError: no such database" in str(caught.value)
    assert "\n" not in str(caught.value)
