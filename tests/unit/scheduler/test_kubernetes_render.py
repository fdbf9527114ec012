"""Manifests for Kubernetes; `golden/kubernetes.yaml` is the output of --dry-run."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from heron_core.errors import UsageError
from heron_core.plans import GIB, MIB, ContainerPlan, PackingPlan, Resource
from heron_core.records import replace
from heron_engine.scheduler.backends.kubernetes import render
from heron_engine.scheduler.backends.kubernetes.backend import render_yaml
from heron_engine.scheduler.container.engines import InstalledEngine

GOLDEN = Path(__file__).parent / "golden"
PLAN = PackingPlan(
    "words",
    (
        ContainerPlan(1, (), Resource(2.5, 3 * GIB, GIB)),
        ContainerPlan(3, (), Resource(1.0, 700 * MIB + 1, GIB)),
    ),
)
SPEC = render.PodSpec(
    "words",
    "kubernetes://streams",
    15.0,
    "heronpy 0.2.0 (protocol 9)",
    (("/home/ada/word $(count)", "/heronpy-code/3f1c"),),
)
OPTIONS = render.KubernetesOptions("streams", "registry.example.com/heronpy:0.2.0")


def own(deployment: dict[str, Any]) -> dict[str, Any]:
    """Our container of a Deployment."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return next(each for each in containers if each["name"] == render.CONTAINER_NAME)


def test_the_manifests() -> None:
    """All containers are as large as the largest; the topology master's has a size of its own."""
    shown = render_yaml(render.manifests(OPTIONS, SPEC, PLAN))
    assert shown + "\n" == (GOLDEN / "kubernetes.yaml").read_text("utf-8")
    kinds = [each["kind"] for each in yaml.safe_load_all(shown)]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", *["Deployment"] * 3]


def test_the_role_of_the_pages_is_that_of_a_topology() -> None:
    """The chart, and the manifest made by it, repeat what the state store does."""
    examples = Path(__file__).parents[3] / "examples" / "kubernetes"
    manifests = list(yaml.safe_load_all((examples / "ui.yaml").read_text("utf-8")))
    (role,) = (each for each in manifests if each["kind"] == "Role")
    assert role["rules"] == list(render.ROLE_RULES)
    rules = (examples / "chart" / "templates" / "account.yaml").read_text("utf-8")
    rules = rules.partition("rules:\n")[2].partition("---")[0]
    assert yaml.safe_load(rules) == list(render.ROLE_RULES)


def test_the_file_s_settings_are_in_every_pod() -> None:
    """Nodes and users of pods, and the environment of their processes."""
    options = replace(
        OPTIONS,
        service_account="streams",
        node_selector=(("disk", "ssd"),),
        priority_class="high",
        pull_policy="Never",
        environment=(("AWS_REGION", "eu"),),
        environment_secret="s3",
        has_cpu_limits=False,
    )
    every = render.manifests(options, SPEC, PLAN)
    assert {each["kind"] for each in every} == {"Deployment"}
    for deployment in every:
        pod, container = deployment["spec"]["template"]["spec"], own(deployment)
        assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("streams", "high")
        assert pod["nodeSelector"] == {"disk": "ssd"}
        assert container["imagePullPolicy"] == "Never"
        assert {"name": "AWS_REGION", "value": "eu"} in container["env"]
        assert container["envFrom"] == [{"secretRef": {"name": "s3"}}]
        assert "cpu" not in container["resources"]["limits"]


TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "data"}, "annotations": {"scrape": "true"}},
    "spec": {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "volumes": [{"name": "state", "persistentVolumeClaim": {"claimName": "states"}}],
        "terminationGracePeriodSeconds": 300,
        "containers": [
            {"name": "sidecar", "image": "proxy"},
            {
                "name": "heron",
                "env": [{"name": "A", "value": "b"}],
                "volumeMounts": [{"name": "state", "mountPath": "/states"}],
                "resources": {"requests": {"memory": "9Gi"}},
            },
        ],
    },
}


def test_what_a_template_says_stays() -> None:
    """A volume for states, another container beside ours, tolerations, more time to end."""
    before = copy.deepcopy(TEMPLATE)
    options = replace(OPTIONS, template=render.check_template(TEMPLATE, "pod.yaml"))
    deployment = render.manifests(options, SPEC, PLAN)[-1]
    template, container = deployment["spec"]["template"], own(deployment)
    assert template["metadata"]["labels"]["team"] == "data"
    assert template["metadata"]["labels"][render.CONTAINER_LABEL] == "3"
    assert template["metadata"]["annotations"] == {"scrape": "true"}
    assert template["spec"]["terminationGracePeriodSeconds"] == 300
    assert [each["name"] for each in template["spec"]["containers"]] == ["sidecar", "heron"]
    assert [each["name"] for each in template["spec"]["volumes"]] == ["state", "heron-work"]
    assert template["spec"]["tolerations"][0]["key"] == "dedicated"
    assert container["env"][0] == {"name": "A", "value": "b"}
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/states", "/heron"]
    assert container["resources"] == {"requests": {"memory": "9Gi"}}
    assert before == TEMPLATE


@pytest.mark.parametrize(
    ("template", "said"),
    [([], "no pod's template"), ({"spec": []}, "no pod's template"), ({"sepc": {}}, "no 'sepc'")],
)
def test_what_is_no_template_is_refused(template: object, said: str) -> None:
    with pytest.raises(UsageError, match=rf"pod.yaml.* {said}"):
        render.check_template(template, "pod.yaml")


def test_an_added_container_is_like_one_that_runs() -> None:
    """Whatever the cluster's file says by now."""
    running = render.manifests(OPTIONS, SPEC, PLAN)[-1]
    running["metadata"] |= {"uid": "1", "resourceVersion": "2"}
    running["status"] = {"replicas": 1}
    wanted = render.deployment(OPTIONS, SPEC, 12, render.largest(PLAN))
    assert render.renumbered(running, 12, {}) == wanted
    running = render.deployment(OPTIONS.on_nodes((("place", "edge"),)), SPEC, 1, Resource(1, 1, 1))
    assert render.node_selector_of(render.renumbered(running, 12, {})) == {}


def test_names_tell_topologies_apart() -> None:
    """Names of objects and labels have small letters, digits and hyphens."""
    names = [render.base_name(each) for each in ("words", "Words", "wörds", "w" * 99, "日本")]
    assert names[0] == "heron-words"
    assert len(set(names)) == 5
    assert all(len(f"{each}-1000") <= 63 and each.isascii() for each in names)


def test_another_engine_changes_image_and_version_alone() -> None:
    """Kubernetes merges the container by its name, and takes the list of arguments as a whole."""
    running = render.manifests(OPTIONS, replace(SPEC, engine="heronpy 1 (protocol 9)"), PLAN)[-1]
    assert render.engine_of(running) == InstalledEngine("", version="1", image=OPTIONS.image)
    after = InstalledEngine("", version="2", image="heronpy:2")
    change = render.with_engine(running, after, 9)
    (changed_container,) = change["spec"]["template"]["spec"]["containers"]
    assert changed_container.keys() == {"name", "image", "args"}
    args = running["spec"]["template"]["spec"]["containers"][0]["args"]
    changed = {
        old: new for old, new in zip(args, changed_container["args"], strict=True) if old != new
    }
    assert list(changed.values()) == ["heronpy 2 (protocol 9)"]
    assert render.engine_of({"spec": change["spec"]}) == after
