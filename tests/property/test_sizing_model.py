"""`heronpy stats` and `heronpy advise` size a bolt by one model, so they say the same."""

from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.autoscale.assessment import Assessment, assess
from heron_core.algorithms.autoscale.readings import Readings, ReadingsWindow, readings_of
from heron_core.algorithms.autoscale.sizing import (
    GROWTH_MAX,
    Demand,
    capacity,
    granted,
    needed,
    unthrottled,
    worked_secs,
)
from heron_core.records import replace
from heron_core.stats import InstanceStats, TopologyStats
from heron_core.topology import GroupingKind
from heron_tracker.model.slow_problems import instances_needed
from tests.unit.heron_core.algorithms.autoscale_support import STREAM, options_of, topology
from tests.unit.heron_tracker.tracker_support import component, instance, stats

SECS = 10.0
SPEC = topology(("count", GroupingKind.SHUFFLE, "words"))
OPTIONS = options_of(SPEC)
SHARE = st.floats(0.0, 1.0)


def row(name: str, task: int, tuples: int, busy_secs: float, waited_secs: float) -> InstanceStats:
    """An instance after SECS."""
    return replace(
        instance(4),
        task=task,
        instance=name,
        executed=tuples,
        emitted_by_stream={STREAM: tuples},
        busy_secs=busy_secs,
        waited_secs=waited_secs,
        capacity=capacity(worked_secs(busy_secs, waited_secs), SECS),
    )


def at(share: float, bolts: list[tuple[float, float]], tuples: int, secs: float) -> TopologyStats:
    """A spout that was held for a share of the time, and bolts (busy, waited), both shares."""
    part = secs / SECS
    spout = row("words[0]", 1, int(tuples * len(bolts) * part), 1e-6 * part, 0.0)
    rows = [
        row(f"count[{index}]", index + 2, int(tuples * part), busy * secs, busy * waited * secs)
        for index, (busy, waited) in enumerate(bolts)
    ]
    return stats({"count": {"instances": len(bolts)}}, instances_given=[spout, *rows])


def readings(found: TopologyStats, share: float, secs: float) -> Readings:
    """As `heronpy advise` reads them."""
    seen = readings_of(found, {})
    spout = replace(seen.tasks[1], paused_secs=share * secs)
    return replace(seen, tasks={**seen.tasks, 1: spout})


def advised(share: float, bolts: list[tuple[float, float]], tuples: int) -> Assessment:
    """What `heronpy advise` says of the bolt."""
    window = ReadingsWindow(SECS)
    for secs in (0.0, SECS):
        found = at(share, bolts, tuples, secs)
        window.add(readings(found, share, secs), secs)
    (only,) = assess(SPEC, window.loads(), readings(found, share, SECS), OPTIONS)
    return only


@given(
    share=SHARE,
    bolts=st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 0.9)), min_size=1, max_size=8),
    tuples=st.integers(1000, 10**6),
)
def test_both_say_the_same(share: float, bolts: list[tuple[float, float]], tuples: int) -> None:
    """One window, one bottleneck: the utilisation, and the number if it grows."""
    assessment = advised(share, bolts, tuples)
    found = at(share, bolts, tuples, SECS)
    rows = [each for each in found.instances or () if each.component == "count"]
    work = unthrottled(sum(each.capacity for each in rows), share)
    assert abs(assessment.utilization - work / len(bolts)) <= 1e-6 * work
    if assessment.wanted > assessment.instances:
        whole = component("bolt", instances=len(bolts))
        needs = instances_needed(whole, rows, share, OPTIONS.target_utilization)
        most = OPTIONS.instances_max["count"]
        assert granted(needs, len(bolts), most) == assessment.wanted


@given(work=st.floats(0.01, 1e3), rate=st.floats(0.01, 1e3), utilization=st.floats(0.05, 1.0))
def test_what_is_needed_is_enough_and_one_less_is_not(
    work: float, rate: float, utilization: float
) -> None:
    """The definition."""
    demand = Demand(shared=work, fixed=0.0)
    number = needed(demand, rate, utilization)
    assert number is not None
    assert demand.of_busiest(number) <= rate * utilization * (1 + 1e-5)
    assert number == 1 or demand.of_busiest(number - 1) > rate * utilization * (1 - 1e-5)


@given(needs=st.integers(1, 10**4), instances=st.integers(1, 100), most=st.integers(1, 1000))
def test_one_change_is_bounded(needs: int, instances: int, most: int) -> None:
    """By what is needed, by its growth, and by the topology's limit."""
    assert granted(needs, instances, most) == min(needs, instances * GROWTH_MAX, most)
    assert granted(needs, instances, None) == min(needs, instances * GROWTH_MAX)
