"""`--scheduler`: one rule that leads to a cluster's file for each scheduler that needs one."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from heron_cli.main import heronpy
from heron_cli.options.spark import CLUSTER_SCHEDULERS, LOCAL, SPARK
from heron_engine.scheduler.clusters.schema import SCHEDULERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "word_count.py"
KUBERNETES = (
    "{scheduler: kubernetes, state: 'kubernetes://streams', kubernetes: {image: 'heronpy:1'}}"
)


@pytest.fixture(autouse=True)
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's cluster files."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    folder = tmp_path / "clusters"
    folder.mkdir()
    return folder


def dry(*words: str, command: str = "submit") -> Result:
    return CliRunner().invoke(heronpy, [command, str(EXAMPLE), "--dry-run", *words])


def test_the_options_know_each_scheduler_of_cluster_files() -> None:
    assert {LOCAL, SPARK, *CLUSTER_SCHEDULERS} == set(SCHEDULERS)


def test_the_only_cluster_of_the_kind_is_found(clusters: Path) -> None:
    (clusters / "k8s.yaml").write_text(KUBERNETES)
    (clusters / "here.yaml").write_text("{scheduler: local}")
    (clusters / "pod.yaml").write_text("spec: {schedulerName: mine, containers: [{name: heron}]}")
    done = dry("--scheduler", "kubernetes")
    assert done.exit_code == 0, done.output
    assert "kind: Deployment" in done.output
    assert (
        f"note: --scheduler kubernetes leads to {clusters}/k8s.yaml; other commands need "
        "--cluster k8s\n"
    ) in done.output


def test_a_pod_s_template_is_not_a_cluster(clusters: Path) -> None:
    """It lies beside the cluster's file, as KUBERNETES.md has it; a file without a scheduler does
    not pass for a template."""
    (clusters / "pod.yaml").write_text("{spec: {containers: [{name: heron}]}}")
    listed = CliRunner().invoke(heronpy, ["clusters"])
    assert (listed.exit_code, listed.output) == (0, f"No clusters in {clusters}.\n")
    (clusters / "west.yaml").write_text("{state: 'zk://zk:2181/heron'}")
    listed = CliRunner().invoke(heronpy, ["clusters"], standalone_mode=False)
    assert listed.return_value == 1
    assert "the key 'scheduler' is missing" in listed.output


def test_a_scheduler_may_repeat_what_the_cluster_says(clusters: Path) -> None:
    (clusters / "k8s.yaml").write_text(KUBERNETES)
    done = dry("--scheduler", "kubernetes", "--cluster", "k8s")
    assert done.exit_code == 0, done.output
    assert "note:" not in done.output
    (clusters / "spark.yaml").write_text("{scheduler: spark, spark: {master: 'local[2]'}}")
    done = dry("--scheduler", "spark", "--cluster", "spark")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--scheduler", "yarn"), "needs the file of a cluster: write "),
        (("--scheduler", "kubernetes"), "2 clusters in {} have scheduler: kubernetes (a, b): "),
        (("--scheduler", "spark", "--cluster", "a"), "{}/a.yaml says kubernetes; leave out one"),
        (("--scheduler", "local", "--cluster", "a"), "{}/a.yaml says kubernetes; leave out one"),
        (("--cluster", "a", "--engine", "spark"), "leave out --engine"),
        (("--scheduler", "kubernetes", "--cluster", "a", "--master", "k8s://x"),
         "--master requires --scheduler spark"),
        (("--scheduler", "kubernetes", "--cluster", "a", "--zookeeper", "zk:2181"),
         "the cluster's file says where the state is"),
        (("--engine", "spark", "--scheduler", "kubernetes", "--cluster", "a"),
         "--engine spark needs no --scheduler"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused_in_one_line(
    clusters: Path, words: tuple[str, ...], reason: str
) -> None:
    for name in ("a", "b"):
        (clusters / f"{name}.yaml").write_text(KUBERNETES)
    done = dry(*words)
    assert done.exit_code != 0
    assert reason.format(clusters) in str(done.exception) + done.output


def test_a_file_that_cannot_be_read_is_named_with_the_way_around(clusters: Path) -> None:
    (clusters / "a.yaml").write_text("{scheduler: kubernetes, states: here}")
    (clusters / "k8s.yaml").write_text(KUBERNETES)
    done = dry("--scheduler", "kubernetes")
    assert done.exit_code != 0
    said = str(done.exception) + done.output
    assert f"{clusters}/a.yaml" in said
    assert "--cluster NAME reads only the file of NAME" in said


def test_a_run_in_the_foreground_names_the_command_that_goes_on(clusters: Path) -> None:
    (clusters / "k8s.yaml").write_text(KUBERNETES)
    done = dry("--scheduler", "kubernetes", command="run")
    assert done.exit_code != 0
    assert "use `heronpy submit --scheduler kubernetes`" in str(done.exception) + done.output


CONSTRAINED = ("-o", "topology.component.constraints={count: {place: edge}}")


def test_constraints_are_refused_where_nodes_have_no_labels(clusters: Path) -> None:
    """A run in the foreground tries the topology, and notes what it does not do."""
    aurora = "aurora: {cluster: west, role: www, env: prod}"
    archives = "archives: {folder: /tmp/archives}"
    text = f"{{scheduler: aurora, state: 'zk://zk:2181/heron', {archives}, {aurora}}}"
    (clusters / "west.yaml").write_text(text)
    done = dry("--scheduler", "aurora", *CONSTRAINED)
    assert done.exit_code != 0
    assert (
        "topology.component.constraints has no effect with the scheduler aurora, only with local, "
        "kubernetes and yarn: leave the key out (-o 'topology.component.constraints={}')"
    ) in str(done.exception) + done.output


@pytest.mark.parametrize(
    ("labels", "has"), [("", "none"), ("place=west", "place=west"), ("disk=ssd", "disk=ssd")]
)
def test_a_machine_without_the_labels_is_named(
    labels: str, has: str, clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_LABELS", labels)
    unmet = (
        f"count needs a machine with the label place=edge, and this machine has {has}: set "
        "HERONPY_LABELS=place=edge if it is one, or leave out topology.component.constraints"
    )
    done = dry(*CONSTRAINED)
    assert done.exit_code != 0
    assert unmet in str(done.exception) + done.output
    done = dry(*CONSTRAINED, command="run")
    assert done.exit_code == 0, done.output
    assert unmet in done.output


def test_a_machine_runs_what_its_labels_allow(
    clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_LABELS", "disk=ssd, place=edge")
    done = dry(*CONSTRAINED)
    assert done.exit_code == 0, done.output
    assert "label" not in done.output
    done = dry("-o", "topology.node.labels={place: west}")
    assert done.exit_code != 0
    assert "needs a machine with the label place=west" in str(done.exception) + done.output


def test_labels_that_are_none_are_named(clusters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERONPY_LABELS", "edge")
    done = dry(*CONSTRAINED)
    assert "'edge' is not a label: use LABEL=value" in str(done.exception) + done.output


def test_constraints_are_in_the_manifests_of_their_containers(clusters: Path) -> None:
    (clusters / "k8s.yaml").write_text(KUBERNETES)
    done = dry("--scheduler", "kubernetes", *CONSTRAINED)
    assert done.exit_code == 0, done.output
    manifests = list(yaml.safe_load_all(done.stdout[done.stdout.index("---\napi") :]))
    pods = [each["spec"]["template"]["spec"] for each in manifests if each["kind"] == "Deployment"]
    assert [pod.get("nodeSelector") for pod in pods] == [None, None, {"place": "edge"}]
