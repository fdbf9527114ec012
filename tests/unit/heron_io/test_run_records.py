"""What a topology master writes down: bounded, whole, and never a reason to end."""

import os
from pathlib import Path

import pytest

from heron_core.topology_events import TopologyEvent
from heron_io import run_records
from heron_io.run_records import EVENTS_FILE, STATISTICS_FILE, RunRecords

EVENT = TopologyEvent(at=0.0, kind="crash", what="was killed\nby somebody", container=1)


def test_an_event_is_one_line_and_the_file_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bolt that crashes for weeks must not fill the disk."""
    monkeypatch.setattr(run_records, "EVENTS_BYTES_MAX", 1000)
    records = RunRecords(str(tmp_path))
    for _ in range(100):
        records.write_event(EVENT)
    newest, before = (tmp_path / name for name in (EVENTS_FILE, f"{EVENTS_FILE}.1"))
    assert before.stat().st_size <= 1100
    (*_, line) = (newest if newest.exists() else before).read_text("utf-8").splitlines()
    assert line.endswith("crash: container 1 was killed by somebody")


def test_what_is_kept_is_found_by_the_next_master(tmp_path: Path) -> None:
    RunRecords(str(tmp_path)).keep({"events": []})
    assert RunRecords(str(tmp_path)).retained() == {"events": []}
    (tmp_path / STATISTICS_FILE).write_text("[half a fi")
    assert RunRecords(str(tmp_path)).retained() == {}
    assert RunRecords(None).retained() == {}
    assert os.listdir(tmp_path) == [STATISTICS_FILE]


def test_a_folder_that_is_gone_is_no_reason_to_end(tmp_path: Path) -> None:
    records = RunRecords(str(tmp_path / "gone"))
    records.write_event(EVENT)
    records.keep({})
    assert records.retained() == {}
