"""A project as a user writes it: two checkers have to accept each line (test_typed_project.py)."""

from typing import TYPE_CHECKING, Any

from heronpy_compat import Bolt, Grouping, Row, Spout, Stream, Topology, Tuple
from heronpy_compat.api.state.keyed_state import (
    DeclaredState,
    ListState,
    MapState,
    list_state,
    map_state,
    reducing_state,
    value_state,
)
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.windowconfig import WindowConfig
from heronpy_compat.windows import Count, KeyedProcessBolt, Tumbling, TupleWindow, WindowedBolt

if TYPE_CHECKING:
    from rows import Clicks, Totals, TotalsBadLines


class ClickSpout(Spout):
    outputs = {"page": "string", "time_ms": "bigint"}

    def next_tuple(self) -> None:
        self.emit(["home", 5])


class TotalBolt(Bolt["Clicks"]):
    outputs = ["page", "total", Stream(["line"], "bad-lines")]
    total = value_state(default=0)
    words = value_state(default=list)
    anything = value_state()
    pages: DeclaredState[ListState[str]] = list_state()
    times: DeclaredState[MapState[str, int]] = map_state()
    untyped = list_state()
    most = reducing_state(max, 0)

    def process(self, tup: "Clicks") -> None:
        page: str = tup["page"]
        self.total.put(self.total.get() + tup.time_ms)
        self.times.put(page, tup["time_ms"])
        self.pages.add(tup.page.lower())
        self.anything.put(tup.values[0])
        self.untyped.add(5)
        self.words.get().append(page)
        self.emit([page, self.total.get(), *self.times.keys()], anchors=[tup])
        self.ack(tup)


class Inferred(Bolt["Clicks"]):
    """Without annotations an editor takes the row of the base class."""

    def process(self, tup):  # type: ignore[no-untyped-def]
        return tup.page.upper()


class Declared(Row):
    word: str
    number: int


class DeclaredBolt(Bolt[Declared]):
    def process(self, tup: Declared) -> None:
        print(tup.word.upper(), tup.number + 1, tup["anything"], tup.component, tup.stream)


class TwoInputs(Bolt["Totals | TotalsBadLines"]):
    def process(self, tup: "Totals | TotalsBadLines") -> None:
        print(tup.values, tup.fields)


class AnyFields(Bolt):
    def process(self, tup: Tuple) -> None:
        print(tup.whatever, tup["whatever"], tup.values[0])


class Windows(WindowedBolt["Clicks"]):
    def execute(self, window: TupleWindow["Clicks"]) -> None:
        print([tup.page.lower() for tup in window.get()])


class Timers(KeyedProcessBolt["Clicks"]):
    def process_element(self, tup: "Clicks", timestamp_ms: int | None) -> None:
        print(tup.time_ms + 1)


class Site(Topology):
    clicks = ClickSpout.spec()
    totals = TotalBolt.spec(par=2, inputs={clicks: Grouping.fields("page")})
    lines = AnyFields.spec(inputs={totals["bad-lines"]: Grouping.SHUFFLE, clicks: Grouping.ALL})
    pages = Windows.spec(inputs=[clicks])


class Lines(Generator[str]):
    def get(self) -> str | None:
        return "hello world"


def word_count(builder: Builder) -> Streamlet[tuple[Any, int]]:
    words = builder.new_source(Lines()).flat_map(str.split).filter(str.isalpha)
    pairs: Streamlet[tuple[str, int]] = words.map(lambda word: (word.lower(), 1))
    window = WindowConfig.create_tumbling_window(10)
    pairs.reduce_by_key_and_window(window, lambda left, right: left + right).log()
    pairs.join(pairs.clone(1)[0], window, lambda left, right: (left, right)).log()
    late = words.with_event_time(len).key_by(str.lower).window(Tumbling(1000)).aggregate(Count())
    late.late_elements().log()
    numbers = builder.from_collection([1, 2, 3]).set_name("numbers").union(words)
    numbers.consume(print)
    return pairs.group_by_key().reduce(lambda so_far, value: so_far + value)
