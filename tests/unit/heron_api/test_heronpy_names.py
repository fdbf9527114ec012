"""Everything that heronpy's users import, by heronpy's names: what kind it is and what it takes."""

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from heronpy_compat import aliases

CLASS, CONSTANT, FUNCTION = "class", "constant", "function"

NAMES: list[tuple[str, str, str, dict[str, str]]] = [
    # module below heronpy, name, what it is, {method (itself if ""): its parameters}
    ("api.component.base_component", "BaseComponent", CLASS,
     {"": "delegate wrong", "log": "message level"}),
    ("api.spout.base_spout", "BaseSpout", CLASS,
     {"spec": "name par config optional_outputs",
      "emit": "tup tup_id stream direct_task need_task_ids"}),
    ("api.spout.spout", "Spout", CLASS,
     {"initialize": "config context", "close": "", "next_tuple": "", "ack": "tup_id",
      "fail": "tup_id", "activate": "", "deactivate": ""}),
    ("api.bolt.base_bolt", "BaseBolt", CLASS,
     {"spec": "name inputs par config optional_outputs", "is_tick": "tup", "ack": "tup",
      "fail": "tup", "emit": "tup stream anchors direct_task need_task_ids"}),
    ("api.bolt.bolt", "Bolt", CLASS,
     {"initialize": "config context", "process": "tup", "process_tick": "tup"}),
    ("api.bolt.window_bolt", "WindowContext", CLASS, {}),
    ("api.bolt.window_bolt", "SlidingWindowBolt", CLASS,
     {"processWindow": "window_info tuples", "initialize": "config context", "process": "tup",
      "process_tick": "tup", "init_state": "stateful_state", "pre_save": "checkpoint_id"}),
    ("api.bolt.window_bolt", "TumblingWindowBolt", CLASS, {"processWindow": "window_info tuples"}),
    ("api.component.component_spec", "HeronComponentSpec", CLASS,
     {"": "name python_class_path is_spout par inputs outputs config", "get_protobuf": "",
      "get_out_streamids": "", "__getitem__": "stream_id", "_sanitize_args": "*",
      "_sanitize_config": "custom_config", "_sanitize_inputs": "", "_sanitize_outputs": ""}),
    ("api.component.component_spec", "GlobalStreamId", CLASS, {"": "componentId streamId"}),
    ("api.stream", "Stream", CLASS, {"": "fields name direct"}),
    ("api.stream", "Grouping", CLASS,
     {"fields": "fields", "custom": "customgrouper", "custom_serialized": "serialized is_java",
      "custom_object": "java_class_name arg_list", "is_grouping_sane": "gtype"}),
    ("api.custom_grouping", "ICustomGrouping", CLASS,
     {"prepare": "context component stream target_tasks", "choose_tasks": "values"}),
    ("api.topology", "TopologyType", CLASS,
     {"class_dict_to_specs": "class_dict", "class_dict_to_topo_config": "class_dict",
      "add_spout_specs": "spec spout_specs", "add_bolt_specs": "spec bolt_specs",
      "get_topology_config_protobuf": "class_dict", "init_topology": "classname class_dict",
      "get_heron_options_from_env": "", "_sanitize_config": "custom_config"}),
    ("api.topology", "Topology", CLASS, {"write": ""}),
    ("api.topology", "TopologyBuilder", CLASS,
     {"": "name", "add_spec": "specs", "set_config": "config", "build_and_submit": "",
      "add_spout": "name spout_cls par config optional_outputs",
      "add_bolt": "name bolt_cls par inputs config optional_outputs",
      "_construct_topo_class_dict": ""}),
    ("api.topology_context", "TopologyContext", CLASS,
     {"get_task_id": "", "get_component_id": "", "get_cluster_config": "",
      "get_topology_name": "", "register_metric": "name metric time_bucket_in_sec",
      "get_sources": "component_id", "get_this_sources": "", "add_task_hook": "task_hook",
      "get_component_tasks": "component_id", "get_topology_pex_path": "",
      "get_metrics_collector": ""}),
    ("api.tuple", "Tuple", CLASS, {}),
    ("api.tuple", "TupleHelper", CLASS, {}),
    ("api.serializer", "IHeronSerializer", CLASS,
     {"initialize": "config", "serialize": "obj", "deserialize": "input_str"}),
    ("api.serializer", "PythonSerializer", CLASS, {"initialize": "config"}),
    ("api.serializer", "default_serializer", CONSTANT, {}),
    ("api.state.state", "State", CLASS,
     {"put": "key value", "get": "key", "enumerate": "", "clear": ""}),
    ("api.state.state", "HashMapState", CLASS, {"": ""}),
    ("api.state.stateful_component", "StatefulComponent", CLASS,
     {"init_state": "stateful_state", "pre_save": "checkpoint_id"}),
    ("api.metrics", "IMetric", CLASS, {"get_value_and_reset": ""}),
    ("api.metrics", "CountMetric", CLASS, {"": "", "incr": "to_add"}),
    ("api.metrics", "MultiCountMetric", CLASS, {"add_key": "key", "incr": "key to_add"}),
    ("api.metrics", "IReducer", CLASS, {"init": "", "reduce": "value", "extract": ""}),
    ("api.metrics", "MeanReducer", CLASS, {}),
    ("api.metrics", "ReducedMetric", CLASS, {"": "reducer_cls", "update": "value"}),
    ("api.metrics", "MultiReducedMetric", CLASS,
     {"": "reducer", "update": "key value", "add_key": "key"}),
    ("api.metrics", "AssignableMetrics", CLASS, {"": "init_val", "update": "value"}),
    ("api.metrics", "MultiAssignableMetrics", CLASS, {"update": "key value"}),
    ("api.metrics", "MeanReducedMetric", FUNCTION, {"": ""}),
    ("api.metrics", "MultiMeanReducedMetric", FUNCTION, {"": ""}),
    ("api.global_metrics", "incr", FUNCTION, {"": "key to_add"}),
    ("api.global_metrics", "safe_incr", FUNCTION, {"": "key to_add"}),
    ("api.global_metrics", "init", FUNCTION, {"": "metrics_collector metrics_bucket"}),
    ("api.global_metrics", "metricsContainer", CONSTANT, {}),
    ("api.global_metrics", "registered", CONSTANT, {}),
    ("api.global_metrics", "root_name", CONSTANT, {}),
    ("api.global_metrics", "lock", CONSTANT, {}),
    ("api.task_hook", "ITaskHook", CLASS,
     {"prepare": "conf context", "clean_up": "", "emit": "emit_info",
      "spout_ack": "spout_ack_info", "spout_fail": "spout_fail_info",
      "bolt_execute": "bolt_execute_info", "bolt_ack": "bolt_ack_info",
      "bolt_fail": "bolt_fail_info"}),
    *[("api.task_hook", name, CLASS, {}) for name in (
        "EmitInfo", "SpoutAckInfo", "SpoutFailInfo", "BoltExecuteInfo", "BoltAckInfo",
        "BoltFailInfo")],
    ("api.api_constants", "TopologyReliabilityMode", CLASS, {}),
    *[("proto.topology_pb2", name, CLASS, {}) for name in (
        "Topology", "Spout", "Bolt", "Component", "Config", "StreamId", "StreamSchema",
        "InputStream", "OutputStream")],
    *[("proto.topology_pb2", name, CONSTANT, {}) for name in (
        "Grouping", "ComponentObjectSpec", "ConfigValueType", "CustomGroupingObjectType",
        "TopologyState", "Type", "SHUFFLE", "CUSTOM", "PYTHON_CLASS_NAME", "RUNNING", "PAUSED")],
    ("streamlet.builder", "Builder", CLASS, {"": "", "new_source": "source", "build": "bldr"}),
    ("streamlet.runner", "Runner", CLASS, {"": "", "run": "name config builder"}),
    ("streamlet.config", "Config", CLASS,
     {"": "config", "set_delivery_semantics": "semantics", "set_num_containers": "ncontainers",
      "set_container_resources": "resources", "set_user_config": "key value"}),
    ("streamlet.resources", "Resources", CLASS,
     {"": "", "set_cpu": "cpu", "set_ram": "ram", "set_ram_in_mb": "ram", "set_ram_in_gb": "ram",
      "get_cpu": "", "get_ram": ""}),
    ("streamlet.generator", "Generator", CLASS, {"setup": "context", "get": ""}),
    ("streamlet.transformoperator", "TransformOperator", CLASS,
     {"setup": "context", "transform": "tup"}),
    ("streamlet.context", "Context", CLASS,
     {"get_task_id": "", "get_config": "", "get_stream_name": "", "get_num_partitions": "",
      "get_partition_index": "", "get_state": "", "emit": "values"}),
    ("streamlet.window", "Window", CLASS, {"": "start_time end_time"}),
    ("streamlet.keyedwindow", "KeyedWindow", CLASS, {"": "key window"}),
    ("streamlet.windowconfig", "WindowConfig", CLASS,
     {"": "window_duration slide_interval", "create_tumbling_window": "window_duration",
      "create_sliding_window": "window_duration slide_interval"}),
    ("streamlet.streamlet", "Streamlet", CLASS,
     {"set_name": "name", "get_name": "", "set_num_partitions": "num_partitions",
      "get_num_partitions": "", "map": "map_function", "flat_map": "flatmap_function",
      "filter": "filter_function", "repartition": "num_partitions repartition_function",
      "clone": "num_clones", "reduce_by_window": "window_config reduce_function",
      "reduce_by_key_and_window": "window_config reduce_function", "union": "other_streamlet",
      "transform": "transform_operator", "log": "", "consume": "consume_function",
      "join": "join_streamlet window_config join_function",
      "outer_left_join": "join_streamlet window_config join_function",
      "outer_right_join": "join_streamlet window_config join_function",
      "outer_join": "join_streamlet window_config join_function"}),
    *[(f"streamlet.impl.{module}", name, CLASS, {}) for module, name in (
        ("streamletboltbase", "StreamletBoltBase"), ("streamletspoutbase", "StreamletSpoutBase"),
        ("contextimpl", "ContextImpl"), ("mapbolt", "MapBolt"), ("mapbolt", "MapStreamlet"),
        ("flatmapbolt", "FlatMapBolt"), ("flatmapbolt", "FlatMapStreamlet"),
        ("filterbolt", "FilterBolt"), ("filterbolt", "FilterStreamlet"),
        ("repartitionbolt", "RepartitionBolt"), ("repartitionbolt", "RepartitionStreamlet"),
        ("repartitionbolt", "RepartitionCustomGrouping"),
        ("reducebywindowbolt", "ReduceByWindowBolt"),
        ("reducebywindowbolt", "ReduceByWindowStreamlet"),
        ("reducebykeyandwindowbolt", "ReduceByKeyAndWindowBolt"),
        ("reducebykeyandwindowbolt", "ReduceByKeyAndWindowStreamlet"),
        ("reducebykeyandwindowbolt", "ReduceGrouping"), ("unionbolt", "UnionBolt"),
        ("unionbolt", "UnionStreamlet"), ("transformbolt", "TransformBolt"),
        ("transformbolt", "TransformStreamlet"), ("logbolt", "LogBolt"),
        ("logbolt", "LogStreamlet"), ("consumebolt", "ConsumeBolt"),
        ("consumebolt", "ConsumeStreamlet"), ("joinbolt", "JoinBolt"),
        ("joinbolt", "JoinStreamlet"), ("joinbolt", "JoinGrouping"),
        ("generatorspout", "GeneratorSpout"), ("generatorspout", "GeneratorStreamlet"),
        ("supplierspout", "SupplierSpout"), ("supplierspout", "SupplierStreamlet"))],
    ("connectors.mock.arraylooper", "ArrayLooper", CLASS, {"": "user_iterable sleep"}),
    ("connectors.textfiles.textfilesgenerator", "TextFileGenerator", CLASS, {"": "filepattern"}),
    ("connectors.pulsar.pulsarspout", "PulsarSpout", CLASS, {}),
    ("connectors.pulsar.pulsarstreamlet", "PulsarStreamlet", CLASS,
     {"": "service_url topic_name stage_name parallelism receive_timeout_ms input_schema"}),
]  # fmt: skip

ATTRIBUTES = {
    "api.bolt.window_bolt.SlidingWindowBolt": "WINDOW_DURATION_SECS WINDOW_SLIDEINTERVAL_SECS",
    "api.bolt.window_bolt.TumblingWindowBolt": "WINDOW_DURATION_SECS",
    "api.stream.Stream": "DEFAULT_STREAM_ID",
    "api.stream.Grouping": ("SHUFFLE ALL LOWEST NONE DIRECT GLOBAL LOCAL_OR_SHUFFLE FIELDS CUSTOM"),
    "api.topology.TopologyType": "DEFAULT_TOPOLOGY_CONFIG",
    "api.tuple.Tuple": "id component stream task values",
    "api.tuple.TupleHelper": "TICK_TUPLE_ID TICK_SOURCE_COMPONENT",
    "api.task_hook.EmitInfo": "values stream_id task_id out_tasks",
    "api.task_hook.SpoutAckInfo": "message_id spout_task_id complete_latency_ms",
    "api.task_hook.SpoutFailInfo": "message_id spout_task_id fail_latency_ms",
    "api.task_hook.BoltExecuteInfo": "heron_tuple executing_task_id execute_latency_ms",
    "api.task_hook.BoltAckInfo": "heron_tuple acking_task_id process_latency_ms",
    "api.task_hook.BoltFailInfo": "heron_tuple failing_task_id fail_latency_ms",
    "api.api_constants.TopologyReliabilityMode": "ATMOST_ONCE ATLEAST_ONCE EFFECTIVELY_ONCE",
    "streamlet.config.Config": "ATMOST_ONCE ATLEAST_ONCE EFFECTIVELY_ONCE",
    "streamlet.impl.joinbolt.JoinBolt": "OUTER_LEFT INNER OUTER_RIGHT OUTER",
    "streamlet.impl.streamletboltbase.StreamletBoltBase": "outputs",
    "streamlet.impl.streamletspoutbase.StreamletSpoutBase": "outputs",
    "connectors.pulsar.pulsarspout.PulsarSpout": (
        "serviceUrl topicName receiveTimeoutMs deserializer"
    ),
}
"""Class -> attributes of the class itself."""


@pytest.fixture
def heronpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports `heronpy.…` as a user's file does."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    aliases.install()
    yield lambda name: import_module(f"heronpy.{name}")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "heronpy":
            del sys.modules[name]


def parameters(function: Any) -> str:
    names = inspect.signature(function).parameters
    return " ".join(name for name in names if name not in ("self", "cls"))


@pytest.mark.parametrize(
    ("module", "name", "kind", "calls"), NAMES, ids=[f"{row[0]}.{row[1]}" for row in NAMES]
)
def test_the_name_is_there_and_takes_what_heronpys_takes(
    heronpy: Any, module: str, name: str, kind: str, calls: dict[str, str]
) -> None:
    found = getattr(heronpy(module), name)
    assert isinstance(found, type) is (kind == CLASS)
    if kind == FUNCTION:
        assert callable(found)
    for method, expected in calls.items():
        taken = parameters(getattr(found, method) if method else found)
        assert taken == expected or expected == "*", method
    for attribute in ATTRIBUTES.get(f"{module}.{name}", "").split():
        assert hasattr(found, attribute)


def test_both_names_of_a_module_give_the_same_classes(heronpy: Any) -> None:
    """A topology with heronpy's classes is one with ours."""
    from heronpy_compat.streamlet.builder import Builder

    assert heronpy("streamlet.builder").Builder is Builder


@pytest.mark.parametrize("name", ["adapters", "loading", "components", "proto.tuple_pb2", "dsl"])
def test_nothing_else_of_ours_is_called_heronpy(heronpy: Any, name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"No module named 'heronpy\.{name}'"):
        heronpy(name)
