"""What a recipe makes, in the process of the instance."""

from collections.abc import Callable
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.class_loading import load_class
from heron_core.errors import ComponentError
from heron_core.topology import topology_from_json, topology_to_json
from heron_frontends.flux.objects import BuiltGrouping, attribute_name, construction, snake_case

Load = Callable[..., Any]

TEXT = """
components:
  - {{id: base, className: parts.Filter, factory: ofLength, factoryArgs: [3]}}
  - id: loud
    className: parts.Filter
    constructorArgs: [[a, b], {{ref: base}}]
    properties: [{{name: loud, value: true}}]
spouts:
  - {{id: lines, className: parts.Lines, properties: [{{name: path, ref: base}}]}}
bolts:
  - id: split
    className: parts.Split
    {}
streams:
  - {{from: lines, to: split, grouping: {{type: SHUFFLE}}}}
"""


def made(load: Load, delegate: Any, more: str, component: str = "split") -> Any:
    """The component as adapters.construct makes it."""
    spec = load(TEXT.format(more)).by_name[component]
    args, configure = construction(spec.config)
    found: Any = load_class(spec.class_path)(*args, delegate=delegate)
    configure(found)
    return found


def test_without_a_recipe_there_is_nothing_to_do() -> None:
    args, configure = construction({"topology.debug": True})
    configure(None)
    assert args == ()


def test_constructor_arguments_and_shared_components(load: Load, bolt_delegate: Any) -> None:
    bolt = made(
        load,
        bolt_delegate,
        'constructorArgs: [";", {ref: base}, {reflist: [loud, base]}, {ref: base, more: 1}]',
    )
    base, several, plain = bolt.filters
    loud = several[0]
    assert bolt.separator == ";"
    assert base.words == ["xxx"]
    assert (loud.words, loud.loud, loud.parent) == (["a", "b"], True, base)
    assert several[1] is base
    assert plain == {"ref": "base", "more": 1}


def test_properties_and_methods_by_java_names_and_python_names(
    load: Load, bolt_delegate: Any
) -> None:
    bolt = made(load, bolt_delegate, """
    properties:
      - {name: limit, value: 7}
      - {name: topic, value: news}
      - {name: maxSize, value: [1]}
      - {name: separator, ref: loud}
    configMethods:
      - {name: withFilter, args: [{ref: loud}]}
      - {name: with_filter, args: [2]}
""")  # fmt: skip
    assert (bolt.limit, bolt.topic, bolt.size) == (7, "news", [1])
    loud = bolt.separator
    assert loud.words == ["a", "b"]
    assert bolt.calls == [("with_filter", loud), ("with_filter", 2)]


def test_a_spouts_properties(load: Load, spout_delegate: Any) -> None:
    spout = made(load, spout_delegate, "parallelism: 1", "lines")
    assert spout.path.words == ["xxx"]


def test_values_that_json_cannot_say(load: Load, bolt_delegate: Any) -> None:
    topology = load(TEXT.format("constructorArgs: [2024-02-29, {ref: base}]"))
    spec = topology_from_json(topology_to_json(topology)).by_name["split"]
    (day, base), _ = construction(spec.config)
    assert (day, base.words) == (date(2024, 2, 29), ["xxx"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("withFooBar", "with_foo_bar"),
        ("setURL", "set_url"),
        ("parseHTTPHeader", "parse_http_header"),
        ("already_snake", "already_snake"),
        ("max2Rows", "max2_rows"),
        ("x", "x"),
    ],
)
def test_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_attributes_are_called_as_they_exist() -> None:
    owner = SimpleNamespace(max_rows=1, maxWords=2)
    assert attribute_name(owner, "maxRows") == "max_rows"
    assert attribute_name(owner, "maxWords") == "maxWords"
    assert attribute_name(owner, "other") == "other"


FAILING = """
class Fails:
    def __init__(self, word):
        if word == "made":
            raise ValueError("no such word")
    def set_size(self, size):
        raise KeyError(size)
    def run(self):
        raise RuntimeError
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("constructorArgs: [made]", "cannot be made: fails.py:5: ValueError: no such word"),
        (
            "constructorArgs: [a], properties: [{name: size, value: 9}]",
            "property 'size': fails.py:7: KeyError: 9",
        ),
        (
            "constructorArgs: [a], configMethods: [{name: run}]",
            "configMethod 'run': fails.py:9: RuntimeError",
        ),
    ],
)
def test_what_user_code_raises_is_told_with_the_line_of_the_file(
    load: Load, write: Callable[[str, str], str], more: str, expected: str
) -> None:
    write("fails.py", FAILING)
    spec = load(f"""
        components: [{{id: f, className: fails.Fails, {more}}}]
        spouts: [{{id: s, className: parts.Lines, properties: [{{name: path, ref: f}}]}}]
        """).by_name["s"]
    with pytest.raises(ComponentError) as caught:
        construction(spec.config)
    assert str(caught.value) == f"t.yaml:2: 'f' (fails.Fails): {expected}"


def test_a_built_grouping_is_made_when_it_is_prepared() -> None:
    made_from = {
        "objects": [],
        "object": {
            "id": "a custom grouping",
            "place": "t.yaml:1",
            "class": "heron_api.custom_grouping.ICustomGrouping",
            "args": [],
            "factory": None,
            "properties": [["choose_tasks", {"value": list}]],
            "methods": [["prepare", []]],
        },
    }
    with pytest.raises(ComponentError, match=r"t\.yaml:1: 'a custom grouping'"):
        BuiltGrouping(made_from).prepare(None, "a", "default", [1])  # type: ignore[arg-type]
