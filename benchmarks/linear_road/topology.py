"""Linear Road: variable tolls for cars on expressways, exactly once (README.md has the picture).

heronpy run benchmarks/linear_road/topology.py -o road.input=… and the other keys of source.py

The environment variable ROAD_TASKS has the number of tasks of components, as JSON.
"""

import json
import os
from typing import Any

from benchmarks.linear_road.operators import (
    ALERTS,
    BALANCES,
    ENTERED,
    EXITS,
    EXPENDITURES,
    POSITIONS,
    STOPS,
    TOLLS,
    Accidents,
    Accounts,
    Cars,
    Dispatch,
    Expenditures,
    Statistics,
    Tolls,
)
from benchmarks.linear_road.source import Pace, Reports
from heron_connectors.files.sink import FileSink
from heronpy_compat import Grouping, Topology

TASKS_VARIABLE = "ROAD_TASKS"
TASKS = json.loads(os.environ.get(TASKS_VARIABLE, "{}"))
BY_PLACE, BY_VEHICLE = Grouping.fields("place"), Grouping.fields("vehicle")


class Answers(FileSink):
    """A line for each answer: type, time, second of the road at which it is written, the rest."""

    format = "text"
    types = {TOLLS: 0, ALERTS: 1, "accounts": 2, "expenditures": 3}

    def open(self, config: dict[str, Any], context: Any) -> None:
        """Know the time."""
        super().open(config, context)
        self.pace = Pace(config)

    def line_of(self, tup: Any) -> bytes:
        """Of an answer."""
        vehicle, time, *values = tup.values
        kind = self.types[tup.stream if tup.component == "tolls" else tup.component]
        now = f"{self.pace.second_now(time):.3f}"
        return ",".join(map(str, (kind, time, now, vehicle, *values))).encode()


def par(component: str) -> int:
    """How many tasks it has."""
    tasks: int = TASKS.get(component, 1)
    return tasks


class LinearRoad(Topology):
    """Eight operators between reports and answers."""

    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    reports = Reports.spec(par=par("reports"))
    dispatch = Dispatch.spec(par=par("dispatch"), inputs={reports: Grouping.fields("expressway")})
    cars = Cars.spec(par=par("cars"), inputs={dispatch[POSITIONS]: BY_VEHICLE})
    statistics = Statistics.spec(par=par("statistics"), inputs={dispatch[POSITIONS]: BY_PLACE})
    accidents = Accidents.spec(
        par=par("accidents"), inputs={cars[STOPS]: Grouping.fields("place", "lane", "feet")}
    )
    tolls = Tolls.spec(
        par=par("tolls"),
        inputs={cars[ENTERED]: BY_PLACE, statistics: BY_PLACE, accidents: BY_PLACE},
    )
    accounts = Accounts.spec(
        par=par("accounts"),
        inputs={
            tolls[TOLLS]: BY_VEHICLE,
            tolls[ALERTS]: BY_VEHICLE,
            tolls[EXITS]: BY_VEHICLE,
            dispatch[BALANCES]: BY_VEHICLE,
        },
    )
    expenditures = Expenditures.spec(
        par=par("expenditures"), inputs={dispatch[EXPENDITURES]: BY_VEHICLE}
    )
    answers = Answers.spec(
        par=par("answers"),
        inputs=[tolls[TOLLS], tolls[ALERTS], accounts, expenditures],
    )
