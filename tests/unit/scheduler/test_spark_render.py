"""Spark's settings of a packing plan, for each kind of master, word for word."""

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, MIB, ContainerPlan, InstancePlan, PackingPlan, Resource
from scheduler.spark.masters import parse_master
from scheduler.spark.render import (
    SparkWishes,
    parsed_settings,
    settings,
    slots_each,
    submit_words,
)

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
    "spark.dynamicAllocation.enabled": "false",
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
SIZED = {
    "local[4]": {"spark.task.cpus": "1"},
    "local-cluster[2,1,600]": {"spark.task.cpus": "1"},
    "spark://cluster:7077": {
        "spark.cores.max": "6",
        "spark.executor.cores": "3",
        "spark.task.cpus": "3",
    },
    "yarn": {
        "spark.executor.cores": "3",
        "spark.executor.instances": "2",
        "spark.executor.memoryOverhead": "1501m",
        "spark.task.cpus": "3",
    },
}
SIZED["k8s://https://cluster:6443"] = SIZED["yarn"]


def rendered(master: str, **wishes: object) -> dict[str, str]:
    """The settings at a master."""
    made = SparkWishes(master, **wishes)  # type: ignore[arg-type]
    return settings(PLAN, parse_master(master, 4), made, "10.0.0.1")


@pytest.mark.parametrize("master", SIZED)
def test_settings_of_each_master(master: str) -> None:
    """On a cluster an executor for each container, as large as the largest; here a core each."""
    assert rendered(master) == {**COMMON, **SIZED[master]}


def test_the_line_for_yarn() -> None:
    """The whole of it, as --dry-run prints it."""
    words = submit_words("words", parse_master("yarn", 4), rendered("yarn"))
    assert " ".join(words) == (
        "--master yarn --name heron: words"
        " --conf spark.deploy.maxExecutorRetries=-1"
        " --conf spark.driver.bindAddress=10.0.0.1"
        f" --conf spark.driver.extraJavaOptions={JVM}"
        " --conf spark.driver.host=10.0.0.1"
        " --conf spark.driver.memory=512m"
        " --conf spark.dynamicAllocation.enabled=false"
        " --conf spark.excludeOnFailure.enabled=false"
        " --conf spark.executor.cores=3"
        f" --conf spark.executor.extraJavaOptions={JVM}"
        " --conf spark.executor.instances=2"
        " --conf spark.executor.maxNumFailures=1000"
        " --conf spark.executor.memory=512m"
        " --conf spark.executor.memoryOverhead=1501m"
        " --conf spark.locality.wait=0s"
        " --conf spark.speculation=false"
        " --conf spark.task.cpus=3"
        " --conf spark.task.maxFailures=1000"
        " --conf spark.ui.enabled=false"
        " --conf spark.ui.showConsoleProgress=false"
        " pyspark-shell"
    )


def test_the_user_s_settings_win() -> None:
    """A person who wants two containers in an executor says so to Spark."""
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
