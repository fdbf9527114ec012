"""Word count with keyed state: one spout, two splitters (shuffle), two counters (by the word).

Config: `benchmark.count` words of `benchmark.keys` different ones; every mode of reliability.
"""

from typing import Any

from benchmarks import key_words
from benchmarks.key_words import KEYS_KEY
from benchmarks.reports import COUNT_KEY, report, tracked
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heronpy_compat import Bolt, Grouping, Spout, Topology


class Sentences(Spout, TwoPhaseStatefulComponent):
    """Emits the sentences cyclically; its state is the number of emitted sentences."""

    outputs = ["sentence"]

    def init_state(self, stateful_state: Any) -> None:
        """Restore the position."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        self.config, self.tracked = config, tracked(config)
        self.pool = key_words.sentences(int(config[KEYS_KEY]))
        self.left = int(config[COUNT_KEY]) // key_words.WORDS_PER_SENTENCE
        self.emitted = self.state.get("emitted") or 0
        self.acked = self.completed = 0

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.config, "first")

    def next_tuple(self) -> None:
        """Emit a sentence."""
        if self.emitted == self.left:
            self.finish()
            return
        sentence = self.pool[self.emitted % len(self.pool)]
        self.emitted += 1
        if self.tracked:
            self.emit([sentence], tup_id=sentence)
        else:
            self.emit([sentence])

    def ack(self, tup_id: str) -> None:
        """Note a counted sentence."""
        self.acked += 1
        if self.acked == self.left:
            report(self.config, "last")

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position."""
        self.state.put("emitted", self.emitted)

    def post_save(self, checkpoint_id: Any) -> None:
        """Note a complete checkpoint."""
        self.completed += 1
        report(self.config, "completed")


class Split(Bolt):
    """A sentence into words."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        """Split a sentence."""
        for word in tup.values[0].split():
            self.emit([word], anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    """Counts words."""

    counts = value_state(default=0)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is counted."""
        self.config = config

    def process(self, tup: Any) -> None:
        """Count a word."""
        self.counts.put(self.counts.get() + 1)
        self.ack(tup)

    def on_finish(self) -> None:
        """All words are counted."""
        report(self.config, "finished")
        keys, words = int(self.config[KEYS_KEY]), int(self.config[COUNT_KEY])
        report(self.config, "checked", part=key_words.check(keys, words, self.counts.all_items()))


class KeyedCount(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
