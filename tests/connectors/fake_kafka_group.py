"""A consumer group by Kafka's rules, in memory: eager rebalances, generations, and commits that
come late, are refused, or are repeated by the client behind later commits, as drawn by `chance`.

Invariants: a commit of an older generation is refused; a commit of the present generation is taken
from any member; a joining member waits until all further members have abandoned their partitions.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.connectors.fake_kafka import NOTHING_COMMITTED, FakeError, FakePlace

TOPIC = "numbers"
BEGINNING = -2


@dataclass
class Request:
    """A commit under way, as the member had sent it."""

    member: "FakeMember"
    generation: int
    places: list[FakePlace]


@dataclass
class FakeGroup:
    """The brokers: `partitions` partitions with `records` records each, and the committed
    offsets."""

    chance: random.Random
    partitions: int
    records: int
    committed: dict[int, int] = field(default_factory=dict)
    generation: int = 0
    members: list["FakeMember"] = field(default_factory=list)
    under_way: list[Request] = field(default_factory=list)
    refusals: int = 0
    """So many questions for offsets are refused: the coordinator has just started."""

    def refuse_a_question(self) -> None:
        """FakeError while there are refusals left."""
        if self.refusals:
            self.refusals -= 1
            raise FakeError("Broker: Not coordinator")

    @property
    def is_whole(self) -> bool:
        return all(not each.has_to_leave and each.generation == self.generation
                   for each in self.members)  # fmt: skip

    def rebalance(self) -> None:
        """On a change of members: all give up their partitions, in their next poll."""
        for each in self.members:
            each.has_to_leave = True
        self.assign_if_all_left()

    def evict(self, member: "FakeMember") -> None:
        """The member's heartbeats were late: the rest share its partitions before the member
        knows."""
        rest = [each for each in self.members if each is not member]
        self.members = rest
        member.is_evicted = True
        self.rebalance()

    def assign_if_all_left(self) -> None:
        """The next generation begins."""
        if not all(each.has_left for each in self.members):
            return
        self.generation += 1
        numbers = list(range(self.partitions))
        self.chance.shuffle(numbers)
        for index, each in enumerate(self.members):
            each.join(self.generation, numbers[index :: len(self.members)])

    def take_commit(self, is_repeated: bool) -> None:
        """The brokers look at a request; or are not ready, and the client repeats the request
        behind later ones."""
        request = self.under_way.pop(0)
        if is_repeated:
            self.under_way.append(request)
            return
        error = self.commit(request)
        request.member.results.append((error, request.places))

    def commit(self, request: Request) -> Any:
        """The error, or None."""
        if request.generation != self.generation or request.member not in self.members:
            return SimpleNamespace(str=lambda: "Broker: Specified group generation id is not valid")
        for each in request.places:
            self.committed[each.partition] = each.offset
        return None


class FakeMember:
    """As much of confluent_kafka.Consumer as KafkaSpout uses of it in a group."""

    def __init__(self, group: FakeGroup, settings: dict[str, Any]) -> None:
        self._group, self._on_commit = group, settings["on_commit"]
        self.generation = 0
        self.results: list[tuple[Any, list[FakePlace]]] = []
        self.has_left, self.has_to_leave, self.is_evicted = True, False, False
        self._assigned: list[int] | None = None
        self._positions: dict[int, int] = {}
        self._paused: set[int] = set()
        """Paused partitions, through changes of the owner until a resume."""

    def list_topics(self, topic: str, timeout: float) -> Any:
        partitions = dict.fromkeys(range(self._group.partitions))
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions=partitions)})

    def subscribe(
        self,
        topics: list[str],
        on_assign: Callable[..., None],
        on_revoke: Callable[..., None],
        on_lost: Callable[..., None],
    ) -> None:
        self._on_assign, self._on_revoke, self._on_lost = on_assign, on_revoke, on_lost
        self._group.members.append(self)
        self._group.rebalance()

    def join(self, generation: int, numbers: list[int]) -> None:
        self.generation, self._assigned = generation, numbers
        self.has_left = self.has_to_leave = False

    def poll(self, secs: float) -> Any:
        if self.results:
            self._on_commit(*self.results.pop(0))
            return None
        if self.is_evicted or self.has_to_leave:
            self._leave()
            return None
        if self._assigned is not None:
            numbers, self._assigned = self._assigned, None
            self._on_assign(self, [FakePlace(TOPIC, each) for each in numbers])
            return None
        return self._record()

    def committed(self, places: list[FakePlace], timeout: float) -> list[FakePlace]:
        self._group.refuse_a_question()
        known = self._group.committed
        return [FakePlace(TOPIC, each.partition, known.get(each.partition, NOTHING_COMMITTED))
                for each in places]  # fmt: skip

    def assign(self, places: list[FakePlace]) -> None:
        """For a place without an offset the client asks once: the place may never be read."""
        asked = [each for each in places if each.offset != NOTHING_COMMITTED]
        self._positions = {each.partition: max(0, each.offset) for each in asked}

    def _leave(self) -> None:
        gone = [FakePlace(TOPIC, each) for each in self._positions]
        if gone:
            (self._on_lost if self.is_evicted else self._on_revoke)(self, gone)
        self._positions, self._assigned = {}, None
        self.has_left, self.has_to_leave = True, False
        if self.is_evicted:
            self.is_evicted = False
            self._group.members.append(self)
            self._group.rebalance()
        else:
            self._group.assign_if_all_left()

    def _record(self) -> Any:
        waiting = [each for each, at in self._positions.items()
                   if at < self._group.records and each not in self._paused]  # fmt: skip
        if not waiting:
            return None
        number = self._group.chance.choice(waiting)
        offset = self._positions[number]
        self._positions[number] += 1
        value = b"%d" % offset
        return SimpleNamespace(
            error=lambda: None,
            topic=lambda: TOPIC,
            partition=lambda: number,
            offset=lambda: offset,
            value=lambda: value,
        )

    def commit(self, offsets: list[FakePlace], asynchronous: bool) -> Any:
        request = Request(self, self.generation, offsets)
        if asynchronous:
            self._group.under_way.append(request)
            return None
        error = self._group.commit(request)
        if error is not None:
            raise FakeError(error.str())
        return offsets

    def pause(self, places: list[FakePlace]) -> None:
        self._paused.update(each.partition for each in places)

    def resume(self, places: list[FakePlace]) -> None:
        self._paused.difference_update(each.partition for each in places)


def client_of(group: FakeGroup) -> Any:
    """Stand-in of the module confluent_kafka."""
    return SimpleNamespace(
        TopicPartition=FakePlace,
        OFFSET_BEGINNING=BEGINNING,
        KafkaException=FakeError,
        Consumer=lambda settings, logger: FakeMember(group, settings),
    )
