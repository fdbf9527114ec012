"""The stand-in for Leiningen: what sparse asks of it."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from heron_core.errors import HeronError, UsageError
from heronpy_compat.lein import read_project, run, script

PROJECT = """
(defproject my_words "0.0.1-SNAPSHOT"  ; a "comment"
  :resource-paths ["_resources"]
  :target-path "_build"
  :dependencies  [[org.apache.storm/storm-core "1.1.0"]
                  [org.apache.storm/flux-core "1.1.0"]])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """As sparse leaves it before it calls lein."""
    (tmp_path / "project.clj").write_text(PROJECT)
    bolts = tmp_path / "_resources" / "resources" / "bolts"
    (bolts / "__pycache__").mkdir(parents=True)
    (bolts / "__pycache__" / "count.pyc").write_text("")
    (bolts / "count.py").write_text("x = 1")
    return tmp_path


@pytest.mark.parametrize(("word", "ending"), [("jar", ".jar"), ("uberjar", "-standalone.jar")])
def test_a_jar_has_the_resources(project: Path, word: str, ending: str) -> None:
    """Where sparse looks for it in the output."""
    (line,) = run([word], str(project))
    path = line.removeprefix("Created ")
    assert path == f"{project}/_build/my_words-0.0.1-SNAPSHOT{ending}"
    with zipfile.ZipFile(path) as jar:
        assert jar.namelist() == ["META-INF/MANIFEST.MF", "resources/bolts/count.py"]
    run(["clean"], str(project))
    assert not os.path.exists(path)


def test_the_version_of_storm_is_found_by_sparse(project: Path) -> None:
    (line,) = run(["deps", ":tree"], str(project))
    assert re.findall(r'\[org\.apache\.storm/storm-core "([^"]+)"\]', line) == ["1.1.0"]


def test_nothing_of_java_is_left_out_in_silence(project: Path) -> None:
    (project / "src" / "java").mkdir(parents=True)
    dependency = ':dependencies [[com.example/kafka-bolt "2.0"] '
    text = PROJECT.replace(":dependencies  [", dependency)
    (project / "project.clj").write_text(text)
    with pytest.raises(HeronError, match=r"parts for a JVM \(com.example/kafka-bolt, src/java\)"):
        run(["jar"], str(project))


def test_what_is_not_a_project_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no project\.clj"):
        run(["jar"], str(tmp_path))
    with pytest.raises(UsageError, match="defproject"):
        read_project("(ns x)")
    with pytest.raises(UsageError, match="`heronpy run`"):
        run(["run", "-m", "org.apache.storm.flux.Flux"], str(tmp_path))
    (tmp_path / "project.clj").write_text(PROJECT)
    with pytest.raises(HeronError, match=r"_resources does not exist"):
        run(["jar"], str(tmp_path))


def test_the_command_calls_the_module(tmp_path: Path) -> None:
    path = tmp_path / "lein"
    path.write_text(script(sys.executable))
    path.chmod(0o755)
    done = subprocess.run([path, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Leiningen 2.")
    done = subprocess.run([path, "repl"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
