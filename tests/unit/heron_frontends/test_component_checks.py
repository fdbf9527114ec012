"""What cannot run is told when the file is loaded, in one line with its place in the file."""

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from heron_core.errors import TopologyError
from heron_frontends.loading.load import LoadRequest, load

Write = Callable[[str, str], str]
Refused = Callable[..., str]

HEAD = """\
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self):
        self.emit(["a"])

class Count(Bolt):
{body}

class T(Topology):
    words = Words.spec()
    count = {spec}
"""
PROCESS = "def process(self, tup): pass"
SPEC = "Count.spec(inputs={words: Grouping.SHUFFLE})"


@pytest.fixture
def refused(write: Write) -> Refused:
    """The line that a Count with this body is refused with; empty if it is not."""

    def line_of(body: str, spec: str = SPEC, **request: Any) -> str:
        text = HEAD.format(body=dedent(body).replace("\n", "\n    ").join(("    ", "")), spec=spec)
        file = write("words.py", text)
        wanted = LoadRequest(file, **{"is_to_run": True, "runs_here": True, **request})
        try:
            load(wanted)
        except TopologyError as error:
            return str(error)
        return ""

    return line_of


def test_a_bolt_without_process_or_with_a_misspelt_one(refused: Refused) -> None:
    assert refused("pass") == "words.py:9: bolt 'count': class Count defines no process"
    expected = "words.py:9: bolt 'count': class Count defines no process; is 'proces' a"
    assert refused("def proces(self, tup): pass").startswith(expected)
    assert refused(PROCESS) == ""
    assert refused("def initialize(self, c, t):\n    self.process = print") == ""
    assert refused("pass", is_to_run=False) == "", "drawing it needs no process"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{PROCESS}\ndef process_tick(self, tup): yield", "process_tick of class Count has"),
        (f"{PROCESS}\nasync def is_idle(self): pass", "is_idle of class Count is"),
    ],
)
def test_a_method_whose_call_would_run_nothing(body: str, expected: str, refused: Refused) -> None:
    # Each tuple was acked and dropped, with exit code 0.
    line = refused(body)
    assert line.startswith("words.py:1")
    assert f"bolt 'count': {expected}" in line


@pytest.mark.parametrize(
    "body",
    [
        "async def process(self, tup): pass",
        "async def process(self, tup): yield 1",
        "def process(self, tup): yield tup",
        f"{PROCESS}\nasync def initialize(self, c, t): pass",
        f"{PROCESS}\nasync def init_state(self, state): pass",
        "def process(self, tup): return self.emit([1])",
    ],
)
def test_coroutines_and_generators_are_as_good_as_functions(body: str, refused: Refused) -> None:
    assert refused(body) == ""


def test_a_process_that_returns_its_values_is_told_the_line(refused: Refused) -> None:
    line = refused("def process(self, tup):\n    if tup.word:\n        return [tup.word]")
    assert line.startswith(
        "words.py:12: bolt 'count': process returns [tup.word], which the engine"
    )


def test_keyed_state_across_an_await_is_refused(refused: Refused) -> None:
    body = "from heron_api.state.keyed_state import value_state as v\nseen = v()\n"
    line = refused(f"{body}async def process(self, tup): pass")
    assert "process is `async def`, but seen belongs to the key of one tuple" in line


def test_an_overridden_init(refused: Refused) -> None:
    line = refused(f"def __init__(self):\n    self.counts = {{}}\n{PROCESS}")
    assert line == (
        "words.py:10: bolt 'count': class Count overrides __init__, but the engine makes its"
        " objects: put this into initialize(self, config, context)"
    )
    assert (
        refused(f"def __init__(self, **engine):\n    super().__init__(**engine)\n{PROCESS}") == ""
    )


def test_a_call_of_the_class_instead_of_spec(refused: Refused) -> None:
    meant = "makes no component of a topology: write Count.spec(...)"
    assert refused(PROCESS, "Count()") == f"words.py:14: Count() {meant}"
    assert refused(PROCESS, "Count(par=2, inputs=[words])") == f"words.py:14: Count() {meant}"


def test_a_misspelt_grouping(refused: Refused) -> None:
    line = refused(PROCESS, 'Count.spec(inputs={words: Grouping.feilds("word")})')
    assert line.startswith(
        "words.py:14: AttributeError: Grouping has no 'feilds'; did you mean 'fields'? (groupings"
    )


def test_a_window_without_duration(refused: Refused) -> None:
    window = "pass\nclass Busy(TumblingWindowBolt):\n    def processWindow(self, w, tuples): pass"
    needed = "bolt 'count': its config needs tumblingwindowbolt_duration_secs, the seconds of a wi"
    assert refused(window, "Count.Busy.spec(inputs=[words])").startswith(needed)
    wrong = "Count.Busy.spec(inputs=[words], config={Count.Busy.WINDOW_DURATION_SECS: 0})"
    assert "must be a whole number of at least 1, not 0" in refused(window, wrong)
    given = {"tumblingwindowbolt_duration_secs": 3}
    assert refused(window, "Count.Busy.spec(inputs=[words])", options=given) == ""
    unnamed = refused(
        "pass\nclass Busy(SlidingWindowBolt): pass", "Count.Busy.spec(inputs=[words])"
    )
    assert unnamed.startswith("words.py:11: bolt 'count': class Busy defines no processWindow")


def test_a_package_that_is_not_installed(refused: Refused) -> None:
    """Here, where it is to run; a cluster's hosts may have what this machine lacks."""
    body = (
        f"def initialize(self, c, t):\n    if t:\n        import not_here_either\n    %s\n{PROCESS}"
    )
    line = refused(body % "import os, not_here.at_all")
    assert line == ("words.py:13: bolt 'count' needs the package not_here, which is not installed")
    assert refused(body % "import os, not_here", runs_here=False) == ""
    assert refused(body % "pass") == "", "an import under a condition may never come"
    assert refused(f"import not_here\n{PROCESS}") == (
        "words.py:10: ModuleNotFoundError: No module named 'not_here'"
    )


def test_a_package_of_an_extra(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    spec = (
        "__import__('heronpy_compat.connectors.kafka', fromlist='x').KafkaSink.spec(inputs=[words])"
    )
    assert refused(PROCESS, spec) == (
        "bolt 'count': Kafka needs the package confluent-kafka: pip install"
        " 'heronpy-topologies[kafka]'"
    )
    assert refused(f"import confluent_kafka\n{PROCESS}").endswith(
        ": pip install 'heronpy-topologies[kafka]'"
    )


def test_an_input_file_that_is_not_there(refused: Refused, write: Write) -> None:
    components = "__import__('heron_frontends.components', fromlist='x')"
    file = f"{components}.FileSpout.spec(config={{'library.file.path': 'lines.txt'}})"
    assert refused(PROCESS, file) == "spout 'count': file not found: lines.txt"
    assert refused(PROCESS, file, runs_here=False) == ""
    write("lines.txt", "a\n")
    assert refused(PROCESS, file) == ""
    tables = "__import__('heron_connectors.tables.source', fromlist='x').TableSpout"
    table = f"{tables}.of('rows.csv', ['a']).spec()"
    assert refused(PROCESS, table).startswith("spout 'count': file not found: ")
    texts = "heronpy_compat.connectors.textfiles.textfilesgenerator"
    generator = f"__import__('{texts}', fromlist='x').TextFileGenerator('*.none')"
    assert refused(PROCESS, generator) == "words.py:14: no file matches '*.none'"
