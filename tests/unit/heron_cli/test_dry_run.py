"""What --dry-run shows of a topology that Spark would run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy

EXAMPLE = Path(__file__).parents[3] / "examples" / "word_count.py"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left in the home of who runs the tests."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--engine", "spark", "--master", "local[2]"), "  level 2: count x 2\n"),
        (("--scheduler", "spark", "--master", "local[2]"), "spark-submit --master 'local[2,"),
    ],
)
@pytest.mark.parametrize("command", ["run", "submit"])
def test_a_dry_run_shows_what_would_be_started(
    command: str, words: tuple[str, ...], shown: str
) -> None:
    done = CliRunner().invoke(heronpy, [command, str(EXAMPLE), "--dry-run", *words])
    assert done.exit_code == 0, done.output
    assert shown in done.output
