"""The table of log levels: wrong arguments, the end of a level, and another topology master."""

from typing import Any

import pytest

from heron_core.errors import HeronError, ProtocolError
from heron_core.log_levels import CHANGED_MAX, SECS_MAX, SetLevel, levels_of
from heron_engine.topology_master.log_levels import LogLevelTable
from tests.unit.topology_master.test_samples import TOPOLOGY

EPOCH = 1_000_000.0


def change(table: LogLevelTable, now: float = 0.0, **arguments: Any) -> str:
    """One command."""
    return table.change({"level": "debug", "secs": 60, **arguments}, now)


def test_a_level_returns_by_itself_and_by_default() -> None:
    """A user looks at one bolt for a minute, and at all connections of Kafka."""
    table = LogLevelTable(TOPOLOGY, EPOCH)
    assert change(table, target="split") == "log level of split: debug for 60 s"
    logger = change(table, target="kafka.conn", level="off", secs=90)
    assert logger == "log level of the logger kafka.conn: off for 90 s"
    assert "'stream-manger' is not a component: did you mean 'stream-manager'?" in change(
        table, target="stream-manger"
    )
    change(table, target="stream-manger", level="default")
    assert change(table, level="error") == "log level of all processes: error for 60 s"
    assert table.message(10.0).levels == (
        SetLevel("split", "", 10, 50.0),
        SetLevel("", "kafka.conn", 60, 80.0),
        SetLevel("", "", 40, 50.0),
    )
    assert change(table, level="default").endswith("all processes: as in the config")
    assert table.expired(59.0) == []
    assert table.expired(60.0) == ["log level of split: as in the config, its time is over"]
    assert [level.target or level.logger for level in table.stats(60.0)] == ["kafka.conn"]
    assert table.expired(90.0)
    assert not table


def test_another_master_keeps_the_levels() -> None:
    """The clock of the next master began at another time."""
    table = LogLevelTable(TOPOLOGY, EPOCH)
    change(table, target="count")
    successor = LogLevelTable(TOPOLOGY, EPOCH + 30.0, table.to_json())
    assert successor.message(0.0).levels == (SetLevel("count", "", 10, 30.0),)
    with pytest.raises(ProtocolError):
        LogLevelTable(TOPOLOGY, EPOCH, [{"target": 7}])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"level": "loud"}, "'loud' is not a log level: debug, info"),
        ({"level": None}, "None is not a log level"),
        ({"target": "a b"}, "'a b' is not a component, a process"),
        ({"target": ["split"]}, "is not a component"),
        ({"target": "x" * 300}, "is not a component"),
        ({"secs": 0}, "a log level lasts for 1 to 604800 s"),
        ({"secs": SECS_MAX + 1}, "a log level lasts for 1 to 604800 s"),
        ({"secs": True}, "a log level lasts for 1 to 604800 s"),
        ({"level": "default"}, "the log level of all processes is that of the config already"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(HeronError) as refused:
        change(LogLevelTable(TOPOLOGY, EPOCH), **arguments)
    assert reason in str(refused.value)


def test_the_number_of_changed_levels_is_limited() -> None:
    table = LogLevelTable(TOPOLOGY, EPOCH)
    for number in range(CHANGED_MAX):
        change(table, target=f"logger_{number}")
    with pytest.raises(HeronError, match="50 log levels are changed already"):
        change(table, target="one_more")
    change(table, target="logger_7", level="info")


def test_the_level_of_a_process_comes_before_that_of_all() -> None:
    levels = (SetLevel("count", "", 10, 5.0), SetLevel("", "", 40, 5.0), SetLevel("", "x", 30, 5.0))
    assert levels_of("count", levels) == {"": levels[0], "x": levels[2]}
    assert levels_of("split", levels) == {"": levels[1], "x": levels[2]}
