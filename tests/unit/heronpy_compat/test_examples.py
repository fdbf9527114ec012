"""The examples load, and their components do what their docstrings say."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from heron_api.tuple import Tuple
from heron_core.topology import ComponentSpec, TopologySpec
from heron_frontends.loading.load import load_class, load_grouping, load_topology
from heronpy_compat.testing import TopologyTester

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
# More calls than any example makes, so a spout without an end fails the test.
CALLS_MAX = 10_000


@pytest.fixture
def load(fresh_imports: None) -> Callable[[str], TopologySpec]:
    return lambda name: load_topology(str(EXAMPLES / f"{name}.py"))


@pytest.fixture
def start(
    spout_delegate: Any, new_bolt_delegate: Callable[[], Any], new_context: Callable[..., Any]
) -> Callable[..., Any]:
    """Makes and initialises one instance of a component, with fakes around it."""

    def start_component(component: ComponentSpec, config: Any = None, **place: Any) -> Any:
        delegate = spout_delegate if component.is_spout else new_bolt_delegate()
        instance: Any = load_class(component.class_path)(delegate=delegate)
        instance.initialize({**(config or {})}, new_context(component.name, **place))
        return instance

    return start_component


def received(values: Any, stream: str = "default") -> Tuple:
    return Tuple("0", "upstream", stream, None, list(values))


def run_until_finished(spout: Any) -> Iterator[Any]:
    """Emits of the spout, one by one, tracked as requested."""
    for _ in range(CALLS_MAX):
        spout.next_tuple()
        yield from spout.delegate.emitted
        spout.delegate.emitted.clear()
        if spout.delegate.finished:
            return
    raise AssertionError(f"the spout has not finished after {CALLS_MAX} calls")


def emitted(bolt: Any, stream: str) -> list[list[Any]]:
    return [each.values for each in bolt.delegate.emitted if each.stream == stream]


@pytest.mark.parametrize("name", NAMES)
def test_every_example_loads_and_says_how_to_run_it(
    name: str, load: Callable[[str], TopologySpec]
) -> None:
    topology = load(name)
    assert all(load_class(each.class_path) for each in topology.components)
    assert f"heronpy run examples/{name}.py" in (EXAMPLES / f"{name}.py").read_text()


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    contents = [b"to be or\nnot to be\n", b"caf\xe9 be_1\n", b"", b"last line without end"]
    paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def word_count_lines(start: Any, topology: TopologySpec, config: Any, **place: Any) -> list[str]:
    spout = start(topology.by_name["lines"], config, **place)
    lines = [each.values[0] for each in run_until_finished(spout)]
    spout.delegate.finished = 0
    return lines


def test_word_count_reads_each_line_once(load: Any, start: Any, texts: list[Path]) -> None:
    topology = load("word_count")
    pattern = {"word_count.files": str(texts[0].parent / "*.txt")}
    listed = {"word_count.files": [str(path) for path in texts]}
    expected = ["to be or", "not to be", "caf� be_1", "last line without end"]
    assert word_count_lines(start, topology, pattern) == expected
    assert word_count_lines(start, topology, listed) == expected
    limited = {**listed, "word_count.lines.max": "2"}
    assert word_count_lines(start, topology, limited) == expected[:2]
    shares = [word_count_lines(start, topology, listed, task=task, tasks=(4, 5)) for task in (4, 5)]
    assert sorted(shares[0] + shares[1]) == sorted(expected)
    assert all(shares)


def test_word_count_replays_failed_lines_when_it_is_tracked(
    load: Any, start: Any, texts: list[Path]
) -> None:
    topology = load("word_count")
    config = {
        "word_count.files": [str(texts[0])],
        "topology.reliability.mode": "ATLEAST_ONCE",
    }
    spout = start(topology.by_name["lines"], config)
    first, second = run_until_finished(spout)
    assert None not in (first.id, second.id)
    spout.ack(first.id)
    spout.fail(second.id)
    (again,) = spout.delegate.emitted
    assert (again.values, again.id) == (second.values, second.id)


def test_word_count_does_not_track_by_default(load: Any, start: Any, texts: list[Path]) -> None:
    spout = start(load("word_count").by_name["lines"], {"word_count.files": [str(texts[0])]})
    assert [each.id for each in run_until_finished(spout)] == [None, None]


def test_word_count_reads_pythons_library_by_default(load: Any, fresh_imports: None) -> None:
    load("word_count")
    module: ModuleType = __import__("word_count")
    paths = module.files({})
    assert len(paths) > 100
    assert any(path.endswith("/json/decoder.py") for path in paths)
    assert not any("site-packages" in path or "__pycache__" in path for path in paths)


def test_word_count_prints_the_most_frequent_words(
    load: Any, start: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = load("word_count")
    config = {"word_count.top": "2"}
    split = start(topology.by_name["split"])
    line = received(["to be or not to be, be_1"])
    split.process(line)
    words = emitted(split, "default")
    assert words == [["to"], ["be"], ["or"], ["not"], ["to"], ["be"], ["be_1"]]
    assert split.delegate.acked == [line]
    assert all(each.anchors == [line] for each in split.delegate.emitted)

    count, top = (start(topology.by_name[name], config) for name in ("count", "top"))
    for values in [*words, ["be"]]:
        count.process(received(values))
    count.on_finish()
    assert emitted(count, "top") == [["be", 3], ["to", 2]]
    for values in [["or", 1], *emitted(count, "top")]:
        top.process(received(values, "top"))
    top.on_finish()
    assert [row.split() for row in capsys.readouterr().out.splitlines()] == [
        ["word", "count"],
        ["be", "3"],
        ["to", "2"],
    ]


def test_multi_stream_sorts_numbers_from_words(
    load: Any, start: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = load("multi_stream")
    spout, sort = (start(topology.by_name[name]) for name in ("entries", "sort"))
    for each in run_until_finished(spout):
        sort.process(received(each.values))
    for name in ("numbers", "words"):
        bolt = start(topology.by_name[name])
        for values in emitted(sort, name):
            bolt.process(received(values, name))
        bolt.on_finish()
    assert capsys.readouterr().out == (
        "numbers: 30, the largest is 2026\nwords: 40, the largest is storm\n"
    )


def test_frequent_keys_counts_each_word_whole(
    fresh_imports: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partial sums of a word come from two instances at most."""
    with TopologyTester(str(EXAMPLES / "frequent_keys.py")) as tester:
        tester.run_spouts()
        words = Counter(each.values[0] for each in tester.emitted("words"))
        tester.finish()
        sums: Counter[str] = Counter()
        for word, number in tester.values("partial"):
            sums[word] += number
    assert sums == words
    assert max(words.values()) > 0.5 * words.total()
    assert str(words.most_common(1)[0][1]) in capsys.readouterr().out.replace(",", "")


def test_custom_grouping_splits_the_alphabet(load: Any, start: Any) -> None:
    topology = load("custom_grouping")
    grouping = load_grouping(topology.by_name["shelf"].inputs[0].grouping.custom)
    grouping.prepare(None, "words", "default", [2, 3])  # type: ignore[arg-type]
    chosen = {
        each.values[0]: grouping.choose_tasks(each.values)
        for each in run_until_finished(start(topology.by_name["words"]))
    }
    assert (chosen["anchor"], chosen["heron"], chosen["storm"], chosen["zookeeper"]) == (
        [2],
        [2],
        [3],
        [3],
    )


def test_at_least_once_acks_every_line_in_the_end(
    load: Any, start: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = load("at_least_once")
    assert topology.config["topology.reliability.mode"] == "ATLEAST_ONCE"
    spout, bolt = (start(topology.by_name[name]) for name in ("lines", "unreliable"))
    seen: Counter[int] = Counter()
    for _ in range(2):  # the replays come after the spout has finished and a fail re-opens it
        spout.delegate.finished = 0
        for each in list(run_until_finished(spout)):
            seen[each.id] += 1
            bolt.process(received(each.values))
            (spout.fail if bolt.delegate.failed else spout.ack)(each.id)
            bolt.delegate.failed.clear()
    assert len(seen) == 100
    assert {number for number, times in seen.items() if times == 2} == set(range(0, 100, 7))
    assert capsys.readouterr().out == "100 of 100 lines acked, 15 replayed\n"


def test_all_and_global_applies_the_rule_before_the_readings(
    load: Any, start: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = load("all_and_global")
    spout, above, total = (start(topology.by_name[name]) for name in ("readings", "above", "total"))
    tuples = list(run_until_finished(spout))
    assert tuples[0].stream == "rules"
    for each in tuples:
        above.process(received(each.values, each.stream))
    for values in emitted(above, "default"):
        total.process(received(values))
    total.on_finish()
    assert capsys.readouterr().out == "5 readings above 60, 378 in total\n"


def plain_rates(events: list[tuple[str, str, int]], too_late_ms: int) -> tuple[Any, int]:
    """{(ad, start of a minute): [views, clicks]} of all but those far behind, and their number."""
    rates: dict[tuple[str, int], list[int]] = {}
    late, latest = 0, 0
    for ad, kind, time_ms in events:
        latest = max(latest, time_ms)
        if time_ms < latest - too_late_ms:
            late += 1
            continue
        counts = rates.setdefault((ad, time_ms // 60_000 * 60_000), [0, 0])
        counts[kind == "click"] += 1
    return rates, late


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE"])
def test_click_through_rates_are_those_of_all_events_but_the_late_ones(
    fresh_imports: None, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "topology.reliability.mode": mode,
        "click_through_rate.events": 4000,
        "topology.max.spout.pending": 3000,
    }
    with TopologyTester(str(EXAMPLES / "click_through_rate.py"), config=config) as tester:
        tester.run_spouts()
        tester.finish()
        (table,) = tester.component("table")
        example = sys.modules[type(table).__module__]
        events = list(example.events(4000, 1))
        expected, late = plain_rates(events, 5 * 60_000)
        assert late > 5
        assert (table.counts, table.late) == (expected, late)
        assert len(tester.acked("rates")) == 4000
    assert f"{late} events came too late" in capsys.readouterr().out


def plain_trading(orders: list[list[Any]], cash: int) -> tuple[list[str], Counter[Any]]:
    """The lines of the ledger, and (minute, symbol) -> shares ordered."""
    balance: dict[str, int] = {}
    shares: Counter[tuple[str, str]] = Counter()
    volumes: Counter[Any] = Counter()
    lines = []
    for number, account, symbol, quantity, price, time_ms in orders:
        volumes[time_ms // 60_000, symbol] += abs(quantity)
        left = balance.get(account, cash) - quantity * price
        if left < 0 or shares[account, symbol] + quantity < 0:
            lines.append(f"{number} {account} refused")
            continue
        balance[account] = left
        shares[account, symbol] += quantity
        lines.append(f"{number} {account} {quantity:+} {symbol} at {price}: cash {left}")
    return lines, volumes


def test_trades_are_exact_whatever_is_killed(fresh_imports: None, tmp_path: Path) -> None:
    """Each line is in the files once, though instances die between checkpoints."""
    config = {"trading.orders": 1000, "trading.secs": 0, "trading.folder": str(tmp_path)}
    with TopologyTester(str(EXAMPLES / "trading.py"), config=config) as tester:
        (spout,) = tester.component("orders")
        example = sys.modules[type(spout).__module__]
        for victim in ("ledger", "orders", "trades", "volumes", "report"):
            tester.run_spouts(100)
            tester.checkpoint()
            tester.run_spouts(50)
            tester.crash(victim)
        tester.run_spouts()
        tester.finish()
        orders = [example.order(number, 1) for number in range(1000)]
    lines, volumes = plain_trading(orders, example.CASH)
    assert sum(line.endswith("refused") for line in lines) > 100
    files = {name: sorted((tmp_path / name).glob("part-*")) for name in ("trades", "report")}
    assert len(files["trades"]) > 3
    written = {name: "".join(map(Path.read_text, some)) for name, some in files.items()}
    assert sorted(written["trades"].splitlines()) == sorted(lines)
    first = example.START_MS // 60_000
    assert sorted(written["report"].splitlines()) == sorted(
        f"minute {minute - first} {symbol} {volume}" for (minute, symbol), volume in volumes.items()
    )


def test_running_totals_survive_kills(
    fresh_imports: None, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"running_totals.payments": 700, "running_totals.secs": 0}
    with TopologyTester(str(EXAMPLES / "running_totals.py"), config=config) as tester:
        tester.run_spouts(100)
        tester.checkpoint()
        tester.run_spouts(50)
        tester.crash("totals")
        tester.run_spouts(50)
        tester.crash("payments")
        tester.run_spouts()
        tester.finish()
    paid: Counter[int] = Counter()
    for number in range(700):
        paid[number % 7] += number * number % 1000
    assert sorted(capsys.readouterr().out.splitlines()) == [
        f"customer{customer} has paid {cents / 100:.2f}" for customer, cents in sorted(paid.items())
    ]


def plain_sessions(rows: list[tuple[str, int]], gap_ms: int) -> Counter[int]:
    """Departures of a session -> how many sessions have as many."""
    by_aircraft: dict[str, list[int]] = {}
    for aircraft, time_ms in rows:
        by_aircraft.setdefault(aircraft, []).append(time_ms)
    found: Counter[int] = Counter()
    for times in by_aircraft.values():
        times.sort()
        begins = [at for at, time in enumerate(times) if not at or time - times[at - 1] >= gap_ms]
        found.update(
            end - start for start, end in zip(begins, [*begins[1:], len(times)], strict=True)
        )
    return found


def test_the_sessions_of_aircraft_are_those_of_a_plain_scan(fresh_imports: None) -> None:
    config = {"sessions.rows": 2000}
    path = str(EXAMPLES / "flights" / "sessions.py")
    with TopologyTester(path, config=config) as tester:
        tester.run_spouts()
        tester.finish()
        (longest,) = tester.component("longest")
        example = sys.modules[type(longest).__module__]
        rows = list(example.departures(2000))
        assert longest.sessions == plain_sessions(rows, example.GAP_MS)
        assert max(longest.sessions) >= 3


def test_columns_count_what_tuples_count(tmp_path: Path, fresh_imports: None) -> None:
    text = tmp_path / "text.txt"
    text.write_text("storm heron storm\n\n heron, storm?\n" * 9 + "once")
    config = {"word_count.files": str(text), "word_count.lines": 4, "word_count.top": 100}
    found = []
    for name in ("word_count", "columnar_word_count"):
        with TopologyTester(str(EXAMPLES / f"{name}.py"), config=config) as tester:
            tester.run_spouts()
            tester.finish()
            stream = "top" if name == "word_count" else "default"
            found.append(dict(tester.values("count", stream=stream)))
    assert found[0] == found[1] == {"storm": 27, "heron": 18, "once": 1}


def test_features_of_sensors_are_those_of_all_readings(fresh_imports: None) -> None:
    """Frames of polars emitted, read and windowed against one frame of all readings."""
    import polars

    path, readings = str(EXAMPLES / "sensor_features.py"), 2_500
    with TopologyTester(path, config={"sensor.readings": readings}) as tester:
        tester.run_spouts()
        tester.finish()
        fields = ["sensor", "time_ms", "fahrenheit", "discomfort"]
        clean = polars.DataFrame(tester.values("clean"), schema=fields, orient="row")
        found = sorted(tester.values("features"))
    assert len(clean) == readings - readings // 100
    expected = (
        clean.group_by("sensor", start=polars.col("time_ms") // 60_000 * 60_000)
        .agg(
            n=polars.len(),
            mean=polars.col("fahrenheit").mean(),
            most=polars.col("discomfort").max(),
        )
        .sort("sensor", "start")
    )
    assert len(found) == 5 * -(-readings // 60) == len(expected)
    for row, wanted in zip(found, expected.rows(), strict=True):
        assert row == pytest.approx(list(wanted))


def test_calls_to_the_outside_asks_and_writes() -> None:
    with TopologyTester(str(EXAMPLES / "calls_to_the_outside.py")) as tester:
        tester.run_spouts(20)
        assert [values[0] for values in tester.values("price")] == list(range(20))
        assert len(tester.received("write")) == 20


def test_dead_letters_keep_what_is_broken_and_tell_somebody(tmp_path: Path) -> None:
    config = {
        "topology.dead.letter": f"file:{tmp_path}/letters",
        "topology.reliability.mode": "ATMOST_ONCE",
    }
    with TopologyTester(str(EXAMPLES / "dead_letters.py"), config=config) as tester:
        tester.run_spouts(100)
        told = [each.values[-1] for each in tester.received("alarm")]
        assert told == [["order-50;"], ["order-100;"]]
        assert len(tester.received("total")) == 98
        assert len(tester.received("__dead_letters")) == 2
        assert all("ValueError" in str(each) for each in tester.errors("parse"))
