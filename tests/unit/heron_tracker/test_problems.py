"""First lines for an operator called at night: the cause, and the remedy."""

from typing import Any

import pytest

from heron_core.algorithms.autoscale.sizing import SizingLimits
from heron_core.algorithms.user_metrics import RAISED
from heron_core.algorithms.user_series import SERIES_MAX
from heron_core.clock_stats import ClockStats
from heron_core.config import RAM_MAP
from heron_core.records import replace
from heron_core.stats import (
    CheckpointStats,
    HotKeyStats,
    RecentCounts,
    StreamManagerStats,
    TopologyStats,
)
from heron_core.topology_events import TopologyEvent
from heron_tracker.model.problems import (
    CRASHED_SECS,
    RESTARTED_SECS,
    STARTING_SECS,
    over,
    problems,
    summary,
)
from heron_tracker.model.silence import BLOCKED_SECS, SILENT_SECS
from heron_tracker.model.slow_problems import UNNAMED_SECS, instances_needed
from heron_tracker.model.tracker_problem import ProblemKind, ends_of, label
from heron_tracker.pages.cells import TONES
from tests.unit.heron_tracker.tracker_support import component, instance, paused, stats


def kinds(found: TopologyStats) -> list[str]:
    """The kinds of all findings, the worst first."""
    return [each.kind.value for each in problems(found)]


def test_nothing_is_wrong() -> None:
    found = stats({"count": {"capacity": 0.4}, "split": {"capacity": 0.1}})
    assert problems(found) == ()
    assert summary(found) == "nothing holds it back: the busiest bolt is `count`, 40% busy"
    assert summary(stats(state="PAUSED")) == "the topology is PAUSED"


def test_a_finite_run_that_waits_for_its_end_says_for_whom() -> None:
    found = stats(phase="draining", waiting_for=("count[1]",))
    assert problems(found) == ()
    assert summary(found) == "the end waits for count[1]"


def test_a_slow_bolt_is_named_with_the_number_of_instances_that_would_do() -> None:
    """Two instances at 97 %, whose senders are held back a third of the time."""
    rows = {task: {"capacity": 0.97, "executed_per_sec": 100.0} for task in (4, 5)}
    found = stats(
        {"count": {"capacity": 0.97, "queue_secs": 1.5}}, rows,
        paused={2: paused("split[0]", "count[0]", 0.33)},
    )  # fmt: skip
    assert summary(found) == (
        "`count` is the bottleneck: 97% busy on 2 instances and pauses `split`; 4 would do "
        "(`heronpy update words --component-parallelism count:4`)"
    )
    assert kinds(found) == ["bottleneck"]


def test_who_is_held_back_by_another_is_not_the_bottleneck() -> None:
    """The queue of `split` is long and pauses `lines`, but only because `count` pauses `split`."""
    found = stats(
        {"count": {"capacity": 0.97}, "split": {"capacity": 0.95, "queue_secs": 4.0}},
        paused={1: paused("lines[0]", "split[0]", 0.5), 2: paused("split[0]", "count[0]", 0.5)},
    )
    assert [each.component for each in problems(found)] == ["count"]


def test_between_two_pauses_the_cause_is_still_named_first() -> None:
    """`split` is on its way at full speed for a moment, after being held back most of the time."""
    found = stats(
        {"count": {"capacity": 0.97}, "split": {"capacity": 1.0, "queue_secs": 4.0}},
        paused={
            1: paused("lines[0]", "split[0]", 0.5),
            2: replace(paused("split[0]", "", 0.8), causes=(), because_of=()),
            3: paused("lines[0]", "count[0]", 0.5),
        },
    )
    assert [each.component for each in problems(found)] == ["count", "split"]


def test_a_bolt_that_emits_without_declared_outputs_is_named() -> None:
    text = "count emits, but declares no outputs"
    found = stats({"count": {"undeclared": 1200, "errors": 1, "last_error": text}})
    assert summary(found) == (
        "`count` has emitted 1200 tuples that are dropped: it declares no outputs; the last error"
        " is count emits, but declares no outputs"
    )


def test_a_spout_whose_iterator_began_anew_is_named() -> None:
    lost = {"forgotten": 2, "forgotten_by_attribute": {"lines": 2}, "last_error": "starts again"}
    assert summary(stats({"count": lost})) == (
        "attributes of `count` could not be saved, and were reset: `lines`; the last error is"
        " starts again"
    )


@pytest.mark.parametrize(
    ("busy", "share", "expected"), [(0.9, 0.0, 3), (0.97, 0.35, 4), (0.99, 0.99, 53), (0.2, 0.0, 1)]
)
def test_instances_needed(busy: float, share: float, expected: int) -> None:
    """By how busy they are and how much their senders are held back."""
    rows = [instance(task, capacity=busy) for task in (4, 5)]
    assert instances_needed(component("bolt", instances=2), rows, share, 0.75) == expected


def advised(busy: float = 0.99, fixed_state: bool = False, **limits: Any) -> str:
    """Advice for `count`, whose senders are held half of their time."""
    rows = {task: {"capacity": busy, "fixed_state": fixed_state} for task in (4, 5)}
    held = {2: paused("split[0]", "count[0]", 0.5)}
    found = stats({"count": {"capacity": busy}}, rows, paused=held, sizing=SizingLimits(**limits))
    (only,) = problems(found)
    return only.remedy


def test_advice_keeps_the_limits_and_the_target_of_the_topology() -> None:
    """Both as in `heronpy advise`."""
    assert advised().startswith("6 would do (`heronpy update")
    assert advised(target_utilization=0.99).startswith("4 would do")
    assert advised(target_utilization=0.2).startswith("at least 8 would do"), "four times as many"
    assert advised(instances_max={"count": 5}).startswith("at least 5 would do")
    assert advised(instances_max={"count": 2}) == (
        "6 would do, and it may have 2 (topology.autoscale.instances.max)"
    )


def test_a_state_that_cannot_be_divided_is_no_reason_for_more_instances() -> None:
    """Heron's put(): an update would be refused."""
    assert "cannot be divided" in advised(fixed_state=True)


def test_a_busy_bolt_without_a_queue_is_a_bottleneck_to_come() -> None:
    rows = {task: {"capacity": 0.93} for task in (4, 5)}
    assert summary(stats({"count": {"capacity": 0.93}}, rows)).startswith(
        "`count` is the bottleneck: 93% busy on 2 instances; 3 would do"
    )


def test_a_spout_that_is_always_busy_is_none() -> None:
    """A spout without acks emits at full speed."""
    assert problems(stats({"lines": {"capacity": 1.0}}, {1: {"capacity": 1.0}})) == ()


def test_a_frequent_key_makes_one_instance_do_all() -> None:
    """More instances would not help, so the advice is another."""
    found = stats(
        {"count": {"capacity": 0.98, "queue_secs": 3.0}},
        {4: {"capacity": 0.98, "executed_per_sec": 900.0},
         5: {"capacity": 0.1, "executed_per_sec": 100.0}},
        paused={2: paused("split[0]", "count[0]", 0.5)},
    )  # fmt: skip
    (only,) = problems(found)
    assert only.kind is ProblemKind.SKEWED
    assert only.instance == "count[0]"
    assert only.what == "`count[0]` does 90% of the work of 2 instances of `count` and is 98% busy"
    assert "more instances do not help" in only.remedy
    assert "--component-parallelism" not in only.sentence


def test_an_uneven_load_that_holds_nobody_up_is_no_problem() -> None:
    found = stats(
        {"count": {"capacity": 0.3}},
        {4: {"capacity": 0.3, "executed_per_sec": 900.0}, 5: {"executed_per_sec": 10.0}},
    )
    assert problems(found) == ()


def test_a_failing_bolt_is_named_with_its_last_error() -> None:
    trace = "Traceback (most recent call last):\n  …\nValueError: no word"
    found = stats({"split": {"acked": 90, "failed": 10, "errors": 10, "last_error": trace}})
    assert summary(found) == (
        "`split` has failed 10 tuples (10.0% of all); the last error is ValueError: no word"
    )


def test_one_failure_in_a_million_is_no_finding() -> None:
    assert problems(stats({"split": {"acked": 1_000_000, "failed": 1}})) == ()


def test_tuples_that_nobody_acks_are_a_matter_of_the_timeout() -> None:
    found = stats({"lines": {"acked": 50, "failed": 50, "expired": 50}})
    assert summary(found).startswith("50 tuples of `lines` were not acked in time (50.0% of all)")


def test_a_stuck_call_comes_before_the_pressure_that_it_makes() -> None:
    """Its queue is full because of the call: more instances are no cure."""
    found = stats(
        {"count": {"capacity": 1.0, "queue_secs": 9.0}}, {4: {"stuck_secs": 12.0, "capacity": 1.0}},
        stuck={"count[0]": 12.0}, paused={2: paused("split[0]", "count[0]", 0.9)},
    )  # fmt: skip
    assert kinds(found) == ["stuck"]
    assert summary(found).startswith("`count[0]` has been in one call of user code for 12 s")


def test_a_container_that_is_gone_is_down_until_it_is_back() -> None:
    found = stats({"count": {"up": 0}}, containers=(1,))
    assert summary(found) == (
        "2 of 2 instances of `count` are down (containers without a word: 2); "
        "what has ended is replaced by itself; the events say why it ended"
    )
    assert problems(stats({"count": {"up": 0}}, phase="ended", state="ENDED")) == ()
    assert problems(stats({"count": {"up": 0}}, epoch=0)) == (), "it is still starting"


@pytest.mark.parametrize(
    ("kind", "what", "found"),
    [
        ("action", "restart, containers 2", []),
        ("restart", "stream manager 2 ended in order", []),
        ("action", "deactivate", ["down"]),
    ],
)
def test_a_container_that_a_user_restarts_is_not_down(
    kind: str, what: str, found: list[str]
) -> None:
    event = TopologyEvent(at=100.0, kind=kind, what=what)
    silent = stats({"count": {"up": 0}}, containers=(1,), events=(event,))
    assert [each.kind for each in problems(silent, 100.0 + RESTARTED_SECS)] == found
    assert [each.kind for each in problems(silent, 101.0 + RESTARTED_SECS)] == ["down"]


def test_an_instance_that_starts_is_not_down() -> None:
    rescaled = stats({"count": {"up": 1}}, starting={"count[1]": STARTING_SECS - 1})
    assert problems(rescaled) == ()
    assert kinds(stats({"count": {"up": 0}}, starting={"count[1]": 2.0})) == ["down"], "the other"


def test_an_instance_that_starts_for_long_is_named() -> None:
    late = stats({"count": {"up": 1}}, starting={"count[1]": 75.0, "split[0]": 2.0})
    assert summary(late) == (
        "1 instance of `count` did not report in the 75 s since the start of the process; its log"
        " says how far it is; what `initialize` waits for needs a timeout"
    )
    assert [each.label for each in problems(late)] == [("down", "count", "start")]
    assert problems(stats(starting={"gone[0]": 75.0})) == (), "of a component that is not known"


def not_running(secs: float, **given: Any) -> TopologyStats:
    """`count[0]` is stopped, and its queue pauses `split`."""
    given = {"paused": {2: paused("split[0]", "count[0]", 0.9)}, **given}
    rows = {4: {"pid": 77, "capacity": 0.03}}
    return stats({"count": {"capacity": 0.03}}, rows, unheard={"count[0]": secs}, **given)


def test_a_stopped_process_is_named_and_is_not_a_bottleneck() -> None:
    assert problems(not_running(1.6)) == (), "it may be late, on a busy machine"
    assert kinds(not_running(7.0)) == ["down"]
    assert summary(not_running(7.0)) == (
        "the process of `count[0]` does not run: tuples wait for it, and it has not reported for"
        " 7 s; it is stopped (SIGSTOP, a debugger) (`kill -CONT 77`), has no core or memory, or a"
        " call in C keeps Python's lock; it is restarted after topology.liveness.timeout.secs"
    )


def test_a_bolt_with_a_queue_and_without_work_is_no_bottleneck_for_ten_seconds() -> None:
    def found(secs: float, **given: Any) -> TopologyStats:
        pause = replace(paused("split[0]", "count[0]", 0.9), this_pause_secs=secs)
        return stats({"count": {"capacity": 0.03}}, paused={2: pause}, **given)

    assert problems(found(UNNAMED_SECS - 1)) == (), "a hanging call is named after five seconds"
    assert kinds(found(UNNAMED_SECS)) == ["bottleneck"]
    starts = {"instances": {4: {"pid": 77}}, "errors": {4: "ValueError: no database"}}
    assert "bottleneck" not in kinds(found(UNNAMED_SECS, **starts))
    assert "bottleneck" not in kinds(found(UNNAMED_SECS, instances={4: {"up": False}}))


def test_an_instance_that_has_to_wait_may_rest() -> None:
    held = {2: paused("split[0]", "count[0]", 0.9), 4: paused("count[0]", "count[1]", 0.9)}
    assert "down" not in kinds(not_running(7.0, paused=held))
    at_barrier = CheckpointStats(
        completed=3, latest=4, under_way=4, failed=0, failure="", restored=0, released=True
    )
    assert problems(not_running(7.0, checkpoints=at_barrier)) == ()


def test_what_cannot_start_is_the_worst() -> None:
    found = stats({"count": {"up": 1}}, errors={4: "Traceback …\nValueError: no database"})
    assert kinds(found) == ["cannot start", "down"]
    assert summary(found).startswith("`count[0]` cannot start: ValueError: no database")


def test_checkpoints_and_losses() -> None:
    checkpoints = CheckpointStats(
        completed=3, latest=4, failed=1, failure="it took longer than 60 s", restored=0,
        released=True, waiting_for=("count[1]",),
    )  # fmt: skip
    dropped = StreamManagerStats(waiting_bytes={}, dropped=7)
    found = stats(checkpoints=checkpoints, lost=5, stream_managers={1: dropped})
    assert kinds(found) == ["checkpoint", "lost", "lost"]
    assert summary(found).startswith(
        "the last checkpoint failed: it took longer than 60 s, waiting for count[1]"
    )
    assert len({each.key for each in problems(found)}) == 3


def test_the_key_that_keeps_an_instance_busy_is_named() -> None:
    hot = (HotKeyStats(key="'x'", share=0.43),)
    rows = {
        4: {"capacity": 0.98, "executed_per_sec": 500.0},
        5: {"capacity": 0.5, "executed_per_sec": 300.0},
        6: {"capacity": 0.4, "executed_per_sec": 200.0},
        7: {"capacity": 0.4, "executed_per_sec": 200.0},
    }
    busy = {"capacity": 0.98, "hot_keys": hot, "instances": 4, "up": 4}
    found = stats({"count": busy}, rows)
    assert summary(found).startswith(
        "key 'x' is 43% of the input of `count`, whose busiest instance is 98% busy; "
        "more instances do not help"
    )
    alone = stats({"count": {**busy, "instances": 1, "up": 1}}, {4: rows[4]})
    assert "key" not in problems(alone)[0].what  # the others can be taken off it


def test_what_was_killed_is_named_though_it_runs_again() -> None:
    """A container twice, an instance once; graceful ends and old kills are not problems."""
    killed = "stream manager 2 was killed by signal 9 (SIGKILL)"
    events = tuple(
        TopologyEvent(at=at, kind=kind, what=what, container=2, task=task, instance=name)
        for at, kind, what, task, name in (
            (100.0, "crash", killed, None, None),
            (200.0, "crash", "exited with code 3", 5, "count[1]"),
            (250.0, "restart", "ended in order", 4, "count[0]"),
            (300.0, "crash", killed, None, None),
        )
    )
    found = stats(events=events)
    container, instance_ = problems(found, 350.0)
    assert container.what == (
        f"container 2, with `count[0]`, `count[1]`, crashed, 2 times in 5 minutes: {killed}"
    )
    assert (container.component, instance_.component) == ("count", "count")
    assert "out of memory" in container.remedy
    assert instance_.sentence == (
        "`count[1]` crashed: exited with code 3; it was restarted; its log says why it ended"
    )
    assert problems(found, 300.0 + CRASHED_SECS + 1) == ()
    assert "nothing holds it back" in summary(found)


def test_a_silent_spout_is_named_last_with_what_it_waits_for() -> None:
    quiet = {"lines": {"silent_secs": SILENT_SECS, "pending": 0}}
    assert summary(stats(quiet)) == (
        "spout `lines` has emitted nothing for 60 s; look whether its source has data"
    )
    waits = {"lines": {"silent_secs": 75.0, "pending": 1000}}
    assert summary(stats(waits)) == (
        "spout `lines` has emitted nothing for 75 s: 1,000 tuples of it wait for their acks; find"
        " the bolt that does not ack"
    )
    both = stats({**quiet, "count": {"callback_errors": 1}})
    assert kinds(both) == ["failing", "silent"]


@pytest.mark.parametrize(
    "given",
    [
        {"components": {"lines": {"silent_secs": SILENT_SECS - 1}}},
        {"components": {"lines": {"silent_secs": None}}},
        {"components": {"lines": {"silent_secs": 99.0}}, "state": "PAUSED"},
        {"components": {"lines": {"silent_secs": 99.0}}, "phase": "draining"},
    ],
)
def test_a_spout_that_was_not_to_emit_is_not_silent(given: dict[str, Any]) -> None:
    assert problems(stats(**given)) == ()


def test_a_spout_that_is_held_back_or_stuck_is_explained_by_that() -> None:
    quiet = {"lines": {"silent_secs": 99.0}}
    held = stats(
        {**quiet, "split": {"capacity": 1.0}}, paused={1: paused("lines[0]", "split[0]", 1.0)}
    )
    assert "silent" not in kinds(held)
    assert kinds(stats(quiet, stuck={"lines[0]": 12.0})) == ["stuck"]


def test_a_source_that_holds_the_watermark_back_is_named() -> None:
    clock = ClockStats(
        instance="count[0]", task=4, watermark_ms=5000, complete=False, waits_for="lines[0]",
        waits_for_task=1, silent_secs=BLOCKED_SECS, idle=(),
    )  # fmt: skip
    assert summary(stats(clock=clock)) == (
        "the watermark of `count[0]` waits for `lines[0]`, which has sent nothing for 30 s; windows"
        " are complete when it sends again; topology.bolts.watermark.idle.ms leaves silent sources"
        " out"
    )
    for other in (
        replace(clock, silent_secs=BLOCKED_SECS - 1), replace(clock, waits_for=None, complete=True)
    ):  # fmt: skip
        assert problems(stats(clock=other)) == ()


def test_a_source_that_is_full_is_not_called_silent() -> None:
    clock = ClockStats(
        instance="count[0]", task=4, watermark_ms=5000, complete=False, waits_for="lines[0]",
        waits_for_task=1, silent_secs=45.0, idle=(),
    )  # fmt: skip
    most: dict[str, Any] = {"pending_max": {"lines": 1000}, "clock": clock}
    full = stats(instances={1: {"pending": 1000}}, **most)
    assert summary(full) == (
        "the watermark of `count[0]` waits for `lines[0]`, which has sent nothing for 45 s because"
        " its tuples wait for their acks; windows ack their tuples when they are complete: raise"
        " topology.max.spout.pending above what the open windows of all keys hold, or find the bolt"
        " that does not ack"
    )
    (partly,) = problems(stats(instances={1: {"pending": 3}}, **most))
    assert partly.cause == "silent source", "open windows hold some tuples of a silent source"
    held = stats(paused={1: paused("lines[0]", "split[0]", 1.0)}, **most)
    assert "watermark" not in kinds(held), "it is paused"
    assert kinds(stats(stuck={"lines[0]": 40.0}, **most)) == ["stuck"]


def test_a_spout_below_its_limit_is_not_said_to_wait_for_acks() -> None:
    quiet = {"lines": {"silent_secs": 75.0, "pending": 3}}
    (found,) = problems(stats(quiet, {1: {"pending": 3}}, pending_max={"lines": 1000}))
    assert found.cause == "without data"
    (found,) = problems(stats(quiet, {1: {"pending": 1000}}, pending_max={"lines": 1000}))
    assert found.cause == "waits for acks"


def test_metrics_that_are_not_served_are_named_but_for_texts() -> None:
    words = {f"word {at}": at for at in range(SERIES_MAX + 50)}
    found = stats({"count": {"user": {"words": words, "version": "v1"}}})
    assert summary(found) == (
        "50 values of `count`'s metrics, most of them of `words`, are not served to Prometheus, as"
        " a topology may have 200; count fewer keys"
    )
    broken = stats({"count": {"user": {"bad": f"{RAISED} KeyError(1)"}}})
    assert "get_value_and_reset raises" in summary(broken)


def test_a_cause_is_a_label_without_numbers_and_words_of_data() -> None:
    trace = "Traceback (most recent call last):\n  …\nmy.Error: no word 'x'"
    found = stats(
        {"split": {"acked": 90, "failed": 10, "last_error": trace}},
        errors={4: trace}, stuck={"count[1]": 7.0},
    )  # fmt: skip
    assert {each.cause for each in problems(found)} == {"my.Error", "user code"}
    assert over("FAILED", "container 2 ended with code 3").cause == "container # ended with code #"


def test_failures_are_those_of_the_last_seconds() -> None:
    """After a week of health, and once cured; a bolt without acks has a share, too."""
    week = {"executed": 10**9, "acked": 10**9, "failed": 5000, "callback_errors": 7}
    cured = {"split": {**week, "recent": RecentCounts(secs=10.0, executed=900, acked=900)}}
    assert problems(stats(cured)) == ()
    failing = {"split": {**week, "recent": RecentCounts(secs=10.0, executed=330, failed=3)}}
    assert summary(stats(failing)).startswith(
        "`split` has failed 3 tuples in the last 10 s (0.9% of all)"
    )
    raising = {"split": {**week, "recent": RecentCounts(secs=10.0, callback_errors=2)}}
    assert summary(stats(raising)).startswith(
        "2 errors of `split` outside of tuples in the last 10 s"
    )
    late = RecentCounts(secs=10.0, expired=50, acked_in_minute=150)
    assert summary(stats({"lines": {**week, "recent": late}})).startswith(
        "50 tuples of `lines` were not acked in time in the last minute (25.0% of all)"
    )


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("was killed by signal 9 (SIGKILL)", "its machine was out of memory"),
        ("was killed by signal 9 (SIGKILL): it was silent for 15 s, and was killed", "SIGSTOP"),
        (f"ended in order: it uses 160 MB of the 150 MB that {RAM_MAP} has", f"raise {RAM_MAP}"),
        ("exited with code 3", "its log says why it ended"),
    ],
)
def test_a_process_that_its_supervisor_has_killed_is_not_out_of_memory(
    reason: str, remedy: str
) -> None:
    """Stopped by SIGSTOP it was silent, hence the SIGKILL."""
    event = TopologyEvent(at=100.0, kind="crash", what=reason, container=2, instance="count[1]")
    (only,) = problems(stats(events=(event,)), 101.0)
    assert remedy in only.remedy


def test_every_kind_of_problem_has_a_tone_on_the_pages() -> None:
    """A kind without one ended the refresh of the whole page."""
    assert TONES.keys() == set(ProblemKind)


def test_a_long_reason_keeps_its_end_and_a_cause_has_no_path_in_it() -> None:
    reason = f"numbers[0]: {'/very/long' * 40}/begun cannot be read: Not a directory"
    assert ends_of(reason, 240).endswith("cannot be read: Not a directory")
    assert ends_of(reason, 240).startswith("numbers[0]: /very")
    assert len(ends_of(reason, 240)) == 240
    assert ends_of("short", 240) == "short"
    assert label(reason) == "numbers[#]: PATH cannot be read: Not a directory"
