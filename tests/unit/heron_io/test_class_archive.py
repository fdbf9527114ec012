"""Java's classes are kept between JVMs, and nothing goes wrong where they cannot be."""

import os
import subprocess
from pathlib import Path

import pytest

from heron_io.class_archive import UNUSED_SECS_MAX, ClassArchive
from heron_io.embedded_zookeeper import find_classpath, find_java
from heron_io.spark_home import spark_home


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "heronpy"


def archive() -> ClassArchive:
    return ClassArchive(find_java(), spark_home())


def run_java(options: str) -> subprocess.CompletedProcess[str]:
    """A short program of many classes."""
    words = [find_java(), *options.split(), "-cp", find_classpath(), "org.apache.zookeeper.Version"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_real_jvm_writes_it_and_a_later_one_maps_it(cache: Path) -> None:
    first = archive()
    assert first.reading() == ""
    written = run_java(first.writing())
    assert (written.returncode, written.stderr) == (0, "")
    first.keep(True)
    first.drop()
    assert len(list(cache.iterdir())) == 1
    told = run_java(f"{archive().reading()} -Xlog:class+load:stdout")
    assert "org.apache.zookeeper.Version source: shared objects file (top)" in told.stdout


def test_one_that_was_cut_off_is_not_mapped(cache: Path) -> None:
    """Java would crash."""
    written = archive()
    run_java(written.writing())
    written.keep(True)
    (kept,) = cache.iterdir()
    kept.chmod(0o600)
    os.truncate(kept, 10_000)
    assert archive().reading() == ""
    assert list(cache.iterdir()) == []


def test_what_a_killed_jvm_has_written_is_dropped(cache: Path) -> None:
    ended = archive()
    words = dict(each.split("=", 1) for each in ended.writing().split() if "=" in each)
    Path(words["-XX:ArchiveClassesAtExit"]).write_bytes(b"half")
    assert ended.is_due
    ended.keep(False)
    ended.drop()
    assert not ended.is_due
    assert archive().reading() == ""
    assert list(cache.iterdir()) == []


def test_another_spark_has_another_one(cache: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "jars").mkdir(parents=True)
    one, two = (ClassArchive(find_java(), str(tmp_path / name)) for name in ("one", "two"))
    run_java(one.writing())
    one.keep(True)
    assert one.reading() != ""
    assert two.reading() == ""


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
        assert not archive().is_due
