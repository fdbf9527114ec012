"""The first commands of docs/YARN.md and docs/SPARK.md, given as on the pages, on real clusters."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.cluster.yarn_place import YarnPlace
from tests.newcomers_page import Newcomer
from tests.process.process_support import GONE_SECS, Place, until
from tests.spark.conftest import standalone_cluster
from tests.spark.spark_scheduler_support import Standalone

__all__ = ["standalone_cluster"]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def newcomer(tmp_path: Path, runtime_cache: Path) -> Iterator[Newcomer]:
    """Processes and temporary files are those of a place; the runtime is packed once for all."""
    (tmp_path / "own").mkdir()
    place, home = Place(tmp_path / "own"), tmp_path / "own" / "newcomer"
    (home / ".heronpy").mkdir(parents=True)
    (home / ".heronpy" / "archives").symlink_to(runtime_cache)
    made = Newcomer(home, {"TMPDIR": place.environment["TMPDIR"], "LANG": "C.UTF-8"})
    yield made
    for cluster in (home / ".heronpy" / "clusters").glob("*.yaml"):
        words = ["heronpy", "kill", "words", "--wait", "0", "--cluster", cluster.stem]
        subprocess.run(words, env=made.variables(), check=False, capture_output=True)
    place.close()


def test_a_newcomer_s_commands_work_on_yarn(
    newcomer: Newcomer, west: YarnPlace, zookeeper: EmbeddedZooKeeper
) -> None:
    shown = newcomer.follow(
        "YARN.md",
        "heronpy clusters",
        {
            "zk1:2181": zookeeper.address,
            "/etc/hadoop/conf": str(west.yarn.conf_dir),
            "/usr/bin/python3": sys.executable,
        },
    )
    has_lived(shown)
    west.nothing_runs()


def test_a_newcomer_s_commands_work_on_spark(
    newcomer: Newcomer, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> None:
    shown = newcomer.follow(
        "SPARK.md",
        "heronpy clusters",
        {
            "zk1:2181": zookeeper.address,
            "spark://spark1:7077": standalone_cluster.url,
            "/usr/bin/python3": sys.executable,
        },
    )
    has_lived(shown)
    until(lambda: not standalone_cluster.left(), "nothing is left on the workers", GONE_SECS)


def has_lived(shown: str) -> None:
    """What the commands print of the life of `words`."""
    assert re.search(r"^words runs with 3 instances, 2 containers", shown, re.MULTILINE), shown
    assert re.search(r"^words +RUNNING", shown, re.MULTILINE), shown
    assert "words is updated: containers 2 -> 3" in shown
    assert "words: container 1 is restarted" in shown
    assert "words is killed" in shown
