"""A user's own module may have the name of one of heronpy's."""

import os
import subprocess
import sys
from pathlib import Path


def listed(folder: Path) -> "subprocess.CompletedProcess[str]":
    """`heronpy list` with this folder on PYTHONPATH."""
    path = os.pathsep.join((str(folder), os.getcwd()))
    home = {"HERONPY_HOME": str(folder / "home")}
    return subprocess.run(
        [sys.executable, "-m", "heron_cli", "list"],
        check=False,
        env={**os.environ, **home, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_users_scheduler_on_the_path_is_not_in_the_way(tmp_path: Path) -> None:
    for name in ("scheduler", "stream_manager", "topology_master"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    done = listed(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_of_the_users_that_hides_ours_is_named_in_one_line(tmp_path: Path) -> None:
    own = tmp_path / "heron_io.py"
    own.write_text("jobs = []\n")
    done = listed(tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"heronpy: {own} hides heronpy's own 'heron_io': take its folder off PYTHONPATH\n"
    )
