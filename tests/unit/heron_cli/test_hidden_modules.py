"""A user's own module may have the name of one of heronpy's."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_module_of_the_users_that_hides_ours_is_named_in_one_line(tmp_path: Path) -> None:
    own = tmp_path / "scheduler.py"
    own.write_text("jobs = []\n")
    path = os.pathsep.join((str(tmp_path), os.getcwd()))
    command = [sys.executable, "-m", "heron_cli", "list"]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"heronpy: {own} hides heronpy's own 'scheduler': take its folder off PYTHONPATH\n"
    )
