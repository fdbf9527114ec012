"""`heronpy clusters`: what is there is told, what is not is one line with its cure."""

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.process_support import Place


def test_clusters_are_checked(place: Place, running_zookeeper: EmbeddedZooKeeper) -> None:
    """A good one, one whose ZooKeeper is not there, and one whose file is wrong."""
    folder = place.home / "clusters"
    folder.mkdir(parents=True)
    url = f"zk://{running_zookeeper.address}/checked"
    (folder / "good.yaml").write_text(f"scheduler: local\nstate: {url}\n", "utf-8")
    away = "scheduler: local\nstate: zk://127.0.0.1:1/heron\n"
    (folder / "away.yaml").write_text(away, "utf-8")
    (folder / "wrong.yaml").write_text("scheduler: local\nstat: x\n", "utf-8")

    good = place.heronpy("clusters", "good").succeeded()
    first, state, containers = good.out.splitlines()
    assert first == f"good: local, {folder}/good.yaml"
    assert state.startswith(f"  ok: state {url}: ZooKeeper 3.")
    assert state.endswith(", can be written to")
    assert containers == "  ok: containers are processes on this machine"

    every = place.heronpy("clusters")
    assert every.code == 1
    assert every.errors == []
    problems = [line for line in every.out.splitlines() if line.startswith("  problem: ")]
    assert len(problems) == 2
    assert problems[0].startswith("  problem: state zk://127.0.0.1:1/heron: ")
    assert problems[1].endswith(
        "wrong.yaml:2: the key 'stat' is not known; did you mean 'state'? (keys: scheduler, state,"
        " packing, resources, config, archives, local, spark, yarn, kubernetes, aurora)"
    )
    listed = place.heronpy("list", "--cluster", "good", "--zookeeper", running_zookeeper.address)
    assert listed.code == 2
    assert listed.errors == [
        "heronpy: the cluster's file says where the state is: leave out --zookeeper"
    ]
