"""A pod's log has what its processes log, each line with its log's name, whole and once."""

import io
import os
from pathlib import Path

from heron_engine.scheduler.backends.kubernetes.printed_logs import FollowedFolder, print_logs


def test_lines_are_printed_when_they_are_whole(tmp_path: Path) -> None:
    output, followed = io.StringIO(), FollowedFolder(str(tmp_path))
    log = tmp_path / "count-1.log"
    log.write_text("one\ntw")
    (tmp_path / "numbers.json").write_text("not a log\n")
    followed.print_fresh(output)
    with log.open("a") as file:
        file.write("o\nthree\n")
    followed.print_fresh(output)
    assert output.getvalue() == "count-1 | one\ncount-1 | two\ncount-1 | three\n"


def test_a_rotated_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    output, followed = io.StringIO(), FollowedFolder(str(tmp_path))
    log = tmp_path / "count-1.log"
    log.write_text("old\n")
    followed.print_fresh(output)
    os.rename(log, tmp_path / "count-1.log.1")
    log.write_text("new\n")
    followed.print_fresh(output)
    assert output.getvalue() == "count-1 | old\ncount-1 | new\n"


def test_what_comes_last_is_printed(tmp_path: Path) -> None:
    """A container says why it ends in its last line."""
    output = io.StringIO()
    with print_logs(str(tmp_path), output):
        (tmp_path / "container-1.log").write_text("it ends\n")
    assert output.getvalue() == "container-1 | it ends\n"
