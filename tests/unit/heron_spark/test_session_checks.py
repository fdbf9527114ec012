"""What is asked of a user's session, without a Spark: refusals, classes by value, the cure for a
connector that is missing."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from heron_api.class_loading import load_class
from heron_connectors.spark.frames import FRAME, FrameSpout, LocalFrame, check_without_spark
from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_spark.compile import main_classes
from heron_spark.driver.connector_packages import missing_package
from heron_spark.session.user_session import check_session, local_path

FRAME_OF_NUMBERS = SimpleNamespace(isStreaming=False, columns=["number"])


def test_a_session_of_spark_connect_and_a_stopped_one_are_refused() -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UsageError, match="a session of Spark Connect cannot run topologies"):
        check_session(connect)
    stopped = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(UsageError, match="has been stopped: make another one"):
        check_session(stopped)
    with pytest.raises(UsageError, match="a SparkSession is needed here, not a int"):
        check_session(7)


def test_classes_of_the_main_module_travel_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    exec("class Here:\n    def answer(self): return 42", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    spec = ComponentSpec("here", False, "__main__.Here", 1)
    topology = TopologySpec("t", (spec, replace(spec, name="there", class_path="somewhere.Else")))
    classes = main_classes.pickled_classes(topology)
    sent = main_classes.by_value(topology)
    assert [each.class_path for each in sent.components] == [
        f"{main_classes.MODULE}.Here",
        "somewhere.Else",
    ]
    assert main_classes.pickled_classes(replace(topology, components=topology.components[1:])) == ""
    monkeypatch.delitem(vars(main), "Here")
    monkeypatch.setitem(sys.modules, main_classes.MODULE, main)  # it is put back at the end
    main_classes.install(classes)
    found: Any = load_class(sent.components[0].class_path)
    assert found().answer() == 42


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("Failed to find data source: kafka. Please deploy", "spark-sql-kafka-0-10_2.13:"),
        (
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure",
            "spark.jars.packages=io.delta:",
        ),
        ("Failed to find data source: mine.", "Spark has no data source 'mine'"),
        ("Table or view not found", ""),
    ],
)
def test_a_connector_that_is_missing_is_named_with_its_package(text: str, cure: str) -> None:
    found = missing_package(text)
    assert (cure in found) if cure else found == ""
    assert "\n" not in found


def test_a_checkpoint_location_is_a_path_where_it_is_in_files() -> None:
    assert local_path("file:/tmp/a%20b") == "/tmp/a b"
    assert local_path("file:///tmp/c") == "/tmp/c"
    assert local_path("/tmp/c") == "/tmp/c"
    assert local_path("hdfs://namenode/c") is None


def test_a_spout_over_a_dataframe_runs_only_where_the_dataframe_is() -> None:
    source = FrameSpout.over(FRAME_OF_NUMBERS)
    assert source.outputs == ("number",)
    assert source.config[FRAME].frame is FRAME_OF_NUMBERS
    assert source.config[FRAME].__reduce__() == (LocalFrame, ())
    outputs = (StreamSpec("default", ("number",)),)
    spout = ComponentSpec("numbers", True, source.class_path, 1, outputs, (), source.config)
    with pytest.raises(TopologyError, match=r"start the topology in that session, with heronpy_co"):
        check_without_spark(TopologySpec("t", (spout,)))
