"""What a PySpark program asks for and cannot have is one line that says the cure; without a JVM."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from heron_core.errors import HeronError
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_spark.session.user_session import check_session
from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.spark import dataframe_of, run, start

CLUSTER = "spark://host:7077"


class Source(Spout):
    outputs = {"number": "bigint"}

    def next_tuple(self) -> None:
        """Nothing."""


class Twice(Bolt):
    outputs = {"number": "bigint"}

    def process(self, tup: Any) -> None:
        """Nothing."""


class Right(Topology):
    source = Source.spec()
    twice = Twice.spec(inputs=[source])


def session(master: str, conf: dict[str, str] | None = None, *, stopped: bool = False) -> Any:
    """What is asked of a session before its JVM is."""
    scala = SimpleNamespace(isStopped=lambda: stopped)
    context = SimpleNamespace(master=master, _jsc=SimpleNamespace(sc=lambda: scala))
    return SimpleNamespace(sparkContext=context, conf=conf or {})


def without_class(path: str) -> TopologySpec:
    """A topology whose spout's class cannot be loaded."""
    spout = ComponentSpec("orders", True, path, 1, (StreamSpec("default", ("id",)),), (), {})
    return TopologySpec("lost", (spout,), {})


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a stopped session": (
        lambda: start(Right, session("local[2]", stopped=True)),
        "the SparkSession has been stopped: make another one with SparkSession.builder",
    ),
    "no checkpoint on a cluster": (
        lambda: start(Right, session(CLUSTER)),
        f"a session at {CLUSTER} needs checkpoint=, a folder that every worker reaches",
    ),
    "a checkpoint that is not a path": (
        lambda: run(
            Right, session(CLUSTER, {"spark.sql.streaming.checkpointLocation": "hdfs://there"})
        ),
        f"a session at {CLUSTER} needs checkpoint=, a folder that every worker reaches",
    ),
    "a class whose module is not there": (
        lambda: start(without_class("no_such_module.Orders"), session("local[2]")),
        "spout 'orders': module no_such_module not found (for class Orders): define a component's",
    ),
    "a class that its module has not": (
        lambda: dataframe_of(without_class("json.Orders"), session("local[2]"), "orders"),
        "spout 'orders': module json has no class 'Orders': define a component's class in the main",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_is_said_in_one_line(case: str) -> None:
    call, text = CASES[case]
    with pytest.raises(HeronError) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


THE_USERS, ON_PATH = "/opt/python", "python3"


@pytest.mark.parametrize(
    ("master", "named", "python"),
    [
        ("local[2]", None, sys.executable),
        ("local-cluster[2,1,1024]", None, sys.executable),
        ("local[2]", THE_USERS, ON_PATH),
        (CLUSTER, None, ON_PATH),
    ],
)
def test_workers_on_this_machine_run_the_python_of_the_program(
    master: str, named: str | None, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if named is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", named)
    made = session(master)
    made.sparkContext.pythonExec = ON_PATH
    check_session(made)
    assert made.sparkContext.pythonExec == python
