"""`heronpy tail` where no log is what was asked for."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heron_cli.main import heronpy
from heron_core.errors import HeronError, UsageError
from heron_core.state_tree import scheduler_path, topology_path
from heron_engine.scheduler.stored_outcomes import record_end
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store


@pytest.fixture
def words_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topology that has ended, with one log."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    logs = tmp_path / "topologies" / "words" / "logs"
    logs.mkdir(parents=True)
    (logs / "count-3.log").write_text("one line\n")


def tail(*words: str) -> Result:
    return CliRunner().invoke(heronpy, ["tail", "words", *words], catch_exceptions=False)


@pytest.mark.usefixtures("words_ran")
def test_a_pattern_that_no_log_matches_is_refused_with_the_logs_that_there_are() -> None:
    assert tail("--pattern", "count").stdout == "count-3 | one line\n"
    with pytest.raises(UsageError, match=r"--pattern 'cuont' has a match \(logs: count-3\.log\)"):
        tail("--pattern", "cuont")


@pytest.mark.usefixtures("words_ran")
def test_after_a_kill_on_yarn_the_command_for_its_logs_is_named() -> None:
    """The files in this machine's folder are those of an earlier run."""
    with open_store(Home.of_user().store_url) as store:
        store.put(topology_path("words"), {"name": "words", "config": {}})
        yarn = {"kind": "yarn", "cluster": "west", "application": "application_17_0001"}
        store.put(scheduler_path("words"), yarn)
        record_end(store, "words", {"state": "KILLED", "reason": "killed by ada"})
        for path in (topology_path("words"), scheduler_path("words")):
            store.delete(path)
    wanted = r"words has ended \(KILLED\): use `yarn logs -applicationId application_17_0001`"
    with pytest.raises(HeronError, match=wanted):
        tail()
