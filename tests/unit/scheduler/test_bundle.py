"""Files for a machine without installed packages."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.packaging.bundle import (
    RUNTIME,
    bundled,
    installed,
    topmost,
    zipped_packages,
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache with the runtime: packing takes a second."""
    made = tmp_path_factory.mktemp("cache")
    (made / f"{RUNTIME}-old.packed").write_text("of an earlier version")
    bundled([], str(made), str(made))
    return str(made)


def test_only_the_topmost_folders_travel(tmp_path: Path) -> None:
    for each in ("project/src", "projects", "other"):
        (tmp_path / each).mkdir(parents=True)
    names = ("project/src", "project", "projects", "other", "other", "missing")
    found = topmost(str(tmp_path / each) for each in names)
    assert [os.path.relpath(each, tmp_path) for each in found] == ["project", "projects", "other"]


def test_code_and_runtime_run_elsewhere(tmp_path: Path, cache: str) -> None:
    """Unpacked, the files are sufficient for all imports of a Python without packages."""
    code, elsewhere = tmp_path / "code", tmp_path / "elsewhere"
    (code / "inner").mkdir(parents=True)
    (code / "inner" / "words.py").write_text("WORDS = 3\n")
    (tmp_path / "out").mkdir()
    bundle = bundled([str(code)], cache, str(tmp_path / "out"))
    assert bundle.code == ((str(code), str(tmp_path / "out" / "heronpy-code-0.packed")),)
    found = installed(bundle.runtime, bundle.code, bundle.python, [str(elsewhere)])
    ((old, new),) = found.relocated
    assert old == str(code)
    assert (Path(new) / "inner" / "words.py").read_text() == "WORDS = 3\n"
    program = (
        "import os, kazoo.client, cloudpickle; print(zmq.__file__); "
        "from heron_engine.scheduler.container import main; "
        # Modules are not compiled again: two thirds of the time of imports.
        "assert all(map(os.path.exists, (main.__cached__, zmq.__cached__)))"
    )
    done = subprocess.run(
        # -S: no site-packages, as without installed packages.
        [sys.executable, "-S", "-c", f"import zmq; {program}"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": found.runtime, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert done.stdout.startswith(found.runtime)


def test_a_runtime_is_packed_once(tmp_path: Path, cache: str) -> None:
    """The archive replaces earlier versions."""
    (first,) = os.listdir(cache)
    inode = os.stat(os.path.join(cache, first)).st_ino
    assert bundled([], cache, str(tmp_path)).runtime == os.path.join(cache, first)
    assert os.stat(os.path.join(cache, first)).st_ino == inode


def test_another_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match=f"its Python is {this_python()}, but .* with cpython-3.2"):
        installed("runtime", [], "cpython-3.2-linux-x86_64", [str(tmp_path)])


def test_a_folder_that_cannot_be_made_is_passed_over(tmp_path: Path, cache: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    runtime = bundled([], cache, str(tmp_path)).runtime
    caches = (str(file / "below"), str(tmp_path / "second"))
    assert installed(runtime, [], this_python(), caches).runtime.startswith(caches[1])
    with pytest.raises(HeronError, match="no folder to unpack into"):
        installed(runtime, [], this_python(), caches[:1])


def test_a_python_without_packages_can_begin_with_the_zip(tmp_path: Path) -> None:
    """A task of Spark imports the zip to unpack the rest, on a bare worker."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import heron_engine.scheduler.backends.spark.container_task"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": zipped_packages(str(tmp_path)), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_our_packages_as_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(zipped_packages(str(tmp_path))) as made:
        names = set(made.namelist())
    assert {
        "heron_engine/scheduler/backends/spark/container_task.py",
        "heron_engine/scheduler/packaging/bundle.py",
        "heron_core/errors.py",
    } <= names
    assert not [each for each in names if each.endswith(".pyc")]
