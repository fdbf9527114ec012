"""Log levels of a running topology: processes that start meanwhile have them, and lose them."""

import json
import os
import signal
from pathlib import Path

from tests.process.process_support import Place, until

EXAMPLE = Path(__file__).parents[2] / "examples" / "endless_words.py"

NAME = "EndlessWords"
APPLIED, RESTORED = "log level of all loggers: debug", "log level of all loggers: as before"


def test_a_changed_log_level_survives_a_kill_and_returns(place: Place) -> None:
    """A user looks for the fault of a bolt that dies, with debug lines of this bolt alone."""
    place.heronpy("submit", EXAMPLE).succeeded()
    changed = place.heronpy("log_level", NAME, "count", "debug", "--for", "1h").succeeded()
    assert changed.out.strip() == "log level of count: debug for 3600 s"
    until(lambda: APPLIED in place.log(NAME, "count-2"), "an instance of the bolt has the level")

    stats = json.loads(place.heronpy("stats", NAME, "-c", "count", "--json").succeeded().out)
    os.kill(stats["instances"][0]["pid"], signal.SIGKILL)
    until(
        lambda: place.log(NAME, "count-2").count(APPLIED) == 2,
        "the process after it has the level, too",
    )
    assert "log level of count: debug for " in place.heronpy("stats", NAME).succeeded().out

    place.heronpy("log-level", NAME, "count", "info", "--for", "1s").succeeded()
    until(lambda: RESTORED in place.log(NAME, "count-2"), "the level returns by itself")
    assert APPLIED not in place.log(NAME, "words-1")
    events = place.heronpy("events", NAME).succeeded().out
    assert "action: log level of count: debug for 3600 s: asked by " in events
    assert "log level of count: as in the config, its time is over" in events
    wrong = place.heronpy("log_level", NAME, "loud")
    assert (wrong.code, wrong.errors) == (
        2,
        ["heronpy: 'loud' is not a log level: debug, info, warning, error, critical, off, default"],
    )
    place.heronpy("kill", NAME).succeeded()
