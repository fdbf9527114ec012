"""Mistakes that an editor has to show: both checkers report each line marked `# wrong` alone."""

from rows import Clicks

from heronpy_compat import (
    Bolt,
    Grouping,
    Row,
)
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.streamlet.builder import Builder


class Total(Bolt[Clicks]):
    total = value_state(default=0)

    def process(self, tup: Clicks) -> None:
        print(tup["paeg"])  # wrong
        print(tup.paeg)  # wrong
        print(tup.time_ms.upper())  # wrong
        print(tup["time_ms"].upper())  # wrong
        self.total.put("five")  # wrong
        self.total.add(5)  # wrong


class Word(Row):
    word: str


class Words(Bolt[Word]):
    def process(self, tup: Word) -> None:
        print(tup.wrod)  # wrong
        print(tup.word + 1)  # wrong


class Other(Bolt[Word]):
    def process(self, tup: Clicks) -> None:  # wrong
        print(tup.page)


total = Total.spec(inputs={Words.spec(): Grouping.SHUFLE})  # wrong
words = Words.spec(inputs={total: "page"})  # wrong


def streamlets(builder: Builder) -> None:
    lengths = builder.from_collection(["a", "b"]).map(len)
    lengths.map(lambda length: length.upper())  # wrong
    lengths.group_by_key().sum()  # wrong
