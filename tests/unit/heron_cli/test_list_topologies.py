"""`heronpy list` at the width of a terminal, in a pipe, and of topologies that nobody can ask."""

import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heron_cli.commands.list_topologies import summaries_text
from heron_cli.main import heronpy
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.state_tree import execution_path, packing_path, scheduler_path, topology_path
from heron_io.state_store.file_store import FileStore

PID_MAX = 2**22
"""Linux gives no process a larger one."""
AT = "2026-11-23T04:55:33+0000"


def summary(name: str, **changed: Any) -> dict[str, Any]:
    """What `list` knows of a topology."""
    known = {"state": "RUNNING", "containers": 1, "instances": 3, "submitted": AT}
    return {
        "name": name,
        **known,
        "host": "vm",
        "user": "ada",
        "ended": "",
        "reason": "",
        **changed,
    }


ENDED = summary(
    "words", state="KILLED", ended=AT, reason="killed by ada on vm (pid 28312), after two minutes"
)


def test_a_list_with_ended_topologies_fits_into_80_columns() -> None:
    text = summaries_text([summary("counts_of_words"), ENDED], 80)
    assert max(map(len, text.splitlines())) <= 80
    head, running, ended = text.splitlines()
    assert head.split() == ["name", "state", "ended", "reason"]
    assert running.split() == ["counts_of_words", "RUNNING"]
    assert ended.split()[:3] == ["words", "KILLED", AT]
    assert "  killed by ada on vm" in ended
    assert ended.endswith("…")


def test_a_wide_terminal_and_a_pipe_show_all_columns() -> None:
    for width in (160, None):
        head, _, ended = summaries_text([summary("counts"), ENDED], width).splitlines()
        assert head.split()[:6] == ["name", "state", "containers", "instances", "submitted", "host"]
        assert head.split()[6:] == ["user", "ended", "reason"]
        assert ended.endswith("after two minutes")


def test_what_runs_fits_into_80_columns_without_a_name_being_cut() -> None:
    name = "count_of_words_in_the_logs_of_all_machines_of_the_west"
    head, line = summaries_text([summary(name)], 80).splitlines()
    assert line.startswith(f"{name}  RUNNING")
    assert head.split() == ["name", "state", "instances"]


def test_stats_of_a_topology_whose_scheduler_was_killed_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with FileStore(str(tmp_path / "state")) as store:
        store.put(topology_path("words"), {})
        store.put(packing_path("words"), packing_to_json(PackingPlan("words", ())))
        store.put(execution_path("words"), {"state": "RUNNING"})
        dead = {"host": socket.gethostname(), "pid": PID_MAX + 1, "started": "0"}
        store.put(scheduler_path("words"), dead)
    with pytest.raises(HeronError, match="killed: `heronpy kill words` removes what is left"):
        CliRunner().invoke(heronpy, ["stats", "words"], catch_exceptions=False)
