"""Windows of Flux and ECO files, in the forms of Storm's and Heron's own examples."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_core.topology import TopologySpec
from heron_frontends.components import WindowDuration
from heronpy_compat.testing import TopologyTester

Load = Callable[..., TopologySpec]
Refused = Callable[..., str]
Write = Callable[[str, str], str]
LENGTH = "topology.bolts.window.length."
SLIDE = "topology.bolts.window.sliding.interval."
STORMS = "org.apache.storm.topology.base.BaseWindowedBolt$"
HERONS = "org.apache.heron.api.bolt.BaseWindowedBolt$"
WINDOWED = """
from heronpy_compat import Spout
from heronpy_compat.windows import WindowedBolt


class Names(Spout):
    outputs = ["word", "time_ms"]
    left = 9

    def next_tuple(self):
        if self.left == 0:
            self.finish()
            return
        self.left -= 1
        self.emit([f"word{self.left}", 10_000 * (9 - self.left)])


class Sizes(WindowedBolt):
    outputs = ["count"]

    def execute(self, window):
        self.emit([len(window.get())])


class Own(Sizes):
    def with_window(self, text):
        self.text = text
"""
EXAMPLE = """
name: sliding
type: {api}
components:
  - id: windowLength
    className: {base}Count
    constructorArgs: [5]
  - id: slidingInterval
    className: {base}Count
    constructorArgs: [3]
spouts:
  - {{id: spout-1, className: windowed.Names}}
bolts:
  - id: bolt-1
    className: windowed.Sizes
    configMethods:
      - name: withWindow
        args: [ref: windowLength, ref: slidingInterval]
  - {{id: bolt-2, className: org.apache.storm.flux.examples.TestPrintBolt}}
streams:
  - {{from: spout-1, to: bolt-1, grouping: {{type: FIELDS, args: [word]}}}}
  - {{from: bolt-1, to: bolt-2, grouping: {{type: SHUFFLE}}}}
"""
SIMPLE_WINDOWING = """
name: sliding-window-topology
components:
  - {id: windowLength, className: "org.apache.storm.topology.base.BaseWindowedBolt$Count",
     constructorArgs: [5]}
  - {id: slidingInterval, className: "org.apache.storm.topology.base.BaseWindowedBolt$Count",
     constructorArgs: [3]}
config: {topology.workers: 1}
spouts: [{id: spout-1, className: org.apache.storm.testing.TestWordSpout}]
bolts:
  - id: bolt-1
    className: org.apache.storm.flux.examples.TestWindowBolt
    configMethods: [{name: withWindow, args: [ref: windowLength, ref: slidingInterval]}]
  - {id: bolt-2, className: org.apache.storm.flux.examples.TestPrintBolt}
streams:
  - {from: spout-1, to: bolt-1, grouping: {type: FIELDS, args: [word]}}
  - {from: bolt-1, to: bolt-2, grouping: {type: SHUFFLE}}
"""
FORMS = """
components:
  - {{id: five, className: "org.apache.storm.topology.base.BaseWindowedBolt$Count",
     factory: of, factoryArgs: [5]}}
  - {{id: minute, className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration",
     constructorArgs: [1, MINUTES]}}
  - {{id: second, className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration",
     factory: seconds, factoryArgs: [1]}}
  - {{id: half, className: java.time.Duration, factory: ofMillis, factoryArgs: [500]}}
  - {{id: zero, className: "org.apache.storm.topology.base.BaseWindowedBolt$Count",
     constructorArgs: [0]}}
  - {{id: fields, className: org.apache.storm.tuple.Fields, constructorArgs: [a]}}
  - {{id: names, className: windowed.Names}}
spouts: [{{id: s, className: windowed.Names}}]
bolts:
  - id: b
    className: windowed.{kind}
    configMethods:
{methods}
streams: [{{from: s, to: b, grouping: {{type: SHUFFLE}}}}]
"""


def forms(*methods: str, kind: str = "Sizes") -> str:
    """A file with a windowed bolt that has these configMethods."""
    lines = "\n".join(f"      - {each}" for each in methods)
    return FORMS.format(methods=lines, kind=kind)


@pytest.fixture(autouse=True)
def windowed(write: Write) -> None:
    write("windowed.py", WINDOWED)


@pytest.mark.parametrize(("api", "base"), [("storm", STORMS), ("heron", HERONS)])
def test_the_example_of_flux_and_of_eco_with_a_class_of_python_runs_as_it_stands(
    api: str, base: str, write: Write, tmp_path: Path
) -> None:
    write("sliding.yaml", EXAMPLE.format(api=api, base=base))
    with TopologyTester(str(tmp_path / "sliding.yaml")) as tester:
        tester.run_spouts()
        tester.finish()
        assert tester.values("bolt-1") == [[3], [5], [5]]


def test_the_example_of_flux_with_its_own_java_classes_runs_as_it_stands(
    write: Write, tmp_path: Path
) -> None:
    write("simple_windowing.yaml", SIMPLE_WINDOWING)
    with TopologyTester(str(tmp_path / "simple_windowing.yaml")) as tester:
        for number in range(9):
            tester.feed("spout-1", ["nathan"], tup_id=number)
        tester.run()
        assert tester.values("bolt-1") == [[3], [5], [5]]
        assert len(tester.received("bolt-2")) == 3


@pytest.mark.parametrize(
    ("methods", "config"),
    [
        (["{name: withWindow, args: [ref: minute]}"], {LENGTH + "duration.ms": 60_000}),
        (["{name: with_window, args: [ref: five]}"], {LENGTH + "count": 5}),
        (
            ["{name: withWindow, args: [ref: minute, ref: five]}"],
            {LENGTH + "duration.ms": 60_000, SLIDE + "count": 5},
        ),
        (
            ["{name: withTumblingWindow, args: [ref: half]}"],
            {LENGTH + "duration.ms": 500, SLIDE + "duration.ms": 500},
        ),
        (
            [
                "{name: withTumblingWindow, args: [ref: five]}",
                "{name: withTimestampField, args: [time_ms]}",
                "{name: withLag, args: [ref: second]}",
                "{name: withWatermarkInterval, args: [ref: half]}",
            ],
            {
                LENGTH + "count": 5,
                SLIDE + "count": 5,
                "topology.bolts.tuple.timestamp.field.name": "time_ms",
                "topology.bolts.tuple.timestamp.max.lag.ms": 1000,
                "topology.bolts.watermark.event.interval.ms": 500,
            },
        ),
    ],
)
def test_each_method_of_a_window_is_its_key_of_the_configuration(
    methods: list[str], config: dict[str, Any], load: Load
) -> None:
    assert load(forms(*methods)).by_name["b"].config == config


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            "{name: withWindow, args: [5]}",
            "'b': withWindow takes a BaseWindowedBolt$Count or a duration, or two of them (an",
        ),
        ("{name: withWindow, args: [5]}", "(an entry of components), not 5"),
        ("{name: withWindow, args: [ref: fields]}", "(an entry of components), not ('a',)"),
        ("{name: withWindow, args: [ref: names]}", "(an entry of components), not a reference"),
        ("{name: withWindow, args: [ref: none]}", "'none'"),
        ("{name: withWindow, args: [ref: zero]}", "a whole number from 1 on is needed, not 0"),
        ("{name: withWindow}", "or two of them (an entry of components), not nothing"),
        ("{name: withLag, args: [ref: five]}", "withLag takes a duration (an entry of"),
        ("{name: withTimestampField, args: [7]}", "withTimestampField takes a text"),
        (
            "{name: withTimestampExtractor, args: [ref: five]}",
            "is Java's: give windowed.Sizes a method timestamp(self, tup)",
        ),
        ("{name: withWindows, args: [ref: five]}", "has no configMethod 'withWindows'"),
    ],
)
def test_what_a_method_of_a_window_does_not_take_is_told_with_its_line(
    method: str, said: str, refused: Refused
) -> None:
    line = refused(forms(method))
    assert line.startswith("t.yaml:")
    assert said in line


@pytest.mark.parametrize(
    ("made", "milliseconds"),
    [
        (lambda: WindowDuration(1500, "MICROSECONDS"), 1),
        (lambda: WindowDuration.of(7), 7),
        (lambda: WindowDuration.minutes(2), 120_000),
        (lambda: WindowDuration.hours(10), 36_000_000),
        (lambda: WindowDuration.days(1), 86_400_000),
    ],
)
def test_durations_are_those_of_java(made: Callable[[], WindowDuration], milliseconds: int) -> None:
    assert made().value == milliseconds


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(1, "FORTNIGHTS", "the unit is one of NANOSECONDS"), (-1, "SECONDS", "from 0 on"),
     (True, "SECONDS", "not True"), (0.5, "HOURS", "not 0.5")],
)  # fmt: skip
def test_a_duration_that_java_refuses_is_refused(value: Any, unit: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WindowDuration(value, unit)


def test_a_method_of_that_name_that_a_class_has_itself_is_called(load: Load) -> None:
    topology = load(
        forms(
            "{name: withTumblingWindow, args: [ref: five]}",
            "{name: withWindow, args: [mine]}",
            kind="Own",
        )
    )
    recipe = topology.by_name["b"].config["heronpy.flux.recipe"]
    assert recipe["object"]["methods"] == [["withWindow", [{"value": "mine"}]]]
