"""The use cases in examples/use_cases give the results of plain programs of equal events."""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from heronpy_compat.testing import TopologyTester

USE_CASES = Path(__file__).parents[3] / "examples" / "use_cases"
Load = Callable[[str], Any]


@pytest.fixture
def load(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import a use case as a module, for a single test."""
    monkeypatch.syspath_prepend(str(USE_CASES))
    return import_module


def crashed(example: Any, victims: list[str], **config: Any) -> TopologyTester:
    """A tester of the example after a whole run with crashes."""
    rng = random.Random(7)
    options = {f"use_case.{name}": value for name, value in config.items()}
    tester = TopologyTester(str(Path(example.__file__)), config=options)
    tester.__enter__()
    for _ in range(6):
        tester.run_spouts(rng.randint(30, 90))
        if rng.random() < 0.6:
            tester.checkpoint()
        else:
            tester.crash(rng.choice(victims))
    tester.run_spouts()
    tester.finish()
    return tester


def test_hot_machines_that_become_loud_get_a_ticket(load: Load) -> None:
    example, number = load("predictive_maintenance"), 1500
    tester = crashed(example, ["tickets"], events=number)
    found = sorted(map(repr, tester.values("tickets")))
    tester.__exit__(None, None, None)
    by_machine = defaultdict(list)
    for at in range(number):
        event = example.reading(at)
        by_machine[event[0]].append(event)
    expected: list[Any] = []
    for machine, events in by_machine.items():
        events.sort(key=lambda event: event[3])
        for at, hot in enumerate(events):
            if not example.is_hot(hot):
                continue
            for event in events[at + 1 :]:
                if event[3] - hot[3] > 1000 * example.WITHIN_SECS or example.is_service(event):
                    break
                if example.is_loud(event):
                    expected.append([machine, [hot, event]])
                    break
    assert len(expected) > 10
    assert found == sorted(map(repr, expected))


def test_travel_times_and_speeding_of_all_streets(load: Load) -> None:
    example, legs = load("traffic"), 6
    assert example.LIGHTS == 3000
    tester = crashed(example, ["drives", "times"], events=legs * example.CARS)
    times, tickets = tester.values("times"), tester.values("tickets")
    tester.__exit__(None, None, None)
    streets, fast = defaultdict(list), []
    for car in range(example.CARS):
        at_secs = 0
        for leg in range(1, legs):
            secs = example.secs_of(car, leg)
            at_secs += secs
            street = f"{example.light_of(car, leg - 1)}-{example.light_of(car, leg)}"
            streets[street, at_secs // 60].append(secs)
            kmh = 200 / secs * 3.6
            if kmh > 60:
                fast.append([f"car{car}", street, round(kmh)])
    assert sorted(tickets) == sorted(fast)
    shown = {(row[0], (row[1] - example.START_MS) // 60_000): row[3] for row in times}
    assert shown == {window: fmean(secs) for window, secs in streets.items()}
    assert len(times) == len(streets)


def test_prices_that_move_raise_one_alert(load: Load) -> None:
    example, number = load("finance_alerts"), 2400
    tester = crashed(example, ["moves", "alerts"], events=number)
    alerts = sorted(tester.values("alerts"))
    tester.__exit__(None, None, None)
    windows = defaultdict(list)
    for at in range(number):
        symbol, price, time_ms = example.price(at)
        for window in example.WINDOW.windows(time_ms):
            windows[symbol, window.end_ms].append(price)
    expected: list[Any] = []
    raised = dict.fromkeys(example.SYMBOLS, False)
    for (symbol, end_ms), prices in sorted(windows.items()):
        move = max(prices) / min(prices) - 1
        if move > 0.05 and not raised[symbol]:
            expected.append([symbol, end_ms, move])
        raised[symbol] = move > 0.05
    assert len(expected) > 2
    assert alerts == expected


def test_values_far_from_the_mean_before_them_are_anomalies(load: Load) -> None:
    example, number = load("anomaly_detection"), 2000
    options = {"use_case.events": number, "use_case.sink.secs": 0}
    with TopologyTester(str(USE_CASES / "anomaly_detection.py"), config=options) as tester:
        tester.run_spouts()
        reported = {row[0] for row in tester.values("reported")}
        assert len(tester.values("parsed")) == number
    known: dict[str, list[float]] = defaultdict(list)
    expected: set[int] = set()
    for at in range(number):
        sensor, _, text = example.line(at)[0].split(";")
        value, before = float(text), known[sensor]
        if len(before) >= example.KNOWN_MIN:
            mean = fmean(before)
            deviation = sqrt(fmean((each - mean) ** 2 for each in before))
            if abs(value - mean) / deviation > example.DEVIATIONS:
                expected.add(at)
        before.append(value)
    assert len(expected) > 5
    assert reported == expected


def test_accuracy_rises_falls_with_the_drift_and_recovers(load: Load) -> None:
    """Predict-then-learn in a plain loop has an equal accuracy to the last bit, whatever crashes.
    Each event is predicted, and later models are better."""
    pytest.importorskip("river")
    example, number = load("online_learning"), 2000
    tester = crashed(example, ["learn", "predict"], events=number)
    blocks, predictions = tester.values("learn", "default"), tester.values("predict")
    tester.__exit__(None, None, None)
    model, right = example.new_model(), 0
    expected: list[Any] = []
    for at in range(number):
        _, features, truth = example.event(at, number)
        right += model.predict_one(features) == truth
        model.learn_one(features, truth)
        if (at + 1) % example.BLOCK == 0:
            expected.append([len(expected) + 1, right / example.BLOCK])
            right = 0
    assert blocks == expected
    accuracy = [row[1] for row in blocks]
    drift = len(accuracy) // 2
    assert accuracy[0] < accuracy[drift - 1]
    assert accuracy[drift] < accuracy[drift - 1] - 0.1
    assert accuracy[-1] > accuracy[drift] + 0.1
    assert accuracy[-1] > 0.9
    # The tester shows all emits, repeated emits after a crash included.
    assert {row[0] for row in predictions} == set(range(number))
    last = [row[2] for row in predictions if row[0] >= number - 500]
    assert fmean(last) > 0.9
    assert max(row[1] for row in predictions) >= number - example.SEND_EACH


def rows_of(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return sorted(connection.execute("select firm, minute, mean_ms from latencies"))


def means_of(example: Any, number: int) -> list[tuple[Any, ...]]:
    """Of each firm and minute, for calls answered within a second."""
    latencies = defaultdict(list)
    for at in range(number):
        firm, _, time_ms, latency_ms = example.call(at)
        if latency_ms <= 1000:
            latencies[firm, (time_ms - example.START_MS) // 60_000].append(latency_ms)
    return sorted((*window, fmean(found)) for window, found in latencies.items())


def test_the_table_has_the_mean_latency_of_each_firm_and_minute(load: Load, tmp_path: Path) -> None:
    example, number = load("latencies"), 1300
    database = tmp_path / "latencies.db"
    tester = crashed(example, ["latency", "means"], events=number, database=str(database))
    tester.checkpoint()
    tester.__exit__(None, None, None)
    assert len(rows_of(database)) == 9
    assert rows_of(database) == means_of(example, number)
