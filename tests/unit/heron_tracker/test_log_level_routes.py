"""Log levels by REST: Storm's logconfig, and the route of heronpy."""

from typing import Any

from heron_core.log_levels import SECS_MAX
from heron_core.records import replace
from heron_core.stats import LogLevelStats
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import stats


def test_log_levels_in_storms_form() -> None:
    """The dialog of Storm's page sets a level with its time-out, and shows the levels again."""
    commands = []

    def master(name: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        commands.append((command, arguments))
        if command == "log_level":
            return {"changed": "log level of count: debug for 30 s"}
        level = LogLevelStats(target="count", logger="", level="debug", secs_left=30.0)
        return replace(stats(), log_levels=(level,)).to_json()

    asked = Asked()
    asked.use(replace(asked.service, ask_master=master))
    wanted = {"count": {"target_level": "TRACE", "timeout": 30}, "ROOT": {"target_level": ""}}
    path = "/api/v1/topology/words/logconfig"
    answer = asked.post(path, {"namedLoggerLevels": wanted})
    assert answer.status == 200
    entry = {"target_level": "DEBUG", "reset_level": "INFO", "timeout": 30}
    (named,) = answer.json["namedLoggerLevels"].values()
    assert {key: named[key] for key in entry} == entry
    sent = [(x["target"], x["level"], x["secs"]) for name, x in commands if name == "log_level"]
    assert sent == [("count", "debug", 30), ("", "default", SECS_MAX)]
    for body, reason in (
        (None, "namedLoggerLevels"),
        ({"namedLoggerLevels": {"ROOT": {"target_level": "LOUD"}}}, "is not a log level of Storm"),
        ({"namedLoggerLevels": {"ROOT": {"target_level": "INFO", "timeout": -1}}}, "a timeout has"),
    ):
        refused = asked.post(path, body)
        assert (refused.status, reason in refused.text) == (400, True)
    own = asked.post("/api/topologies/words/log-level", {"target": "count", "level": "debug"})
    assert own.result["changed"] == "log level of count: debug for 30 s"
    assert commands[-1][1]["requester"]["way"] == "REST"
    assert asked.post("/api/topologies/words/log-level", {"target": "count"}).status == 400
    asked.close()
