"""`heronpy server`: what is executed for a server of a few machines, and its systemd unit."""

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heron_cli.machine_servers import (
    Installation,
    Machines,
    ServerKind,
    command_of,
    zookeeper_config,
)
from heron_cli.main import heronpy
from heron_core.errors import UsageError

THREE = ("one", "two", "three")
INSTALLED = Installation("/java", "/a.jar:/b.jar", "/spark", "/python")


def server(*words: str) -> Result:
    return CliRunner().invoke(heronpy, ["server", *words], standalone_mode=False)


def test_a_zookeeper_server_knows_its_peers_and_its_number() -> None:
    machines = Machines(THREE, "two")
    command = command_of(ServerKind.ZOOKEEPER, machines, INSTALLED, "/data")
    assert command.words[-1] == "/data/zoo.cfg"
    assert command.files["/data/data/myid"] == "2\n"
    config = zookeeper_config(machines, "/data")
    assert config.splitlines()[-3:] == [
        "server.1=one:2888:3888;2181",
        "server.2=two:2888:3888;2181",
        "server.3=three:2888:3888;2181",
    ]
    assert "forceSync" not in " ".join(command.words), "what was written is on the disk"


def test_the_masters_elect_one_and_workers_know_all() -> None:
    machines = Machines(THREE, "one")
    master = command_of(ServerKind.SPARK_MASTER, machines, INSTALLED, "/data")
    assert master.words[0] == "/spark/bin/spark-class"
    options = master.environment["SPARK_DAEMON_JAVA_OPTS"]
    assert "-Dspark.deploy.zookeeper.url=one:2181,two:2181,three:2181" in options
    worker = command_of(ServerKind.SPARK_WORKER, machines, INSTALLED, "/data")
    assert worker.words[-1] == "spark://one:7077,two:7077,three:7077"
    assert "/data" in worker.words
    pages = command_of(ServerKind.UI, machines, INSTALLED, "/data")
    assert pages.words[-1] == "one:2181,two:2181,three:2181/heron"


@pytest.mark.parametrize(
    ("names", "here", "error"),
    [
        (("one", "two"), "one", "names 2: use 1, 3, 5 or 7"),
        (("one", "two", "one"), "one", "name each machine once"),
        (("one", "", "two"), "one", "name each machine once"),
        (THREE, "four", "called four, which is not one of --machines one,two,three: .*--here"),
    ],
)
def test_machines_that_make_no_sense_are_refused(
    names: tuple[str, ...], here: str, error: str
) -> None:
    with pytest.raises(UsageError, match=error):
        Machines(names, here)


@pytest.mark.parametrize("kind", list(ServerKind))
@pytest.mark.parametrize("system", [False, True])
def test_systemd_takes_the_unit(kind: ServerKind, system: bool, tmp_path: Path) -> None:
    words = (kind.value, "--machines", "one,two,three", "--here", "two", "--unit")
    done = server(*words, *(["--system"] if system else []))
    assert done.exit_code == 0, done.output
    assert ("Delegate=yes" in done.output) == (kind is ServerKind.SPARK_WORKER)
    assert f"server {kind.value} --machines one,two,three --here two" in done.output
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / f"{kind.value}.service"
    unit.write_text(done.output)
    # As the machine's: verifying for a user takes a session of a user.
    checked = subprocess.run(
        ["systemd-analyze", "verify", unit], check=False, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")
