"""Spark's settings of a packing plan, for each kind of master, word for word."""

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, MIB, ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_engine.scheduler.backends.spark.masters import parse_master
from heron_engine.scheduler.backends.spark.render import (
    IDLE_SECS,
    DriverOptions,
    check_image,
    check_speculation,
    parsed_settings,
    settings,
    slots_each,
    submit_words,
    with_jvm_options,
)
from heron_engine.scheduler.backends.spark.slots import REGISTER_SECS_MAX

SMALL = Resource(0.5, 300 * MIB, GIB)
LARGE = Resource(2.5, 1500 * MIB + 1, GIB)
"""The larger of the two containers: 3 cores, 1501 MiB."""
PLAN = PackingPlan(
    "words",
    (
        ContainerPlan(1, (InstancePlan(1, "lines", 0, SMALL),), SMALL),
        ContainerPlan(2, (InstancePlan(2, "count", 0, LARGE),), LARGE),
    ),
)
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dheronpy.topology=words"
COMMON = {
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.driver.bindAddress": "10.0.0.1",
    "spark.driver.extraJavaOptions": JVM,
    "spark.driver.host": "10.0.0.1",
    "spark.driver.memory": "512m",
    "spark.excludeOnFailure.enabled": "false",
    "spark.executor.extraJavaOptions": JVM,
    "spark.executor.maxNumFailures": "1000",
    "spark.executor.memory": "512m",
    "spark.locality.wait": "0s",
    "spark.speculation": "false",
    "spark.task.maxFailures": "1000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
FIXED = {"spark.dynamicAllocation.enabled": "false"}
AS_MANY_AS_TASKS = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "240s",
    "spark.dynamicAllocation.initialExecutors": "2",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
}
LIVENESS = {
    "spark.executor.heartbeatInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "30s",
    "spark.network.timeoutInterval": "5s",
}
CORES = {"spark.executor.cores": "3", "spark.task.cpus": "3", **LIVENESS}
OVERHEAD = {"spark.executor.memoryOverhead": "1501m"}
LOCAL = {**FIXED, "spark.task.cpus": "1"}
SIZED = {
    "local[4]": LOCAL,
    "local-cluster[2,1,600]": LOCAL,
    "spark://cluster:7077": {**AS_MANY_AS_TASKS, **CORES, "spark.cores.max": str(2**30)},
    "yarn": {**AS_MANY_AS_TASKS, **CORES, **OVERHEAD},
    "k8s://https://cluster:6443": {**AS_MANY_AS_TASKS, **CORES, **OVERHEAD},
}
SIZED_GANG = {
    "local[4]": LOCAL,
    "spark://cluster:7077": {**FIXED, **CORES, "spark.cores.max": "6"},
    "yarn": {**FIXED, **CORES, **OVERHEAD, "spark.executor.instances": "2"},
}


def rendered(master: str, **options: object) -> dict[str, str]:
    """The settings at a master."""
    made = DriverOptions(master, **options)  # type: ignore[arg-type]
    return settings(PLAN, parse_master(master, 4), made, "10.0.0.1")


@pytest.mark.parametrize("master", SIZED)
def test_settings_of_each_master(master: str) -> None:
    """On a cluster an executor of the largest size for each container, and one more for each added
    container; here a core each."""
    assert rendered(master) == {**COMMON, **SIZED[master]}


@pytest.mark.parametrize("master", SIZED_GANG)
def test_a_gang_has_as_many_executors_as_at_its_start(master: str) -> None:
    """Spark's barrier mode does not go with dynamic allocation."""
    assert rendered(master, is_barrier=True) == {**COMMON, **SIZED_GANG[master]}


def test_an_executor_waits_longer_for_others_than_they_may_take() -> None:
    assert max(REGISTER_SECS_MAX.values()) < IDLE_SECS


def test_the_line_for_yarn() -> None:
    """The whole command, as --dry-run prints it."""
    words = submit_words("words", parse_master("yarn", 4), rendered("yarn"))
    assert " ".join(words) == (
        "--master yarn --name heron: words"
        " --conf spark.deploy.maxExecutorRetries=-1"
        " --conf spark.driver.bindAddress=10.0.0.1"
        f" --conf spark.driver.extraJavaOptions={JVM}"
        " --conf spark.driver.host=10.0.0.1"
        " --conf spark.driver.memory=512m"
        " --conf spark.dynamicAllocation.enabled=true"
        " --conf spark.dynamicAllocation.executorIdleTimeout=240s"
        " --conf spark.dynamicAllocation.initialExecutors=2"
        " --conf spark.dynamicAllocation.minExecutors=0"
        " --conf spark.dynamicAllocation.shuffleTracking.enabled=true"
        " --conf spark.excludeOnFailure.enabled=false"
        " --conf spark.executor.cores=3"
        f" --conf spark.executor.extraJavaOptions={JVM}"
        " --conf spark.executor.heartbeatInterval=5s"
        " --conf spark.executor.maxNumFailures=1000"
        " --conf spark.executor.memory=512m"
        " --conf spark.executor.memoryOverhead=1501m"
        " --conf spark.locality.wait=0s"
        " --conf spark.network.timeoutInterval=5s"
        " --conf spark.speculation=false"
        " --conf spark.storage.blockManagerHeartbeatTimeoutMs=30s"
        " --conf spark.task.cpus=3"
        " --conf spark.task.maxFailures=1000"
        " --conf spark.ui.enabled=false"
        " --conf spark.ui.showConsoleProgress=false"
        " pyspark-shell"
    )


def test_kubernetes_is_told_which_image_to_start() -> None:
    """Before anything is started or printed: every line for Kubernetes needs an image."""
    master, image = (
        parse_master("k8s://https://cluster:6443", 4),
        "spark.kubernetes.container.image",
    )
    with pytest.raises(UsageError, match=f"needs an image with .*--spark-config {image}="):
        check_image(master, DriverOptions(master.text))
    check_image(master, DriverOptions(master.text, config=((image, "spark:4"),)))
    check_image(parse_master("yarn", 4), DriverOptions("yarn"))


def test_the_user_s_settings_win() -> None:
    """A setting of Spark puts two containers into an executor."""
    config = parsed_settings(("spark.executor.cores=6", "spark.eventLog.dir=a=b"))
    chosen = rendered("spark://cluster:7077", config=config)
    assert chosen["spark.executor.cores"] == "6"
    assert chosen["spark.eventLog.dir"] == "a=b"
    assert slots_each(parse_master("spark://cluster:7077", 4), chosen) == 2


@pytest.mark.parametrize("word", ["spark.x", "executor.cores=3", "=", ""])
def test_what_is_no_setting_is_named(word: str) -> None:
    with pytest.raises(UsageError, match=r"is not spark\.KEY=VALUE"):
        parsed_settings((word,))


def test_executors_of_a_local_cluster_have_as_many_slots_as_cores() -> None:
    master = parse_master("local-cluster[2,3,600]", 4)
    assert slots_each(master, rendered("local-cluster[2,3,600]")) == 3


def test_further_options_for_all_jvms() -> None:
    before = rendered("local[2]", config=(("spark.driver.extraJavaOptions", "-Xown"),))
    found = with_jvm_options(before, "-Xnew")
    assert found["spark.driver.extraJavaOptions"] == "-Xown -Xnew"
    assert found["spark.executor.extraJavaOptions"].endswith(" -Xnew")
    assert with_jvm_options(before, "") == before


def test_copies_of_containers_are_refused() -> None:
    for value in ("false", "", None):
        given = () if value is None else (("spark.speculation", value),)
        check_speculation(DriverOptions("local[2]", config=given))
    with pytest.raises(UsageError, match=r"--spark-config spark\.speculation=true is not for"):
        check_speculation(DriverOptions("local[2]", config=(("spark.speculation", "True"),)))
