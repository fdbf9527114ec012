"""The source of Linear Road: lines of the input when due, resumed from the checkpointed
position."""

import os
import time
from itertools import takewhile
from typing import Any

from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import Spout

SECOND_MS = 1000
INPUT_KEY, EXPRESSWAYS_KEY, SECONDS_KEY = "road.input", "road.expressways", "road.seconds"
"""Config keys: the folder with a file of lines for each expressway; how many; for how long."""
SPEED_UP_KEY, BEGIN_KEY = "road.speed.up", "road.begin"
"""Config keys: seconds of the road per second of the clock (0: full speed), and the time of the
first line, in seconds since 1970."""


def expressway_file(folder: str, expressway: int) -> str:
    """Where the lines of an expressway are."""
    return os.path.join(folder, f"expressway-{expressway}.csv")


class Pace:
    """When a second of the road is due."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._begin = float(config.get(BEGIN_KEY, 0))
        self.speed_up = float(config.get(SPEED_UP_KEY, 0))

    def is_due(self, second: int) -> bool:
        """Whether its reports may be sent."""
        return not self.speed_up or time.time() >= self._begin + second / self.speed_up

    def second_now(self, second: int) -> float:
        """Present second of the road, while input of `second` is answered."""
        return (time.time() - self._begin) * self.speed_up if self.speed_up else float(second)


class Reports(Spout, StatefulComponent):
    """A tuple has all lines of one second of an expressway. Instances share the expressways."""

    outputs = ["expressway", "lines"]

    def init_state(self, stateful_state: Any) -> None:
        """Its position."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Go on where it was left."""
        tasks = context.get_component_tasks(context.get_component_id())
        mine = range(tasks.index(context.get_task_id()), int(config[EXPRESSWAYS_KEY]), len(tasks))
        self.pace, self.seconds = Pace(config), int(config[SECONDS_KEY])
        position: tuple[int, list[int]] = self.state.get("position") or (0, [0] * len(mine))
        self.second, places = position
        self.roads = {
            each: Lines(expressway_file(config[INPUT_KEY], each), place)
            for each, place in zip(mine, places, strict=True)
        }

    def pre_save(self, checkpoint_id: Any) -> None:
        """The next second, and where its lines begin."""
        self.state.put("position", (self.second, [each.place for each in self.roads.values()]))

    def next_tuple(self) -> None:
        """Emit one second of all expressways, if due; the next second follows separately."""
        if self.second == self.seconds:
            self.finish()
        elif self.pace.is_due(self.second):
            for expressway, lines in self.roads.items():
                if text := lines.of(self.second):
                    self.emit([expressway, text])
            self.second += 1
            self.emit_watermark(self.second * SECOND_MS)


class Lines:
    """The lines of one expressway, second by second."""

    def __init__(self, path: str, place: int) -> None:
        self._path = path
        self.place = place
        """The byte where the next second begins."""

    def of(self, second: int) -> str:
        """All lines of a second, without the last line end; "" without a line."""
        with open(self._path, "rb") as file:
            file.seek(self.place)
            found = list(takewhile(lambda line: int(line.split(b",", 2)[1]) == second, file))
        text = b"".join(found)
        self.place += len(text)
        return text.decode().removesuffix("\n")
