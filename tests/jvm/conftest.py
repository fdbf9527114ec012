"""The user's folder: Java classes that javac has compiled, Storm's jars, Python components."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.jars import NoJars, jars_of
from tests.cluster.kafka_broker import KafkaBroker
from tests.jvm.java_place import HERE, JavaPlace
from tests.jvm.needs import COMPILER, storm_jars


@pytest.fixture(scope="session")
def jars() -> Path:
    """Storm's."""
    try:
        return storm_jars()
    except NoJars as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def classes(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled classes of `tests/jvm/classes`."""
    folder = tmp_path_factory.mktemp("classes")
    sources = [str(source) for source in (HERE / "classes").glob("*.java")]
    command = [COMPILER, "-nowarn", "-d", str(folder), "-cp", f"{jars}/*", *sources]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the host's classes are, for all tests."""
    return tmp_path_factory.mktemp("host")


@pytest.fixture
def place(jars: Path, classes: Path, host: Path, tmp_path: Path) -> Iterator[JavaPlace]:
    """Where this test's topologies run, with the classes and jars beside its files."""
    made = JavaPlace(tmp_path)
    for name, target in (("classes", classes), ("lib", jars)):
        os.symlink(target, made.path / name)
    for file in (HERE / "topologies").iterdir():
        if file.is_file():
            shutil.copy(file, made.path)
    made.home.mkdir()
    os.symlink(host, made.home / "java-host")
    yield made
    made.close()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that runs."""
    try:
        broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), jars_of("kafka"))
    except NoJars as error:
        pytest.fail(str(error), pytrace=False)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()
