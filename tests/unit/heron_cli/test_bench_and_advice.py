"""What `bench` and `advise` print: rows out of numbers, and the topologies that bench runs."""

from collections import Counter
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

from heron_cli.bench_sweeps import sweep_row, swept_topology
from heron_cli.commands.advise import advice_table, summary
from heron_cli.commands.bench import (
    BenchSettings,
    bench_command,
    is_measured,
    recovery_topology,
    sol_rows,
    sol_topology,
)
from heron_cli.stats_text import hot_key_lines
from heron_core import validation
from heron_core.algorithms.autoscale.assessment import Assessment
from heron_core.records import replace
from heron_core.stats import (
    ComponentLatencies,
    ComponentStats,
    HotKeyStats,
    LatencyStats,
    StreamManagerStats,
    TopologyStats,
)
from heron_frontends.components import bench_tap
from heron_tester.tester import TopologyTester

SETTINGS = BenchSettings(
    producers=2, processors=3, size_bytes=100, stages=2, seconds=1.0, acked=True, rounds=1
)
NO_LATENCY = LatencyStats(mean_ms=None, p50_ms=None, p99_ms=None)


TASKS = {"producers": [1, 2], "stage1": [3, 4, 5]}


def stats(done: int, task_bytes: int = 0) -> TopologyStats:
    """`done` messages were emitted, and half of them processed."""
    zeros: dict[str, Any] = dict.fromkeys(
        ("acked", "failed", "failed_for_good", "expired", "ticks", "errors", "callback_errors",
         "fenced", "late", "pending", "queue_bytes"), 0
    )  # fmt: skip
    latency = ComponentLatencies(
        execute=NO_LATENCY, process=NO_LATENCY, complete=replace(NO_LATENCY, p50_ms=2.0)
    )
    spout = ComponentStats(
        **zeros, type="spout", instances=2, up=2, emitted=done, executed=3 * done,
        emitted_per_sec=0.0, executed_per_sec=0.0, capacity=0.5, latency=latency, last_error=None,
        user={},
    )  # fmt: skip
    bolt = replace(spout, type="bolt", instances=3, emitted=0, executed=done // 2)
    network = dict.fromkeys(range(1, 6), task_bytes)
    manager = StreamManagerStats(
        waiting_bytes={}, task_bytes_in=network, task_bytes_out=network, counters={}
    )
    return TopologyStats(
        topology="sol", state="RUNNING", epoch=1, phase="running", drained=False, lost=0,
        containers=(), containers_expected=(), registered={}, paused={},
        stream_managers={1: manager}, master={}, errors={},
        components={"producers": spout, "stage1": bolt},
    )  # fmt: skip


def test_sol_counts_what_was_emitted_and_what_was_processed_between_two_looks() -> None:
    producers, stage = sol_rows(stats(1_000), stats(5_000, task_bytes=1_000_000), 2.0, 100, TASKS)
    assert (producers["messages_per_sec"], stage["messages_per_sec"]) == (2000.0, 1000.0)
    assert producers["megabytes_per_sec"] == 0.2
    assert producers["p50_ms"] == 2.0
    # A million bytes from each of two producers, and to each of three processors.
    assert (producers["wire_bytes"], stage["wire_bytes"]) == (500.0, 1500.0)


def test_sol_goes_on_until_every_stage_has_a_message_and_acks_have_a_latency() -> None:
    rows = sol_rows(stats(0), stats(1), 2.0, 100, TASKS)
    assert [is_measured(each, acked=True) for each in rows] == [True, False]
    rows = sol_rows(stats(0), stats(2), 2.0, 100, TASKS)
    assert [is_measured(each, acked=True) for each in rows] == [True, True]
    without = [{**each, "p50_ms": None} for each in rows]
    assert [is_measured(each, acked=True) for each in without] == [False, True]
    assert [is_measured(each, acked=False) for each in without] == [True, True]


def test_the_topologies_of_bench_are_valid_and_as_large_as_wanted() -> None:
    sol = sol_topology(replace(SETTINGS, stages=3))
    assert [each.name for each in sol.components] == ["producers", "stage1", "stage2", "stage3"]
    assert [each.parallelism for each in sol.components] == [2, 3, 3, 3]
    for each in (sol, sol_topology(replace(SETTINGS, stages=1)), recovery_topology(SETTINGS, "x")):
        assert validation.problems(each) == []


def test_a_sweep_has_valid_topologies_and_the_rows_of_the_last_component() -> None:
    sweeps = (("wordcount", 1, True), ("rtac", 3, False), ("tap", 4, True))
    for what, parallelism, acked in sweeps:
        swept = swept_topology(what, parallelism, acked)
        assert validation.problems(swept) == []
        assert {each.parallelism for each in swept.components} == {parallelism}
    before, after = (
        replace(each, components={"words": each.components["producers"],
                                  "count": each.components["stage1"]})
        for each in (stats(1_000), stats(5_000))
    )  # fmt: skip
    row = sweep_row("wordcount", before, after, 2.0)
    assert row == {"tuples_per_min": 60_000.0, "p50_ms": 2.0, "p99_ms": None}


@pytest.mark.parametrize("acked", [True, False])
def test_word_count_and_active_users_count_what_was_emitted(acked: bool) -> None:
    with TopologyTester(swept_topology("wordcount", 2, acked)) as tester:
        tester.run_spouts(50)
        words = Counter(each.values[0] for each in tester.emitted("words"))
        counted: Counter[str] = Counter()
        for bolt in tester.component("count"):
            counted.update(bolt.counts)
        assert counted == words
        assert len(tester.acked("words")) == words.total(), "at most once at the emit"
    with TopologyTester(swept_topology("rtac", 2, acked)) as tester:
        tester.run_spouts(50)
        users = {each.values[0] for each in tester.emitted("events")}
        new = [platform for platform, is_new in rows_of(tester, "user-count") if is_new]
        assert len(new) == len(users)
        active = [bolt.active for bolt in tester.component("aggregator")]
        assert sum(map(Counter, active), Counter()) == Counter(new)


def test_the_means_of_the_tap_job_are_those_of_its_calls() -> None:
    calls = 300
    with TopologyTester(swept_topology("tap", 1, acked=True)) as tester:
        tester.run_spouts(calls)
        tester.advance(5)
        emitted = [each.values for each in tester.emitted("calls")]
        rows = {(firm, minute): mean for firm, minute, mean in rows_of(tester, "means")}
        table = tester.metrics("table")["executed"]
    latencies: dict[tuple[str, int], list[int]] = {}
    for (call, firm, began_ms), (again, _, answered_ms) in zip(
        emitted[::2], emitted[1::2], strict=True
    ):
        assert call == again
        if answered_ms - began_ms <= bench_tap.WITHIN_MS:
            latencies.setdefault((firm, began_ms // 60_000), []).append(answered_ms - began_ms)
    assert 0.9 * calls < sum(map(len, latencies.values())) < calls, "some answers are late"
    complete = {key: fmean(each) for key, each in latencies.items() if key[1] < 2}
    assert complete
    assert rows == pytest.approx(complete)
    assert table == len(rows)


def rows_of(tester: TopologyTester, name: str) -> list[list[Any]]:
    """What a component has emitted."""
    return [each.values for each in tester.emitted(name)]


@pytest.mark.parametrize(
    ("option", "value", "line"),
    [
        ("--parallelism", "1,x", "'1,x' is not a list of numbers from 1 to 1000, as in 1,2,4"),
        ("--parallelism", "0", "'0' is not a list of numbers from 1 to 1000, as in 1,2,4"),
        ("--acks", "yes", "'yes' is not on, off, or on,off"),
    ],
)
def test_a_wrong_list_of_a_sweep_is_named(option: str, value: str, line: str) -> None:
    result = CliRunner().invoke(bench_command, ["wordcount", option, value])
    assert result.exit_code == 2
    assert line in result.output


def test_stats_show_keys_that_are_a_large_share_of_a_components_input() -> None:
    found = stats(1_000)
    keys = (HotKeyStats(key="'the'", share=0.6), HotKeyStats(key="'a'", share=0.05))
    count = replace(found.components["stage1"], hot_keys=keys)
    assert hot_key_lines(replace(found, components={"count": count})) == [
        "frequent keys of count: 'the' 60%"
    ]
    assert hot_key_lines(found) == []


def test_advice_names_the_command_that_follows_it() -> None:
    count = Assessment(
        component="count", instances=1, wanted=4, floor=4, utilization=3.0, input_per_sec=1200.0,
        rate=400.0, because="its input would be 300% of its capacity",
    )  # fmt: skip
    split = replace(count, component="split", wanted=1, because="")
    text = advice_table((split, count))
    assert "count" in text.splitlines()[-1]
    assert "its input would be 300% of its capacity" in text
    assert summary("t", (split, count)) == "heronpy update t --component-parallelism count:4"
    assert summary("t", (split,)) == "every component has the parallelism it needs"
