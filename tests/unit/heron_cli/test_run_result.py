"""The last lines of a run tell the truth: processed and unprocessed tuples, with reasons."""

from pathlib import Path

import pytest

from heron_cli.commands.run import ending_code
from heron_cli.letters_line import letters_line
from heron_cli.run_result import (
    RunEnding,
    failure_line,
    shortfall_line,
    stored_line,
    waiting_text,
    warning_lines,
    without_outcome,
)
from heron_cli.stats_text import processed
from heron_connectors.letters.records import record_of
from heron_core.config.names import DEAD_LETTER
from heron_core.exit_codes import INCOMPLETE
from heron_core.records import replace
from heron_core.topology import TopologySpec
from tests.unit.heron_cli.test_checkpoint_line import NINTH
from tests.unit.heron_cli.view_support import STATS, component

GOOD = replace(
    STATS,
    lost=0,
    components={"in": component("spout", emitted=5), "out": component("bolt", executed=5)},
    state="ENDED",
    drained=True,
    stuck={},
    events=(),
)


def test_all_went_well() -> None:
    assert shortfall_line(GOOD) == ""
    *_, last = RunEnding(GOOD, 2.0, is_done=True, logs="/logs").lines(80)
    assert last == "words ended after 2.0 s: 5 tuples processed, 2.5/s. Logs: /logs"


def test_late_tuples_that_were_dropped_are_in_the_last_lines() -> None:
    bolt = replace(component("bolt", executed=5), user_totals={"numLateRecordsDropped": 1200.0})
    lines = RunEnding(replace(GOOD, components={"out": bolt}), 2.0, True, "/logs").lines(80)
    assert lines[-2] == (
        "out: 1,200 tuples came too late for a window and were dropped (numLateRecordsDropped); a"
        " late stream or more lag keeps them"
    )
    assert shortfall_line(GOOD) == ""


def test_every_tuple_raises() -> None:
    """A bolt with emits of a wrong arity: three tuples were tried, none was processed."""
    raising = component("bolt", executed=3, failed=3, failed_for_good=3, errors=3)
    stats = replace(GOOD, components={"bad": raising})
    assert processed(stats) == 0
    assert shortfall_line(stats) == "INCOMPLETE: 3 tuples failed for good"


def test_a_tuple_that_was_replayed_is_no_failure() -> None:
    """At least once: the tuple failed at the bolt, was replayed by its spout, and then acked."""
    bolt, spout = component("bolt", executed=6, failed=1), component("spout", acked=5, failed=1)
    assert shortfall_line(replace(GOOD, components={"in": spout, "out": bolt})) == ""


def test_at_most_once_a_killed_process_has_a_cost() -> None:
    assert shortfall_line(replace(GOOD, lost=1)) == "INCOMPLETE: up to 1 delivery lost"
    line = shortfall_line(replace(GOOD, lost=1234, lost_uncounted=True))
    assert line == (
        "INCOMPLETE: up to 1,234 deliveries lost; the queues of a stream manager were lost when "
        "its process ended"
    )


def test_where_all_has_to_be_exact_a_loss_is_a_failure() -> None:
    """A restore from a checkpoint is lossless, so losses are unexpected."""
    lost = replace(GOOD, lost=11, state="FAILED", checkpoints=NINTH)
    assert failure_line(lost) == (
        "FAILED: 11 deliveries sent and not processed in time, so neither results nor checkpoints"
        " are exact: start from scratch, with --fresh"
    )
    assert failure_line(replace(lost, lost=0)) == ""
    assert failure_line(replace(lost, checkpoints=None)) == ""
    assert stored_line(lost, "FAILED") == "", "a checkpoint that lacks tuples is not offered"
    assert stored_line(replace(lost, lost=0), "PAUSED").startswith("words keeps checkpoint 9")


def test_a_stop_says_what_it_discards() -> None:
    """Ctrl-C or -t before 2.4 million tuples that wait for a slow bolt."""
    stopped = replace(GOOD, state="PAUSED", drained=False, in_flight=2_400_000)
    line = shortfall_line(stopped)
    assert line == "INCOMPLETE: 2,400,000 deliveries still in flight, and discarded"
    assert "about 2,400,000" in shortfall_line(replace(stopped, events=STATS.events))
    assert shortfall_line(replace(stopped, drained=True)) == ""
    again = "2,400,000 deliveries still in flight, to be processed again by the next run"
    assert again in shortfall_line(replace(stopped, checkpoints=NINTH))


def test_a_stop_in_the_middle_of_a_long_call_says_so() -> None:
    """A tick of a minute emits at its end, too late."""
    stuck = {"count[0]": 6.0}
    stopped = replace(GOOD, state="PAUSED", drained=False, in_flight=0, stuck=stuck)
    assert shortfall_line(stopped) == (
        "INCOMPLETE: count[0]: still in a call, whose output is lost"
    )
    assert shortfall_line(replace(stopped, drained=True)) == ""


def test_errors_outside_of_a_tuple_count() -> None:
    """on_finish writes the result, and raises."""
    stats = replace(GOOD, components={"out": component("bolt", errors=1, callback_errors=1)})
    assert shortfall_line(stats) == "INCOMPLETE: out: 1 error outside of a tuple"


def test_a_malformed_message_makes_a_run_incomplete() -> None:
    stats = replace(GOOD, components={"out": component("bolt", executed=5, malformed=1)})
    assert shortfall_line(stats) == "INCOMPLETE: out: 1 malformed message dropped"


def test_what_a_bolt_without_outputs_emits_makes_a_run_incomplete() -> None:
    """Earlier a warning in a log, with exit code 0."""
    stats = replace(GOOD, components={"out": component("bolt", executed=5, undeclared=1200)})
    assert shortfall_line(stats) == (
        "INCOMPLETE: out: 1,200 tuples emitted without declared outputs, and dropped"
    )
    assert ending_code(0, stats) == INCOMPLETE


def test_an_attribute_that_cannot_be_saved_is_a_warning_until_a_restart_loses_data() -> None:
    """Earlier a line in the log of a worker of Spark."""
    lines = replace(component("spout"), unsaved=2, unsaved_attributes=("lines", "lock"))
    warned = replace(GOOD, components={"in": lines})
    (line,) = warning_lines(warned)
    assert line == (
        "in: lines, lock cannot be saved between batches: after a restart the attributes have "
        "their values from initialize"
    )
    assert RunEnding(warned, 2.0, True, "/logs").lines(80)[-2] == line
    assert ending_code(0, warned) == 0
    lost = replace(lines, forgotten=3, forgotten_by_attribute={"lines": 3})
    restarted = replace(GOOD, components={"in": lost})
    assert shortfall_line(restarted) == (
        "INCOMPLETE: in: lines could not be saved, and were reset 3 times"
    )
    assert ending_code(0, restarted) == INCOMPLETE


def test_a_stop_says_whom_it_waits_for() -> None:
    assert waiting_text(STATS) == (
        "waiting for count[0] (in one call for 6 s), 2.40M deliveries in flight"
    )
    assert waiting_text(replace(STATS, waiting_for=())) == ""


def test_a_scheduler_that_is_killed_is_named_with_its_signal() -> None:
    told = without_outcome("words", 9, "/logs", "")
    assert told == "words failed: its scheduler was killed by signal 9 (SIGKILL) (logs: /logs)"


def test_on_a_full_disk_a_run_that_cannot_write_says_so() -> None:
    """Earlier the run reported a killed scheduler after a graceful end."""
    told = without_outcome("words", 0, "/logs", "the disk of /logs is full (12 KiB free): free it")
    assert told.startswith("words failed: its scheduler could not record the end of the run")
    assert told.endswith("(the disk of /logs is full (12 KiB free): free it)")


def test_a_query_on_spark_with_failed_tuples_ends_with_that_line_and_code_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    raising = component("bolt", executed=10, failed=4, failed_for_good=4, errors=4)
    stats = replace(GOOD, state="RUNNING", drained=False, components={"b": raising})
    assert ending_code(0, stats) == INCOMPLETE
    assert "INCOMPLETE: 4 tuples failed for good" in capsys.readouterr().err
    assert ending_code(130, stats) == 130
    capsys.readouterr()
    assert ending_code(0, GOOD) == 0
    assert capsys.readouterr().err == ""


def test_a_query_of_spark_says_at_its_end_where_its_dead_letters_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ["lines", "default", 1, ["a"], ["b"]]
    letter = ["1", "parse", "parse[0]", 5000, 1, "ValueError: bad", "", *source]
    (tmp_path / "part-__dead_letters-0.jsonl").write_bytes(record_of(letter) + b"\n")
    topology = TopologySpec("t", (), {DEAD_LETTER: f"file:{tmp_path}"})
    line = letters_line(topology, GOOD, 4000)
    assert line == f"1 dead letter in {tmp_path}: list them with `heronpy dead-letters t`"
    assert letters_line(topology, GOOD, 6000) == ""
    assert ending_code(0, GOOD, line) == 0
    assert line in capsys.readouterr().err
