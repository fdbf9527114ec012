"""A Java that is no Java: the stand-in, where heronpy looks for one."""

import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from heron_frontends.jvm import class_path
from tests.unit.heron_frontends.jvm.java_support import Half
from tests.unit.heron_frontends.jvm.stand_in_jvm import main

REPOSITORY = Path(__file__).parents[4]


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """JAVA_HOME with the stand-in, and a compiler that writes nothing."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    program = (
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        f"from {main.__module__} import main\nmain()\n"
    )
    write_program(home / "bin" / "java", program)
    write_program(home / "bin" / "javac", '#!/bin/sh\necho "$@" >> "$(dirname "$0")/compiled"\n')
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STORM_HOME", raising=False)
    return home


def write_program(path: Path, text: str) -> None:
    """A file that can be executed."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def storm(tmp_path: Path) -> Path:
    """A jar with the one class by which Storm's is known."""
    jar = tmp_path / "storm-client.jar"
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr(class_path.STORM_CLASS, "")
    return jar


@pytest.fixture
def half(java_home: Path, storm: Path, tmp_path: Path) -> Iterator[Callable[..., Half]]:
    """Makes a component with its JVM; at the end no process is left."""
    before = set(psutil.Process().children(recursive=True))
    halves: list[Half] = []

    def make(action: str, **options: Any) -> Half:
        made = Half(action, tmp_path, storm.name, **options)
        halves.append(made)
        return made

    yield make
    for made in halves:
        made.component.close()
    assert set(psutil.Process().children(recursive=True)) <= before
