"""Clusters' files: their meaning, and file, line and cure of mistakes."""

import os
from pathlib import Path

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, ContainerPlan, PackingPlan, Resource
from heron_engine.scheduler.backends.kubernetes.backend import KubernetesBackend
from heron_engine.scheduler.clusters.backends import backend_of
from heron_engine.scheduler.clusters.config import Archives, check_fits, cluster_of, parse

AURORA = """\
scheduler: aurora
state: zk://zk1:2181,zk2:2181/heron
packing:
  algorithm: first_fit_decreasing
  containers: 4
  container: {cpu: 4, ram: 8GB, disk: 12GB, instances: 6}
  padding: {cpu: 0.5, ram: 512MB, percentage: 20}
resources: {cpu: 16, ram: 32GB}
config:
  topology.max.spout.pending: 500
archives:
  folder: /mnt/heronpy
  uri: https://files.example.com/heronpy/
  fetch: wget -q -O {file} {uri}
  limit: 200MB
aurora:
  cluster: west
  role: www
  env: prod
  tier: preferred
  constraints: {rack: 'limit:2', dedicated: true}
  client: ~/bin/aurora -v
"""


def wrong(text: str) -> str:
    with pytest.raises(UsageError) as error:
        parse(text, "west", "/clusters/west.yaml")
    return str(error.value)


def test_a_whole_file() -> None:
    """Sizes in bytes (1 GB is 2**30, as in Heron), packing as config keys."""
    found = parse(AURORA, "west", "/clusters/west.yaml")
    assert found.store_url == "zk://zk1:2181,zk2:2181/heron"
    assert found.config == {
        "topology.max.spout.pending": 500,
        "topology.packing.algorithm": "first_fit_decreasing",
        "topology.stmgrs": 4,
        "topology.container.cpu": 4.0,
        "topology.container.ram": 8589934592,
        "topology.container.disk": 12884901888,
        "topology.container.max.instances": 6,
        "topology.container.cpu.padding": 0.5,
        "topology.container.ram.padding": 536870912,
        "topology.container.padding.percentage": 20,
    }
    assert found.archives == Archives(
        "/mnt/heronpy", "https://files.example.com/heronpy", "wget -q -O {file} {uri}", 209715200
    )
    assert found.options["constraints"] == {"rack": "limit:2", "dedicated": "true"}
    assert backend_of(found).kind == "aurora"


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The minimal file: this machine, and the user's own files as state store."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    found = parse("scheduler: local", "here", "here.yaml")
    assert found.store_url == f"file://{tmp_path}/state"
    assert backend_of(found).kind == "local"


def test_archives_are_where_workers_see_the_same_folder() -> None:
    """Without a uri the folder itself, on a shared file system."""
    text = AURORA.replace("  uri: https://files.example.com/heronpy/\n", "")
    found = parse(text, "west", "w.yaml")
    assert found.archives is not None
    assert found.archives.uri == "file:///mnt/heronpy"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("scheduler: aurora", "schedular: aurora",
         "1: the key 'schedular' is not known; did you mean 'scheduler'? (keys: scheduler, state"),
        ("scheduler: aurora", "scheduler: arora",
         "1: 'arora' is not one of the choices; did you mean 'aurora'? (choices: local, spark,"),
        ("  algorithm: first", "  algoritm: first",
         "4: the key 'algoritm' is not known; did you mean 'algorithm'?"),
        ("  role: www", "  roll: www", "18: the key 'roll' is not known; did you mean 'role'?"),
        ("  role: www", "  role: 'w w'", "18: 'w w' is not a name: letters, digits"),
        ("state: zk:", "state: zoo:", "2: 'zoo://zk1:2181,zk2:2181/heron' is not a state store:"),
        ("ram: 32GB", "ram: 32 apples", "8: expected a size such as 512MB, not '32 apples'"),
        ("cpu: 16", "cpu: 0", "8: this must be a number of cores, not 0"),
        ("containers: 4", "containers: 0", "5: this must be a whole number of at least 1, not 0"),
        ("-O {file} {uri}", "-O {file}", "14: the command must contain {uri}"),
        ("  topology.max.spout.pending: 500", "  pending: 500", "10: 'pending' is not a config"),
        ("client: ~/bin/aurora -v", "client: \"aurora 'x\"", "22: \"aurora 'x\" is not a command"),
        ("role: www", "role: 7", "18: expected text, not 7"),
        ("aurora:\n", "spark: {master: yarn}\naurora:\n",
         "16: spark has no effect: the scheduler is aurora"),
        ("  role: www", "  cluster: east", "18: the key 'cluster' is given twice"),
        ("config:\n", "config: [\n", "not valid YAML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, line: str) -> None:
    """File and line, the mistake, and the right form."""
    assert old in AURORA
    found = wrong(AURORA.replace(old, new))
    assert found.startswith("/clusters/west.yaml:")
    assert line in found


@pytest.mark.parametrize(
    ("gone", "line"),
    [
        ("  role: www\n", "scheduler aurora needs aurora: role: add the key"),
        ("state: zk://zk1:2181,zk2:2181/heron\n", "scheduler aurora needs state: zk://HOST:PORT"),
        (
            "scheduler: aurora\n",
            "the key 'scheduler' is missing (local or spark or aurora or yarn or kubernetes)",
        ),
    ],
)
def test_what_is_missing_is_named(gone: str, line: str) -> None:
    """The error of a short file names the missing part."""
    assert line in wrong(AURORA.replace(gone, ""))


KUBERNETES = """\
scheduler: kubernetes
state: kubernetes://streams
kubernetes:
  image: registry.example.com/heronpy:0.2.0
"""


def test_a_file_for_kubernetes() -> None:
    """The pods are in the namespace of the state, which their service account reaches."""
    found = parse(KUBERNETES, "k8s", "k8s.yaml")
    backend = backend_of(found)
    assert isinstance(backend, KubernetesBackend)
    assert (backend.kind, backend.namespace) == ("kubernetes", "streams")
    assert found.store_problem() is None
    other = KubernetesBackend(parse(f"{KUBERNETES}  namespace: other\n", "k8s", "k8s.yaml"))
    with pytest.raises(UsageError, match="other is not that of the state, streams"):
        _ = other.namespace
    zookeeper = KUBERNETES.replace("kubernetes://streams", "zk://zk1:2181")
    apart = parse(f"{zookeeper}  namespace: other\n", "k8s", "k8s.yaml")
    assert KubernetesBackend(apart).namespace == "other"


@pytest.mark.parametrize(
    ("gone", "line"),
    [
        ("image: registry.example.com/heronpy:0.2.0", "kubernetes needs kubernetes: image"),
        ("state: kubernetes://streams\n", "needs state: kubernetes://NAMESPACE"),
    ],
)
def test_what_a_file_for_kubernetes_lacks_is_named(gone: str, line: str) -> None:
    assert line in wrong(KUBERNETES.replace(gone, "python: python3" if "image" in gone else ""))


def test_an_empty_file() -> None:
    """Not a traceback."""
    assert wrong("") == "/clusters/west.yaml:1: the file is empty"


def test_names(tmp_path: Path) -> None:
    """By --config-path; a similar name is proposed."""
    (tmp_path / "west.yaml").write_text("scheduler: local", "utf-8")
    (tmp_path / "notes.txt").write_text("", "utf-8")
    assert cluster_of("west", str(tmp_path)).name == "west"
    with pytest.raises(UsageError) as error:
        cluster_of("wset", str(tmp_path))
    assert str(error.value) == (
        f"cluster 'wset' not found in {tmp_path}; did you mean 'west'? (clusters: west)"
    )


def test_containers_that_no_machine_has_room_for() -> None:
    """On a cluster such containers would wait for ever."""
    cluster = parse(AURORA, "west", "w.yaml")
    fitting = ContainerPlan(1, (), Resource(16.0, 32 * GIB, 500 * GIB))
    check_fits(cluster, PackingPlan("t", (fitting,)))
    large = ContainerPlan(2, (), Resource(16.5, GIB, GIB))
    with pytest.raises(UsageError) as error:
        check_fits(cluster, PackingPlan("t", (fitting, large)))
    assert str(error.value) == (
        "container 2 needs cpu 16.5, and w.yaml says that west gives at most 16: use more "
        "containers (-w), or set topology.container.cpu"
    )


def test_spark_on_yarn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its queue is a setting of Spark, its folder Spark's path to YARN."""
    monkeypatch.setenv("HADOOP_CONF_DIR", "/elsewhere")
    text = f"scheduler: spark\nspark: {{master: yarn, queue: prod, conf_dir: {tmp_path}}}"
    backend = backend_of(parse(text, "big", "big.yaml"))
    assert backend.kind == "spark"
    assert backend.node_fields() == {"master": "yarn"}
    assert os.environ["HADOOP_CONF_DIR"] == str(tmp_path)


def test_a_wrong_spark_master_is_told_of() -> None:
    """By the back end."""
    cluster = parse("scheduler: spark\nspark: {master: 'mars://x'}", "s", "s.yaml")
    with pytest.raises(UsageError, match="mars"):
        backend_of(cluster)
