"""Python equivalents of well-known Java components, by their Java names.

Sources: Storm's storm-client (org.apache.storm.testing), flux-wrappers, storm-starter, storm-perf,
and the examples of Heron's ECO. The packages of Storm before 1.0 (backtype.storm, storm.starter)
and of Heron before Apache (com.twitter.heron) name the same classes. Other classes run in a JVM
(heron_frontends.jvm) if the topology has a class path, and are refused otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heron_connectors.files.spout import PATH
from heron_core.config.names import JAVA_CLASS_PATH, SHELL_COMMAND
from heron_core.errors import TopologyError
from heron_core.topology import DEFAULT_STREAM, StreamSpec
from heron_frontends.components.settings import WORDS

SHELL_BOLT = "heron_frontends.adapters.multilang.ShellBolt"
SHELL_SPOUT = "heron_frontends.adapters.multilang.ShellSpout"
NO_OUTPUTS = "NONE_BUT_FLUX_WANTS_SOMETHING_HERE"
"""What sparse writes as the only output field of a component without any."""
PARTIAL_KEY_GROUPING = "org.apache.storm.grouping.PartialKeyGrouping"
_VALUES = {
    "org.apache.storm.tuple.Fields": "Fields",
    "java.time.Duration": "Duration",
    "org.apache.storm.topology.base.BaseWindowedBolt$Count": "WindowCount",
    "org.apache.storm.topology.base.BaseWindowedBolt$Duration": "WindowDuration",
    "org.apache.heron.api.bolt.BaseWindowedBolt$Count": "WindowCount",
}
"""Java class of plain values -> equivalent Python class"""
_GROUPINGS = {"org.apache.storm.testing.NGrouping": "NGrouping"}

Settings = Callable[[Sequence[Any]], dict[str, Any]]
"""From a constructor's arguments to a component's config; ValueError names the accepted arguments
if others are given.
"""

LIBRARY = "heron_frontends.components."
_STORM = "org.apache.storm."
_HERON = "org.apache.heron."
_ECO = f"{_HERON}examples.eco."
_OLD_PACKAGES = {
    "com.twitter.heron.": _HERON,
    "backtype.storm.": _STORM,
    "storm.starter.": f"{_STORM}starter.",
    "storm.": _STORM,
}
"""Beginning of a name -> that of today's."""
_JAVA_PACKAGES = ("org.", "com.", "net.", "io.", "java.", "javax.", "backtype.", "storm.")
_SENTENCES = (
    "the cow jumped over the moon",
    "an apple a day keeps the doctor away",
    "four score and seven years ago",
    "snow white and the seven dwarfs",
    "i am at two with nature",
)


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A class of heronpy_compat.components, with the settings for the Java class's behaviour."""

    class_name: str
    is_spout: bool = False
    fields: tuple[str, ...] | None = None
    """Of the default stream, where they are not the Python class's own."""
    settings: Settings | None = None
    """None if the constructor takes no arguments."""


def _path(args: Sequence[Any]) -> dict[str, Any]:
    if len(args) != 1 or not isinstance(args[0], str):
        raise ValueError("one argument, the path of the file")
    return {PATH: args[0]}


def _is_distributed(args: Sequence[Any]) -> dict[str, Any]:
    """TestWordSpout(false) forbids Storm to run more than one task."""
    if len(args) > 1 or not all(isinstance(each, bool) for each in args):
        raise ValueError("true, false or nothing")
    return {} if all(args) else {"topology.max.task.parallelism": 1}


def _sentences(args: Sequence[Any]) -> dict[str, Any]:
    if args:
        raise ValueError("no arguments")
    return {WORDS: list(_SENTENCES)}


_PAGE = "docs/PORTING.md, Java components"
_IN_JVM = (
    f"in a JVM, name its jars and Storm's in {JAVA_CLASS_PATH} (docs/PORTING.md, Java classes in a"
    " JVM)"
)
_KAFKA_SINK = "heronpy_compat.connectors.kafka.KafkaSink (docs/CONNECTORS.md, Kafka)"
_KAFKA_SPOUT = "heronpy_compat.connectors.kafka.KafkaSpout (docs/CONNECTORS.md, Kafka)"
_WINDOWED = "WindowedBolt (docs/WINDOWS.md, Storm's WindowedBolt)"
_OURS: Mapping[str, str] = {
    "kafka.bolt.": _KAFKA_SINK,
    "kafka.": _KAFKA_SPOUT,
    "hdfs.spout.": "heronpy_compat.components.FileSpout (docs/CONNECTORS.md, Lines in and out)",
    "hdfs.": "heronpy_compat.connectors.files.FileSink (docs/CONNECTORS.md, Lines in and out)",
    "jdbc.": "heronpy_compat.connectors.database.DatabaseSink (docs/CONNECTORS.md, Databases)",
    "hive.": "heronpy_compat.connectors.delta.DeltaSink (docs/CONNECTORS.md, Delta)",
    "bolt.JoinBolt": "window_join and interval_join of streamlets (docs/WINDOWS.md, Streamlets)",
    "topology.base.BaseWindowedBolt": _WINDOWED,
    "streams.": "streamlets (docs/GUIDE.md, Streamlets)",
    "trident.": "a program of heronpy_compat.trident (docs/TRIDENT.md)",
    f"{_ECO}LogInfoBolt": f"heronpy_compat.components.Log ({_PAGE})",
    f"{_ECO}TestPrintBolt": f"heronpy_compat.components.Print ({_PAGE})",
    f"{_ECO}TestIBasicPrintBolt": f"heronpy_compat.components.Print ({_PAGE})",
    f"{_ECO}TestNameSpout": f"heronpy_compat.components.RandomWords ({_PAGE})",
    f"{_ECO}WordSpout": f"heronpy_compat.components.RandomWords ({_PAGE})",
    f"{_ECO}TestNameCounter": f"heronpy_compat.components.CountWords ({_PAGE})",
    f"{_ECO}TestWindowBolt": f"heronpy_compat.components.WindowSizes ({_PAGE})",
    f"{_ECO}Stateful": "a Python class with state (docs/STATE.md, Keyed state)",
    f"{_HERON}api.bolt.BaseStatefulWindowedBolt": _WINDOWED,
    f"{_HERON}api.bolt.BaseWindowedBolt": _WINDOWED,
    f"{_HERON}bolts.kafka.": _KAFKA_SINK,
    f"{_HERON}spouts.kafka.": _KAFKA_SPOUT,
    f"{_HERON}streamlet.": "streamlets (docs/GUIDE.md, Streamlets)",
}
"""Prefix of a Java class, without org.apache.storm -> replacement here, with a class and a
configuration of its own; the first match counts.
"""
_EQUIVALENTS: Mapping[str, Equivalent] = {
    "testing.TestWordSpout": Equivalent("RandomWords", True, settings=_is_distributed),
    "testing.TestWordCounter": Equivalent("CountWords"),
    "testing.TestGlobalCount": Equivalent("CountTuples"),
    "testing.TestAggregatesCounter": Equivalent("TotalOfCounts"),
    "flux.wrappers.bolts.LogInfoBolt": Equivalent("Log"),
    "flux.examples.TestWindowBolt": Equivalent("WindowSizes"),
    "flux.examples.TestPrintBolt": Equivalent("Print"),
    "starter.bolt.PrinterBolt": Equivalent("Print"),
    "starter.bolt.WordCountBolt": Equivalent("CountWords"),
    "starter.WordCountTopology$WordCount": Equivalent("CountWords"),
    "starter.WordCountTopology$SplitSentence": Equivalent("SplitWords"),
    "starter.spout.RandomSentenceSpout": Equivalent("RandomWords", True, settings=_sentences),
    "starter.spout.RandomIntegerSpout": Equivalent("RandomIntegers", True),
    "perf.spout.FileReadSpout": Equivalent("FileSpout", True, ("sentence",), _path),
    "perf.bolt.SplitSentenceBolt": Equivalent("SplitWords"),
    "perf.bolt.CountBolt": Equivalent("CountWords"),
    "perf.bolt.DevNullBolt": Equivalent("Discard"),
}
"""Java class below org.apache.storm -> equivalent class"""

_SHELLS = {
    "flux.wrappers.bolts.FluxShellBolt": False,
    "flux.wrappers.spouts.FluxShellSpout": True,
    "task.ShellBolt": False,
    "spout.ShellSpout": True,
}
"""Java class below org.apache.storm -> whether it is a spout"""


def ours() -> tuple[str, ...]:
    """Replacements of Java classes that cannot run here: each with its page and heading."""
    return tuple(_OURS.values())


def known_classes() -> tuple[str, ...]:
    """The Java classes, below org.apache.storm, that something here stands for."""
    return (*_EQUIVALENTS, *_SHELLS)


def canonical_name(name: str) -> str:
    """A Java class's name as it is since Storm 1.0, and since Heron is Apache's."""
    for old, new in _OLD_PACKAGES.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def resembles_java(name: str) -> bool:
    """Whether a class's name is rather Java's than a Python path that is wrong."""
    return "$" in name or name.startswith(_JAVA_PACKAGES)


def is_known(name: str) -> bool:
    """Whether `resolve` has an answer for this class."""
    short = canonical_name(name).removeprefix(_STORM)
    return short in _EQUIVALENTS or short in _SHELLS


def is_shell(name: str) -> bool:
    """Whether `name` is one of Storm's classes for a program over pipes."""
    return canonical_name(name).removeprefix(_STORM) in _SHELLS


def value_class(name: str) -> str | None:
    """Python class for a Java class of plain values, or None."""
    found = _VALUES.get(canonical_name(name))
    return found and LIBRARY + found


def grouping_class(name: str) -> str:
    """Python class for a custom grouping of Storm's; other names are returned unchanged."""
    found = _GROUPINGS.get(canonical_name(name))
    return LIBRARY + found if found else name


_drawing: list[bool] = []


@contextmanager
def for_drawing() -> Iterator[None]:
    """Accept classes that cannot run here while open: a picture needs only the name."""
    _drawing.append(True)
    try:
        yield
    finally:
        _drawing.pop()


def is_only_drawn(name: str) -> bool:
    """Whether this class cannot run here, and does not need to."""
    return is_drawing() and resembles_java(name) and not is_known(name)


def is_drawing() -> bool:
    """Whether only a picture is wanted."""
    return bool(_drawing)


def resolve(
    full_class_name: str, args: Sequence[Any], is_spout: bool, component: str
) -> tuple[str, dict[str, Any], list[StreamSpec] | None]:
    """Class path, component config and outputs of what stands for a Java component.

    The outputs are None if the Python class declares its outputs, or if a shell component lacks
    output fields. TopologyError names `component` for a class without an equivalent, for arguments
    that do not fit, and for a bolt in place of a spout.
    """
    short = canonical_name(full_class_name).removeprefix(_STORM)
    if short in _SHELLS:
        _check_kind(full_class_name, _SHELLS[short], is_spout, component)
        return _shell(short, args, is_spout, component)
    equivalent = _EQUIVALENTS.get(short)
    if equivalent is None and is_only_drawn(full_class_name):
        return full_class_name, {}, None
    if equivalent is None:
        raise TopologyError(f"component {component!r}: {unknown(full_class_name)}")
    _check_kind(full_class_name, equivalent.is_spout, is_spout, component)
    config = _settings(equivalent, full_class_name, args, component)
    outputs = None if equivalent.fields is None else [StreamSpec(DEFAULT_STREAM, equivalent.fields)]
    return LIBRARY + equivalent.class_name, config, outputs


def unknown(full_class_name: str) -> str:
    """Advice for a Java class without an equivalent."""
    simple = full_class_name.rpartition(".")[2]
    same = [known for known in (*_EQUIVALENTS, *_SHELLS) if known.rpartition(".")[2] == simple]
    hint = f" (did you mean {_STORM}{same[0]}?)" if same else ""
    short = canonical_name(full_class_name).removeprefix(_STORM)
    ours = next((text for start, text in _OURS.items() if short.startswith(start)), None)
    if ours is not None:
        return (
            f"Java class {full_class_name} cannot run here: use {ours} instead; to run the Java "
            f"class {_IN_JVM}"
        )
    return (
        f"Java class {full_class_name} has no equivalent here{hint}: to run the class {_IN_JVM}; "
        "or write a Python class and name its dotted path, or run a shell component"
    )


def _settings(
    equivalent: Equivalent, name: str, args: Sequence[Any], component: str
) -> dict[str, Any]:
    try:
        if equivalent.settings is not None:
            return equivalent.settings(args)
        if args:
            raise ValueError("no arguments")
    except ValueError as error:
        raise TopologyError(
            f"component {component!r}: {name} takes {error}, not {list(args)!r}"
        ) from None
    return {}


def _check_kind(name: str, is_spout: bool, wanted: bool, component: str) -> None:
    if is_spout != wanted:
        kinds = ("spout", "bolt") if is_spout else ("bolt", "spout")
        raise TopologyError(f"component {component!r}: {name} is a {kinds[0]}, not a {kinds[1]}")


def _shell(
    short: str, args: Sequence[Any], is_spout: bool, component: str
) -> tuple[str, dict[str, Any], list[StreamSpec] | None]:
    """FluxShellBolt takes [command, fields] or [command]; ShellBolt the command's words."""
    class_path = SHELL_SPOUT if is_spout else SHELL_BOLT
    lists = [list(arg) for arg in args if isinstance(arg, (list, tuple))]
    if short.startswith("flux.") or lists:
        good = len(lists) == len(args) and 1 <= len(lists) <= 2
        command, fields = (lists[0], lists[1] if len(lists) > 1 else None) if good else ([], None)
    else:
        command, fields = list(args), None
    if not command or not all(isinstance(word, str) for word in (*command, *(fields or ()))):
        raise TopologyError(
            f"component {component!r}: {_STORM}{short} takes the command and the output fields, as"
            ' in [["python3", "split.py"], ["word"]]'
        )
    config = {SHELL_COMMAND: command}
    if fields is None:
        return class_path, config, None
    named = () if fields == [NO_OUTPUTS] else tuple(fields)
    return class_path, config, [StreamSpec(DEFAULT_STREAM, named)] if named else []
