"""Flux files that are wrong: one line with file and line, the name of the thing and the cure."""

from collections.abc import Callable

import pytest

from heron_core.errors import UsageError
from heron_core.topology import TopologySpec
from tests.unit.heron_frontends.flux.flux_texts import WORDS

Load = Callable[..., TopologySpec]
Refused = Callable[..., str]
Write = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Keys and values
        ("parallelism: 2", "paralelism: 2", "did you mean 'parallelism'?"),
        ("name: words", "nam: words", "the topology has the key 'nam', which is not known"),
        ("parallelism: 2", "parallelism: 0", "bolt 'count': parallelism must be a number of"),
        ("parallelism: 2", "parallelism: 1.5", "parallelism must be a whole number of at least 1"),
        ("parallelism: 2", "parallelism: many", "not 'many'"),
        ("parallelism: 2", "parallelism: yes", "not True"),
        ("parallelism: 2", "config: [a]", "config must be a mapping, not a list"),
        ("parallelism: 2", "config: {1: a}", "keys of config must be texts, not 1"),
        ("parallelism: 2", "constructorArgs: 5", "constructorArgs must be a list, not 5"),
        ("parallelism: 2", "numTasks: -1", "numTasks must be"),
        ("name: words", "name: [a]", "name must be a text, not a list"),
        ("name: words", "spouts: []", "the key 'spouts' is given twice (first in t.yaml:"),
        ("name: words", "workerHooks: [{id: a, className: b}]", "workerHooks are not supported"),
        # Names
        ("id: count", "id: split", "the id 'split' is used already (t.yaml:"),
        ("id: count", "id: lines", "the id 'lines' is used already (t.yaml:"),
        ("  - id: count\n    class", "  - class", "an entry of bolts has no id"),
        ("className: parts.Count", "numTasks: 1", "bolt 'count' has no className"),
        # Streams
        ("to: split,", "to: splitt,", "stream to 'splitt', which is not a component; did you mean"),
        ("from: lines,", "from: line,", "did you mean 'lines'?"),
        ("to: split,", "to: lines,", "stream to 'lines', a spout: only bolts read streams"),
        ("{type: SHUFFLE}", "{type: SHUFLE}", "did you mean 'SHUFFLE'?"),
        ("{type: SHUFFLE}", "{type: FIELDS}", "needs args, the fields"),
        ("{type: SHUFFLE}", "{type: CUSTOM}", "must have a customClass if its type is CUSTOM"),
        ("{type: SHUFFLE}", "{type: ALL, customClass: {className: x}}", "and only then"),
        (", grouping: {type: SHUFFLE}", "", "stream lines --> split has no grouping"),
        ("{type: SHUFFLE}", "{type: SHUFFLE, streamId: other}", "reads 'other' of 'lines'"),
        ("{type: SHUFFLE}", "{type: FIELDS, args: [wrod]}", "'wrod', which is not a field"),
        ("{type: SHUFFLE}", "{type: DIRECT}", "must be declared with direct=True"),
        ("args: [word]", "args: [[word]]", "args must be a list of texts, but has a list"),
        # Classes
        ("parts.Count", "parts.Cuont", "module parts has no class 'Cuont'; did you mean 'Count'?"),
        ("parts.Count", "nowhere.Count", "module nowhere not found (for class Count)"),
        ("parts.Count", "com.acme.Count", "Java class com.acme.Count has no equivalent here"),
        ("parts.Count", "parts.Lines", "parts.Lines is not a bolt: the class has no method"),
        ("parts.Lines", "parts.Split", "parts.Split is not a spout: the class has no method"),
        ("parts.Count", "org.apache.storm.testing.TestWordSpout", "is a spout, not a bolt"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(
    refused: Refused, old: str, new: str, expected: str
) -> None:
    line = refused(WORDS.replace(old, new, 1))
    assert expected in line
    number = int(line.removeprefix("t.yaml:").partition(":")[0])
    changed = WORDS.count("\n", 0, WORDS.index(old)) + 1
    assert number in (changed - 1, changed, changed + 1), line


MADE = """
components:
  - {{id: base, className: parts.Filter, constructorArgs: [[a]]}}
  - {{id: f, className: parts.Filter, {component}}}
spouts:
  - {{id: lines, className: parts.Lines}}
bolts:
  - {{id: split, className: parts.Split, {bolt}}}
streams:
  - {{from: lines, to: split, grouping: {{type: SHUFFLE}}}}
"""
GOOD = "constructorArgs: [[b], {ref: base}]"


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        ("constructorArgs: [{ref: bass}]", "reference to unknown component 'bass'; did"),
        ("constructorArgs: [{reflist: [base, other]}]", "reference to unknown component 'other'"),
        ("constructorArgs: [[], {ref: f}]", "refer to each other in a cycle: f -> f"),
        ("constructorArgs: [{ref: lines}]", "reference to unknown component 'lines'"),
        ("constructorArgs: []", "the constructor of parts.Filter does not take 0 arguments"),
        ("constructorArgs: [1, 2, 3]", "does not take 3 arguments: it is Filter(words, parent"),
        ("factory: of_lenght, factoryArgs: [1]", "has no factory 'of_lenght'; did you mean 'of_l"),
        ("factory: ofLength, factoryArgs: []", "factory 'ofLength' of parts.Filter does not take"),
        ("factory: of_length, constructorArgs: [1]", "the object is made by its factory"),
        ("factoryArgs: [1]", "has factoryArgs, but the object has no factory"),
        (f"{GOOD}, properties: [{{name: lout, value: 1}}]", "no property 'lout'; did you mean 'lo"),
        (f"{GOOD}, properties: [{{name: loud}}]", "must have a value or a ref, and not both"),
        (f"{GOOD}, properties: [{{name: a, value: 1, ref: base}}]", "and not both"),
        (f"{GOOD}, configMethods: [{{name: run}}]", "class parts.Filter has no configMethod 'run'"),
    ],
)  # fmt: skip
def test_an_object_that_cannot_be_made(refused: Refused, component: str, expected: str) -> None:
    line = refused(MADE.format(component=component, bolt="parallelism: 1"))
    assert line.startswith("t.yaml:4: ")
    assert expected in line


@pytest.mark.parametrize(
    ("bolt", "expected"),
    [
        ("constructorArgs: [{ref: other}]", "reference to unknown component 'other'"),
        ("properties: [{name: topik, value: a}]", "no property 'topik'; did you mean 'topic'?"),
        ("configMethods: [{name: withFilters}]", "no configMethod 'withFilters'"),
        ("configMethods: [{name: withFilter}]", "it is with_filter(self, kept)"),
        ("configMethods: [{name: withFilter, args: [1, 2]}]", "does not take 2 arguments"),
        ("factory: make", "spouts and bolts are made by the engine"),
        ("configMethods: [{args: [1]}]", "a configMethod of bolt 'split' has no name"),
    ],
)
def test_a_component_that_cannot_be_made(refused: Refused, bolt: str, expected: str) -> None:
    line = refused(MADE.format(component=GOOD, bolt=bolt))
    assert line.startswith("t.yaml:8: ")
    assert expected in line


CONSTRUCTORS = """
from heronpy_compat import Bolt
from heronpy_compat.streamparse import Bolt as StormBolt

class Closed(Bolt):
    def __init__(self, size):
        self.size = size
    def process(self, tup):
        pass

class Storm(StormBolt):
    outputs = ["word"]

class StormOpen(Storm):
    def __init__(self, size, **keywords):
        super().__init__(**keywords)

class Plain:
    def __init__(self, size):
        self.size = size
    def process(self, tup):
        pass
"""


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("parts.Count", "[1]"),
        ("constructors.Closed", "[1]"),
        ("constructors.Storm", "[1]"),
        ("constructors.StormOpen", "[]"),
        ("constructors.StormOpen", "[1, 2]"),
        ("constructors.Plain", "[]"),
    ],
)
def test_a_constructor_that_leaves_no_way_in_for_the_engine(
    write: Write, refused: Refused, name: str, args: str
) -> None:
    """Or for the arguments: a class without a constructor of its own takes none."""
    write("constructors.py", CONSTRUCTORS)
    text = MADE.format(component=GOOD, bolt=f"constructorArgs: {args}")
    line = refused(text.replace("parts.Split", name))
    assert line.startswith(f"t.yaml:8: 'split': the constructor of {name} does not take")
    assert "super().__init__(**engine)" in line


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("constructors.Storm", "[]"),
        ("constructors.StormOpen", "[1]"),
        ("constructors.Plain", "[1]"),
    ],
)
def test_constructors_that_fit(write: Write, load: Load, name: str, args: str) -> None:
    write("constructors.py", CONSTRUCTORS)
    text = MADE.format(component=GOOD, bolt=f"constructorArgs: {args}")
    assert load(text.replace("parts.Split", name)).by_name["split"].class_path == name


def test_components_in_the_wrong_order(refused: Refused) -> None:
    """Flux would hand on null."""
    line = refused("""
        components:
          - {id: a, className: parts.Filter, constructorArgs: [{ref: b}]}
          - {id: b, className: parts.Filter, constructorArgs: [1]}
        """)
    assert line == (
        "t.yaml:3: 'a' refers to 'b', which is only declared in t.yaml:4: move 'b' above 'a'"
    )


def test_components_that_refer_to_each_other(refused: Refused) -> None:
    line = refused("""
        components:
          - {id: a, className: parts.Filter, constructorArgs: [{ref: b}]}
          - {id: b, className: parts.Filter, constructorArgs: [{ref: c}]}
          - {id: c, className: parts.Filter, constructorArgs: [{ref: b}]}
        """)
    assert line == "t.yaml:5: components refer to each other in a cycle: b -> c -> b"


def test_a_name_that_no_component_may_have(refused: Refused) -> None:
    line = refused(WORDS.replace("count", "__system"))
    assert line.startswith("t.yaml:9: bolt '__system': the engine reserves its name")


def test_a_class_without_outputs(refused: Refused) -> None:
    line = refused("""
        spouts: [{id: a, className: parts.Lines}]
        bolts:
          - {id: b, className: parts.Count}
          - {id: c, className: parts.Count}
        streams:
          - {from: a, to: b, grouping: {type: ALL}}
          - {from: b, to: c, grouping: {type: ALL}}
        """)
    assert line.startswith("t.yaml:8: 'c' reads 'b', but its class parts.Count has no outputs")


def test_what_is_undefined_is_told_with_its_line(refused: Refused) -> None:
    line = refused("name: a\nconfig:\n  # ${comment}\n  b: [${b}]\n", a="1")
    assert line.startswith("t.yaml:4: ${b} has no value")


def test_another_name_is_asked_for(refused: Refused) -> None:
    assert refused(WORDS, name="other") == "t.yaml has no topology 'other'; topologies: words"


def test_bad_config_values(refused: Refused) -> None:
    line = refused(f"config: {{topology.message.timeout.secs: soon}}\n{WORDS}")
    assert line.startswith("t.yaml:1: config of the topology: topology.message.timeout.secs must")
    line = refused(WORDS.replace("parallelism: 2", "config: {topology.debug: 7}"))
    assert line.startswith("t.yaml:9: config of bolt 'count': topology.debug must be true or")


# Includes


def test_included_files_do_not_include(write: Write, refused: Refused) -> None:
    write("a.yaml", "name: a\nincludes: [{file: b.yaml}]")
    line = refused("includes:\n  - {file: a.yaml}\n")
    assert line.startswith("a.yaml:2: includes of an included file is ignored")


def test_an_included_file_that_is_missing(refused: Refused) -> None:
    line = refused("includes:\n  - {file: sub/a.yaml}\n")
    assert line == "t.yaml:2: included file sub/a.yaml does not exist (looked in .)"


def test_a_file_that_is_no_text(write: Write, refused: Refused) -> None:
    path = write("a.yaml", "")
    with open(path, "wb") as file:
        file.write(b"name: caf\xe9")
    with pytest.raises(UsageError, match=r"a\.yaml is not text: save it as UTF-8"):
        refused("includes:\n  - {file: a.yaml}\n")


def test_the_file_of_a_mistake_is_that_which_has_it(write: Write, refused: Refused) -> None:
    write("a.yaml", "bolts:\n  - {id: b, className: parts.Nothing}")
    line = refused("includes:\n  - {file: a.yaml}\n")
    assert line.startswith("a.yaml:2: 'b': module parts has no class 'Nothing'")
