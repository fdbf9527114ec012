"""Flux files as they are found beside Storm in Java: resources, Storm's own classes, pictures."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from heron_api.class_loading import load_grouping
from heron_core.errors import TopologyError
from heron_core.topology import StreamSpec, TopologySpec
from heron_frontends.flux.objects import construction
from heron_frontends.loading.load import load
from heron_frontends.loading.load_request import LoadRequest
from tests.unit.heron_frontends.flux.flux_texts import COMPONENTS, WORDS

Load = Callable[..., TopologySpec]
Write = Callable[[str, str], str]


def test_a_bolt_without_inputs_gets_ticks_alone(load: Load) -> None:
    topology = load(WORDS.partition("  - {from: split")[0])
    assert topology.by_name["count"].inputs == ()


def test_an_included_resource_begins_at_the_root_as_in_a_jar(write: Write) -> None:
    """The file is in a folder of the project, its include is named from the project's root."""
    write("parts.py", COMPONENTS)
    write("resources/configs/more.yaml", "config: {own: 1}")
    write("configs/most.yaml", "config: {other: 2}")
    include = "  - {{resource: true, file: {}}}\n"
    text = (
        "includes:\n" + include.format("/configs/more.yaml") + include.format("/configs/most.yaml")
    )
    file = write("flux/t.yaml", text + "spouts: [{id: lines, className: parts.Lines}]")
    topology = load(LoadRequest(file, search_paths=(os.getcwd(),)))
    assert (topology.config["own"], topology.config["other"]) == (1, 2)


def test_storms_ngrouping_and_javas_duration(load: Load) -> None:
    topology = load(
        """
        components:
          - id: long
            className: java.time.Duration
            factory: ofSeconds
            factoryArgs: [90]
        spouts: [{id: lines, className: parts.Lines}]
        bolts:
          - {id: split, className: parts.Split, constructorArgs: [{ref: long}]}
        streams:
          - from: lines
            to: split
            grouping:
              type: CUSTOM
              customClass:
                className: org.apache.storm.testing.NGrouping
                constructorArgs: [2]
        """
    )
    split = topology.by_name["split"]
    assert construction(split.config)[0] == (timedelta(seconds=90),)
    custom = split.inputs[0].grouping.custom
    assert custom is not None
    grouping = load_grouping(custom)
    grouping.prepare(SimpleNamespace(), "lines", "default", [9, 4, 7])  # type: ignore[arg-type]
    assert grouping.choose_tasks(["x"]) == [4, 7]


def test_a_picture_needs_no_java_class(write: Write, tmp_path: Path) -> None:
    """What cannot run here is drawn by its name."""
    write("parts.py", COMPONENTS)
    file = write(
        "t.yaml",
        "spouts: [{id: kafka, className: org.apache.storm.kafka.spout.KafkaSpout}]\n"
        "bolts: [{id: count, className: parts.Count}, {id: store, className: com.shop.Store}]\n"
        "streams:\n"
        "  - {from: kafka, to: count, grouping: {type: FIELDS, args: [word]}}\n"
        "  - {from: count, to: store, grouping: {type: SHUFFLE, streamId: late}}\n",
    )
    with pytest.raises(TopologyError, match=r"heronpy_compat\.connectors\.kafka\.KafkaSpout"):
        load(LoadRequest(file))
    with pytest.raises(
        TopologyError, match=r"'store' reads 'count', but its class parts\.Count has"
    ):
        load(LoadRequest(file, is_to_draw=True))
    text = (tmp_path / file).read_text().replace("  - {from: count", "  - {from: kafka")
    topology = load(LoadRequest(write("u.yaml", text), is_to_draw=True))
    kafka = topology.by_name["kafka"]
    assert kafka.class_path == "org.apache.storm.kafka.spout.KafkaSpout"
    assert kafka.outputs == (StreamSpec("default", ("word",)), StreamSpec("late", ()))
