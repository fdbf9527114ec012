"""What a topology that starts waits for, as `run` and `submit` show it."""

from pathlib import Path

from heron_cli.start_reasons import QUIET_SECS, StartReasons
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.own_nodes import WAITING
from heron_io.state_store.file_store import FileStore


def test_each_reason_is_given_once_and_not_in_the_first_seconds(tmp_path: Path) -> None:
    with FileStore(str(tmp_path)) as store:
        reasons = StartReasons(store, "words")
        assert not reasons.changed(QUIET_SECS), "without a scheduler's node"
        store.put(scheduler_path("words"), {WAITING: "0 of 2 slots"})
        assert not reasons.changed(QUIET_SECS - 1.0)
        assert reasons.changed(QUIET_SECS) == "words is starting: 0 of 2 slots"
        assert not reasons.changed(QUIET_SECS + 1.0)
        store.put(scheduler_path("words"), {WAITING: "1 of 2 slots"})
        assert reasons.changed(QUIET_SECS + 2.0) == "words is starting: 1 of 2 slots"
        store.put(scheduler_path("words"), {})
        assert not reasons.changed(QUIET_SECS + 3.0)
        assert reasons.last == "", "the wait is over"
