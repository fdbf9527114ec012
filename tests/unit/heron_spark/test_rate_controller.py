"""How much spouts emit for a batch, and when they stop being asked."""

from dataclasses import dataclass, field
from typing import Any

from heron_spark.worker.rate_controller import FIRST, RateController, worked_secs
from heron_spark.worker.spouts import PATIENCE_SECS, drive


def test_it_grows_eightfold_until_a_batch_is_as_long_as_wanted() -> None:
    controller = RateController(1_000_000, 2.0)
    assert controller.quota == FIRST == 1000
    quotas = []
    for _ in range(5):
        controller.quota_reached()
        quotas.append(controller.begin(controller.quota * 1e-6))
    assert quotas == [8000, 64_000, 512_000, 1_000_000, 1_000_000]


def test_it_shrinks_when_bolts_are_slow() -> None:
    controller = RateController(1_000_000, 2.0)
    controller.quota_reached()
    assert controller.begin(10.0) == 200
    controller.quota_reached()
    assert controller.begin(2.0) == 200


def test_it_never_shrinks_to_nothing() -> None:
    controller = RateController(10, 2.0)
    for _ in range(5):
        controller.begin(1000.0)
    assert controller.quota == 1


def test_silent_spouts_do_not_make_it_grow() -> None:
    controller = RateController(1_000_000, 2.0)
    assert controller.begin(0.01) == 1000


def test_the_work_of_a_batch_is_its_levels_in_turn() -> None:
    results = [
        {"task": 1, "secs": 1.0},
        {"task": 2, "secs": 3.0},
        {"task": 3, "secs": 2.0},
        {"task": 4, "secs": 0.5},
    ]
    assert worked_secs(results, {1: 0, 2: 1, 3: 1, 4: 2}) == 1.0 + 3.0 + 0.5


@dataclass
class Spout:
    """A spout's runner that emits so many in each turn."""

    each: int
    most: int = 1 << 30
    made: int = 0
    turns: list[float] = field(default_factory=list)
    whole_at: int = 1 << 30
    """It says at so many that a batch has no more."""

    @property
    def has_whole_batch(self) -> bool:
        return self.made >= self.whole_at

    @property
    def finished(self) -> bool:
        return self.made >= self.most

    def turn(self, secs: float) -> bool:
        self.turns.append(secs)
        self.made += self.each
        return self.each > 0


class Time:
    """A clock that a sleep moves, and each look by a millisecond."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, secs: float) -> None:
        self.now += secs


def driven(
    *spouts: Spout, quota: int = 1000, busy_secs: float = 1.0
) -> tuple[RateController, float]:
    """Drive them; returns the controller and how long it took."""
    controller, time = RateController(quota, 2.0), Time()
    runners: list[Any] = list(spouts)
    drive(runners, controller, time.clock, time.sleep, busy_secs)
    return controller, time.now - 100.0


def test_each_emits_its_quota() -> None:
    one, other = Spout(100), Spout(300)
    controller, _ = driven(one, other)
    assert (one.made, other.made) == (1000, 1200)
    controller.begin(1e-3)
    assert controller.quota == 1000  # filled, but that is the most


def test_a_small_quota_is_kept_to_the_tuple() -> None:
    spout = Spout(1)
    driven(spout, quota=100)
    assert spout.made == 100
    assert set(spout.turns) == {0.0}


def test_finished_spouts_are_not_asked() -> None:
    spout = Spout(10, most=20)
    driven(spout)
    assert spout.made == 20


def test_silent_spouts_are_asked_for_a_while() -> None:
    spout = Spout(0)
    _, took = driven(spout)
    assert PATIENCE_SECS <= took < PATIENCE_SECS + 0.05
    assert len(spout.turns) > 20


def test_a_spout_that_trickles_is_cut_off() -> None:
    spout = Spout(1)
    _, took = driven(spout, quota=100_000, busy_secs=0.5)
    assert 0.5 <= took < 0.51


def test_a_spout_whose_batch_is_whole_is_waited_for_no_more() -> None:
    """A coordinator of Trident begins one batch, and would be asked in vain for 0.3 s."""
    whole = Spout(1, whole_at=1)
    _, secs = driven(whole)
    assert whole.made == 1
    assert secs < PATIENCE_SECS
