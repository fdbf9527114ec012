"""Runs some troubles at the same time: submit, flow, trouble, named everywhere, cure, gone."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import psutil

from tests.drill.drilled_topology import DrilledTopology, Observers, submit_all
from tests.drill.trouble import LATER_SECS, Place, Trouble
from tests.process.process_support import Place as Runs
from tests.process.process_support import until

BUSY_LOAD = 4.0
"""A higher load is other work on the cores: names are required, and limits are not."""
LATE_SECS = 10.0
"""Wait behind a limit, so that the message of a failure has the measured time."""
BUSY_SECS = 60.0
"""Wait behind a limit under BUSY_LOAD."""


class Drill:
    """Some topologies of one place, each with its trouble."""

    def __init__(self, runs: Runs, troubles: Sequence[Trouble], observers: Observers) -> None:
        self._has_alerts = observers.prometheus is not None
        self.topologies = [DrilledTopology(runs, each, observers) for each in troubles]
        self.wrong: list[str] = []
        """Problems that were named before the first trouble."""

    def run(self) -> None:
        """The whole drill; AssertionError names each trouble with a late or wrong name."""
        with ExitStack() as ends:
            submit_all(self.topologies, ends)
            for each in self.topologies:
                each.await_flow()
                self.wrong += [f"{each.name} before its trouble: {text}" for text in each.found()]
            began = self._all(lambda each: each.trouble.make(each))
            self._measure_named(began)
            began = self._all(lambda each: each.trouble.cure(each))
            self._measure_gone(began)
        self._judge()

    def _all(self, act: Callable[[DrilledTopology], None]) -> dict[str, float]:
        """Topology -> time of the action."""
        began = {}
        for each in self.topologies:
            act(each)
            began[each.name] = time.monotonic()
        return began

    def _places(self, trouble: Trouble) -> list[Place]:
        return [each for each in trouble.places if self._has_alerts or each is not Place.ALERT]

    def _measure_named(self, began: dict[str, float]) -> None:
        def all_named() -> bool:
            for each in self.topologies:
                each.watch()
                for place in self._places(each.trouble):
                    if place not in each.timings.named and each.is_named(place):
                        each.timings.named[place] = time.monotonic() - began[each.name]
            return all(
                len(each.timings.named) == len(self._places(each.trouble))
                for each in self.topologies
            )

        longest = max(each.trouble.limit_secs(Place.ALERT) for each in self.topologies)
        _try(all_named, longest)

    def _measure_gone(self, began: dict[str, float]) -> None:
        curable = [each for each in self.topologies if each.trouble.gone_secs is not None]

        def all_gone() -> bool:
            for each in curable:
                for place in each.timings.named:
                    if place not in each.timings.gone and not each.is_named(place):
                        each.timings.gone[place] = time.monotonic() - began[each.name]
            return all(len(each.timings.gone) == len(each.timings.named) for each in curable)

        longest = max((each.trouble.gone_secs or 0.0 for each in curable), default=0.0)
        _try(all_gone, longest + LATER_SECS[Place.ALERT])

    def _judge(self) -> None:
        for each in self.topologies:
            print(each.told())
        faults = [*self.wrong]
        for each in self.topologies:
            faults += self._faults(each)
            faults += _wrong_names(each)
        assert not faults, "\n".join(faults)

    def _faults(self, drilled: DrilledTopology) -> list[str]:
        trouble, timings = drilled.trouble, drilled.timings
        faults = [
            _fault(trouble, place, "is named", timings.named.get(place), trouble.limit_secs(place))
            for place in self._places(trouble)
        ]
        if trouble.gone_secs is not None:
            faults += [
                _fault(
                    trouble, place, "is gone", timings.gone.get(place),
                    trouble.gone_secs + LATER_SECS[place],
                )
                for place in timings.named
            ]  # fmt: skip
        return [each for each in faults if each]


def _wrong_names(drilled: DrilledTopology) -> list[str]:
    trouble = drilled.trouble
    return [
        f"{trouble.name}: named {kind}, too: {sentence}"
        for kind, sentence in drilled.timings.others.items()
        if kind not in trouble.also
    ]


def _fault(trouble: Trouble, place: Place, what: str, secs: float | None, limit: float) -> str:
    if secs is None:
        return f"{trouble.name}: never {what} in {place}"
    is_late = secs > limit and psutil.getloadavg()[0] <= BUSY_LOAD
    return f"{trouble.name}: {what} in {place} after {secs:.1f} s of {limit:g}" if is_late else ""


def _try(condition: Callable[[], bool], limit_secs: float) -> None:
    """Wait for a condition, at most LATE_SECS behind its limit; the timings show the rest."""
    began = time.monotonic()

    def is_over() -> bool:
        patience = BUSY_SECS if psutil.getloadavg()[0] > BUSY_LOAD else LATE_SECS
        return condition() or time.monotonic() > began + limit_secs + patience

    until(is_over, "the end of the wait", limit_secs + BUSY_SECS + LATE_SECS)
