"""`heronpy tail` where no log is what was asked for."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heron_cli.main import heronpy
from heron_core.errors import UsageError


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
