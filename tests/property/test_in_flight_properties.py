"""The tuples in flight at a bolt, with barriers and restores at any moment: each counts once."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heron_instance.in_flight import BoltInFlight, TakenTuple

INPUTS = 12


@dataclass
class Saved:
    """A checkpoint: how much of the input came before its barrier, and what was in flight."""

    read: int = 0
    in_flight: list[int] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)
    """What the readers had got before the barrier."""
    failed: set[int] = field(default_factory=set)


class Bolt:
    """One that takes numbers and emits them, some together, in any order and at any time."""

    def __init__(self, is_ordered: bool, chance: random.Random, joins: bool) -> None:
        self.is_ordered, self.chance, self.joins = is_ordered, chance, joins
        self.saved = Saved()
        self.restore()

    def restore(self) -> None:
        self.in_flight = BoltInFlight(self.is_ordered)
        self.read, self.sent = self.saved.read, list(self.saved.sent)
        self.failed = set(self.saved.failed)
        self.taken = [self.in_flight.take(each) for each in self.saved.in_flight]

    def take(self) -> None:
        if self.read < INPUTS:
            self.taken.append(self.in_flight.take(self.read))
            self.read += 1

    def emit(self) -> None:
        """For one tuple, or for a few at once."""
        if self.taken:
            some = self.chance.sample(self.taken, min(len(self.taken), 3 if self.joins else 1))
            self.in_flight.emitted(some, tuple(each.tup for each in some))

    def settle(self, has_failed: bool) -> None:
        open_ones = [each for each in self.taken if not each.is_settled]
        if not open_ones:
            return
        one = self.chance.choice(open_ones)
        self.in_flight.emitted([one], one.tup)
        assert self.in_flight.settle(one, has_failed)
        assert not self.in_flight.settle(one, has_failed), "settled twice"
        self.release()

    def release(self) -> None:
        for released in self.in_flight.release():
            self.sent.extend(released.emits)
            for each in released.taken:
                self.taken.remove(each)
                if each.has_failed:
                    self.failed.add(each.tup)

    def barrier(self) -> None:
        self.saved = Saved(
            self.read, self.in_flight.unfinished(), list(self.sent), set(self.failed)
        )

    def finish(self) -> None:
        while self.read < INPUTS:
            self.take()
        while any(not each.is_settled for each in self.taken):
            self.settle(has_failed=False)


STEPS = ("take", "take", "emit", "settle", "settle", "fail", "barrier", "restore")


@settings(max_examples=300)
@given(st.integers(), st.lists(st.sampled_from(STEPS), max_size=80), st.booleans(), st.booleans())
def test_every_tuple_counts_once_whatever_is_restored(
    seed: int, steps: list[str], is_ordered: bool, joins: bool
) -> None:
    bolt = Bolt(is_ordered, random.Random(seed), joins)
    for step in steps:
        if step == "fail":
            bolt.settle(has_failed=True)
        elif step == "settle":
            bolt.settle(has_failed=False)
        else:
            getattr(bolt, step)()
        bolt.in_flight.validate()
    bolt.finish()
    assert len(bolt.in_flight) == 0
    singles = Counter(each for each in bolt.sent if not isinstance(each, tuple))
    assert singles == Counter(set(range(INPUTS)) - bolt.failed)
    for together in (each for each in bolt.sent if isinstance(each, tuple)):
        assert not bolt.failed & set(together), "an emit for a tuple that failed was sent"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True))
def test_in_order_each_is_released_behind_those_before_it(finished: list[int]) -> None:
    flight = BoltInFlight(is_ordered=True)
    taken = [flight.take(each) for each in range(10)]
    out: list[int] = []
    for each in finished:
        flight.settle(taken[each], has_failed=False)
        out += [one.tup for released in flight.release() for one in released.taken]
        flight.validate()
    assert out == list(range(len(out)))
    done = set(finished)
    assert len(out) == next(each for each in range(11) if each not in done)


@given(st.lists(st.integers(0, 4), min_size=5, max_size=5), st.permutations(range(5)))
def test_a_watermark_passes_when_all_tuples_before_it_are_finished(
    before: list[int], order: list[int]
) -> None:
    """`before[k]` says behind how many tuples the watermark k comes."""
    flight, taken = BoltInFlight(), []
    marks = sorted(before)
    for number in range(5):
        for mark in (each for each in marks if each == number):
            flight.add_watermark(mark)
        taken.append(flight.take(number))
    done: set[int] = set()
    newest = -1
    for each in [None, *order]:
        if each is not None:
            flight.settle(taken[each], has_failed=False)
            assert len(list(flight.release())) == 1
            done.add(each)
        passed = flight.passed()
        expected = max((x for x in marks if set(range(x)) <= done), default=-1)
        newest = newest if passed is None else passed
        assert newest == expected


def test_what_came_of_a_batch_leaves_with_its_last_ack() -> None:
    flight = BoltInFlight()
    batch: list[TakenTuple] = [flight.take(each) for each in range(3)]
    flight.emitted(batch, "sum")
    for each in batch[:2]:
        flight.settle(each, has_failed=False)
        assert list(flight.release()) == []
    assert flight.unfinished() == [0, 1, 2]
    flight.settle(batch[2], has_failed=False)
    (released,) = flight.release()
    assert released.emits == ("sum",)
    assert [each.tup for each in released.taken] == [0, 1, 2]
