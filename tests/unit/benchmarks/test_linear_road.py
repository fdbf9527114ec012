"""Linear Road: cases small enough to be computed by hand, and what holds of any generated input."""

from collections import defaultdict

from benchmarks.linear_road.generator import Settings, history, records
from benchmarks.linear_road.oracle import truth
from benchmarks.linear_road.records import (
    EXIT_LANE,
    REPORT_SECS,
    SEGMENT_FEET,
    SEGMENTS,
    Alert,
    BalanceQuery,
    ExpenditureQuery,
    Position,
    Record,
    Toll,
)


def crowd(cars: int, minute: int, segment: int = 7, speed: int = 20) -> list[Record]:
    """So many cars that report once from one segment in a minute."""
    time, feet = (minute - 1) * 60 + 5, segment * SEGMENT_FEET
    return [Position(time, 100 + each, speed, 0, 1, 0, segment, feet) for each in range(cars)]


def drives(vehicle: int, *stations: tuple[int, int, int]) -> list[Record]:
    """A car's reports: (time, segment, lane)."""
    return [
        Position(time, vehicle, 50, 0, lane, 0, segment, segment * SEGMENT_FEET + time)
        for time, segment, lane in stations
    ]


def test_a_congested_segment_costs_twice_the_square_of_what_is_over_fifty_cars() -> None:
    given = [*crowd(53, minute=1), *drives(1, (70, 7, 1))]
    assert Toll(1, 70, 20, 18) in truth(given, {}).tolls
    free = [*crowd(50, minute=1), *drives(1, (70, 7, 1))]
    assert Toll(1, 70, 20, 0) in truth(free, {}).tolls
    fast = [*crowd(53, minute=1, speed=40), *drives(1, (70, 7, 1))]
    assert Toll(1, 70, 40, 0) in truth(fast, {}).tolls


def test_the_average_is_that_of_five_minutes_and_the_count_of_the_last_one() -> None:
    given = [
        *crowd(60, minute=1, speed=10), *crowd(60, minute=2, speed=20), *drives(1, (130, 7, 1))
    ]  # fmt: skip
    assert Toll(1, 130, 15, 200) in truth(given, {}).tolls
    # In minute 7 the first one counts no more, car 1 alone is the mean of minute 3, and nobody was
    # there in minute 6.
    late = [*given, *drives(2, (370, 7, 1))]
    assert Toll(2, 370, 35, 0) in truth(late, {}).tolls


def test_a_toll_is_charged_when_the_car_reports_from_the_next_segment() -> None:
    asked: list[Record] = [BalanceQuery(time, 1, time) for time in (80, 100, 170)]
    given = [*crowd(53, minute=1), *drives(1, (70, 7, 1), (100, 8, 1)), *asked]
    balances = truth(given, {}).balances
    assert balances == {80: {0}, 100: {0, 18}, 170: {18}}
    # Who leaves by the ramp pays nothing for the segment before.
    left = [*crowd(53, minute=1), *drives(1, (70, 7, 1), (100, 8, EXIT_LANE)), *asked]
    assert truth(left, {}).balances[170] == {0}


def crash(segment: int, times: range, lane: int = 2) -> list[Record]:
    """Two cars that stand at one position."""
    feet = segment * SEGMENT_FEET + 9
    return [
        Position(time, vehicle, 0, 0, lane, 0, segment, feet)
        for vehicle in (8, 9)
        for time in times
    ]


def test_an_accident_is_told_to_cars_up_to_four_segments_before_it_and_costs_nothing() -> None:
    accident = crash(10, range(0, 120, 30))  # stopped from second 90 on, in minute 2
    given = [
        *crowd(53, minute=2), *accident,
        *drives(1, (125, 7, 1)), *drives(2, (125, 5, 1)), *drives(3, (125, 10, EXIT_LANE)),
    ]  # fmt: skip
    found = truth(given, {})
    assert found.alerts == {Alert(1, 125, 10)}
    assert not any(each.vehicle == 1 for each in found.tolls)
    assert any(each.vehicle == 2 for each in found.tolls)


def test_an_accident_is_over_in_the_minute_after_one_of_its_cars_has_moved() -> None:
    accident = [*crash(10, range(0, 150, 30)), *drives(8, (150, 11, 1))]
    during, after = (truth([*accident, *drives(1, (time, 9, 1))], {}).alerts for time in (185, 245))
    assert during == {Alert(1, 185, 10)}  # until second 120, in minute 3
    assert after == frozenset()
    three = crash(10, range(0, 90, 30))  # three reports make no stopped car
    assert truth([*three, *drives(1, (125, 9, 1))], {}).alerts == frozenset()


def test_a_daily_expenditure_is_that_of_the_history() -> None:
    asked = ExpenditureQuery(10, 1, 0, 77, 5)
    assert truth([asked], {(1, 5, 0): 42}).expenditures == {77: 42}
    assert len(history(Settings(), 3)) == 3 * 69


def test_a_generated_input_keeps_the_rules_and_has_all_kinds_of_answers() -> None:
    settings = Settings(seconds=600, arrivals_per_sec=8.0)
    given = records(settings)
    assert given == records(settings)
    assert [each.time for each in given] == sorted(each.time for each in given)
    cars: dict[int, list[Position]] = defaultdict(list)
    for each in given:
        if isinstance(each, Position):
            cars[each.vehicle].append(each)
            assert 0 <= each.segment < SEGMENTS
            assert each.segment == each.feet // SEGMENT_FEET
            assert 0 <= each.speed <= 100
    for own in cars.values():
        times = [each.time for each in own]
        assert times == list(range(times[0], times[0] + REPORT_SECS * len(own), REPORT_SECS))
        assert all(each.lane != EXIT_LANE for each in own[:-1])
    found = truth(given, {})
    assert len(found.alerts) > 10
    assert sum(each.toll > 0 for each in found.tolls) > 10
    queries = [each.query for each in given if isinstance(each, BalanceQuery)]
    assert len(queries) == len(set(queries)) == len(found.balances)
