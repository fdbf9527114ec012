"""The front page: every topology with what is wrong with it, the worst first."""

from collections.abc import Sequence
from dataclasses import dataclass

from heron_core.naming import others
from heron_core.number_text import NOTHING, counted, duration, rate
from heron_core.plans import TopologyState
from heron_core.stats import TopologyStats
from heron_engine.scheduler.stored_outcomes import LOST
from heron_tracker.model.problems import summary
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import RANKS, TrackerProblem
from heron_tracker.pages.cells import (
    BAD,
    GOOD,
    QUIET,
    TONES,
    WARNING,
    PageCell,
    PageColumn,
    PageRow,
    PageTable,
)
from heron_tracker.pages.links import component_page, topology_page
from heron_tracker.pages.texts import plain, since

CARDS_MAX = 8
"""Problems in full on the front page: more do not fit on a screen, and the table has the rest."""
STATE_TONES = {
    TopologyState.RUNNING: GOOD,
    TopologyState.PAUSED: WARNING,
    TopologyState.FAILED: BAD,
    LOST: BAD,
}
COLUMNS = (
    PageColumn("name", "Topology"),
    PageColumn("state", "State"),
    PageColumn("problem", "What holds it back"),
    PageColumn("since", "Since"),
    PageColumn("throughput", "Tuples/s", is_number=True),
    PageColumn("lag", "Lag", is_number=True),
    PageColumn("instances", "Instances", is_number=True),
)

Found = Sequence[tuple[TrackerProblem, float]]
"""Problems of a topology, the worst first, each with the time since when."""


@dataclass(frozen=True, slots=True)
class ProblemCard:
    """One problem in full."""

    topology: str
    component: str
    href: str
    kind: str
    tone: str
    what: str
    remedy: str
    since: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The front page."""

    sentence: str
    tone: str
    cards: tuple[ProblemCard, ...]
    table: PageTable


def overview(topologies: Sequence[tuple[TopologySnapshot, Found]], now: float) -> Overview:
    """The page for these topologies; `now` in seconds since 1970."""
    ordered = sorted(topologies, key=_badness)
    cards = [
        problem_card(snapshot.name, problem, at, now)
        for snapshot, problems in ordered
        for problem, at in problems[:1]
    ]
    bad = sum(1 for snapshot, problems in ordered if problems or snapshot.trouble)
    return Overview(
        _sentence(len(ordered), bad),
        WARNING if bad else GOOD if ordered else QUIET,
        tuple(cards[:CARDS_MAX]),
        PageTable(COLUMNS, tuple(_row(snapshot, problems, now) for snapshot, problems in ordered)),
    )


def _badness(entry: tuple[TopologySnapshot, Found]) -> tuple[int, str]:
    snapshot, problems = entry
    if problems:
        return (RANKS[problems[0][0].kind], snapshot.name)
    return (len(RANKS) if snapshot.trouble else len(RANKS) + 1, snapshot.name)


def _sentence(number: int, bad: int) -> str:
    if not number:
        return "No topology is running: `heronpy run FILE` or `heronpy submit FILE` starts one"
    if not bad:
        return f"{counted(number, 'topology').replace('topologys', 'topologies')}, nothing is wrong"
    which = "the topology" if number == 1 else f"{bad} of {number} topologies"
    return f"Something is wrong with {which}"


def problem_card(topology: str, problem: TrackerProblem, at: float, now: float) -> ProblemCard:
    """A problem of a topology that was first seen at `at`."""
    href = component_page(topology, problem.component) if problem.component else ""
    return ProblemCard(
        topology=topology,
        component=problem.component,
        href=href or topology_page(topology),
        kind=problem.kind.value,
        tone=TONES[problem.kind],
        what=problem.what,
        remedy=problem.remedy,
        since=since(at, now),
    )


def _row(snapshot: TopologySnapshot, problems: Found, now: float) -> PageRow:
    worst = problems[0] if problems else None
    return PageRow(
        snapshot.name,
        {
            "name": PageCell(snapshot.name, href=topology_page(snapshot.name)),
            "state": PageCell(snapshot.state, tone=STATE_TONES.get(snapshot.state, QUIET)),
            "problem": PageCell(
                plain(standing(snapshot, problems)) + others(problems),
                tone=TONES[worst[0].kind] if worst else QUIET,
            ),
            "since": PageCell(worst[1], since(worst[1], now).removeprefix("since "))
            if worst
            else PageCell(0.0, NOTHING),
            "throughput": _throughput(snapshot.stats),
            "lag": _lag(snapshot.stats),
            "instances": _instances(snapshot),
        },
    )


def standing(snapshot: TopologySnapshot, problems: Found) -> str:
    """The sentence on top of a topology."""
    if problems:
        return problems[0][0].sentence
    if snapshot.stats is None:
        return snapshot.trouble or "its numbers have not come yet"
    return summary(snapshot.stats)


def throughput(stats: TopologyStats) -> float:
    """Tuples executed by the bolts per second; without bolts, tuples emitted."""
    bolts = [each.executed_per_sec for each in stats.components.values() if each.type == "bolt"]
    return sum(bolts) if bolts else sum(x.emitted_per_sec for x in stats.components.values())


def lag_secs(stats: TopologyStats) -> float:
    """Processing time of the longest queue among the components."""
    return max((each.queue_secs for each in stats.components.values()), default=0.0)


def _throughput(stats: TopologyStats | None) -> PageCell:
    return (
        PageCell(-1.0, NOTHING)
        if stats is None
        else PageCell(throughput(stats), rate(throughput(stats)))
    )


def _lag(stats: TopologyStats | None) -> PageCell:
    if stats is None:
        return PageCell(-1.0, NOTHING)
    secs = lag_secs(stats)
    return PageCell(secs, duration(secs), tone=WARNING if secs > 1 else "")


def _instances(snapshot: TopologySnapshot) -> PageCell:
    stats = snapshot.stats
    planned = len(snapshot.packing.instances)
    if stats is None:
        return PageCell(planned)
    up = sum(each.up for each in stats.components.values())
    planned = sum(each.instances for each in stats.components.values())
    return PageCell(
        up, f"{up} of {planned}" if up < planned else str(up), tone=BAD if up < planned else ""
    )
