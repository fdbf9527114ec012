"""Components of `heronpy bench wordcount` and `rtac`: the two benchmarks of Heron's paper."""

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

WORDS = 450_000
"""Different words, as in Heron's paper."""
USERS = 100_000
PLATFORMS = ("android", "ios", "web", "tv")
SAMPLE = 1 << 16
"""Values drawn in advance, a power of two: drawing costs more than an emit."""


class BenchWords(Spout):
    """Emits random words as fast as possible; failed words are not repeated."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Draw the words."""
        chance = random.Random(context.get_task_id())
        self._words = [[f"word{chance.randrange(WORDS)}"] for _ in range(SAMPLE)]
        self._number = 0

    def next_tuple(self) -> None:
        """One word."""
        self._number += 1
        self.emit(self._words[self._number % SAMPLE], tup_id=self._number)


class BenchWordCount(Bolt):
    """Counts words."""

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """No word has been counted."""
        self.counts: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """One word."""
        self.counts[tup.values[0]] += 1
        self.ack(tup)


class ClientEvents(Spout):
    """Emits events of random users as fast as possible; failed events are not repeated."""

    outputs = ["user", "platform"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Draw the users."""
        chance = random.Random(context.get_task_id())
        self._events = [
            [f"user{chance.randrange(USERS)}", chance.choice(PLATFORMS)] for _ in range(SAMPLE)
        ]
        self._number = 0

    def next_tuple(self) -> None:
        """One event."""
        self._number += 1
        self.emit(self._events[self._number % SAMPLE], tup_id=self._number)


class Distributor(Bolt):
    """Passes events on, by user."""

    outputs = ["user", "platform"]

    def process(self, tup: Any) -> None:
        """One event."""
        self.emit(list(tup.values), anchors=[tup])
        self.ack(tup)


class UserCount(Bolt):
    """Counts the events of each user, and reports each user's first event as active."""

    outputs = ["platform", "is_new"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """No user is active."""
        self.counts: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """One event."""
        user, platform = tup.values
        self.counts[user] += 1
        self.emit([platform, int(self.counts[user] == 1)], anchors=[tup])
        self.ack(tup)


class ActiveUsers(Bolt):
    """Counts events and active users by platform."""

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """No user is active."""
        self.events: Counter[str] = Counter()
        self.active: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """One event."""
        platform, is_new = tup.values
        self.events[platform] += 1
        self.active[platform] += is_new
        self.ack(tup)
