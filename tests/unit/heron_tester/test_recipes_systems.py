"""Programs of the recipes for systems and operation do as their sections say: services are
servers in the test's process, Kafka is librdkafka's mock cluster, sqlite replaces Postgres."""

import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import confluent_kafka
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from heron_api.state.binding import component_state
from heron_api.state.migration import migrate
from heron_core.topology import ComponentSpec
from heronpy_compat.testing import TopologyTester, materialize_in_tester
from tests.unit.heron_tester.recipes_support import programs, shown, text_of

PAGES = ("RECIPES_SYSTEMS.md", "RECIPES_TABLES.md", "RECIPES_OPERATION.md")
PROGRAMS = {name: text for page in PAGES for name, text in programs(page).items()}
SHOWN = {name: lines for page in PAGES for name, lines in shown(page).items()}
FILES = programs("RECIPES.md") | programs("RECIPES_TIME.md") | PROGRAMS
SECRET = "abcdefghijkl"
READ_SECS = 60.0
"""Longest time until a Kafka spout has read its topic: however many calls, a busy machine's
consumer joins its group later."""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The current folder has the programs of all pages; later tests find none of their modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, program in FILES.items():
        Path(f"{name}.py").write_text(program)
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in FILES:
        sys.modules.pop(name, None)


Printed = Callable[[], list[str]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Lines since the last look."""

    def lines() -> list[str]:
        return capsys.readouterr().out.splitlines()

    return lines


def run_to_its_end(name: str, config: dict[str, Any] | None = None) -> None:
    """All tuples of the spouts, then on_finish."""
    with TopologyTester(f"{name}.py", config=config or {}) as tester:
        tester.run_spouts()
        tester.finish()


@dataclass
class Service:
    """A price list that answers 503 to the first `refusals` requests, and keeps their bodies."""

    refusals: int = 0
    requests: int = 0
    bodies: list[Any] = field(default_factory=list)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """To one request."""
        self.requests += 1
        length = int(handler.headers.get("Content-Length") or 0)
        if length:
            self.bodies.append(json.loads(handler.rfile.read(length)))
        product = parse_qs(urlsplit(handler.path).query).get("product", ["tea"])[0]
        body = json.dumps({"price": {"tea": 3, "coffee": 5}[product]}).encode()
        handler.send_response(503 if self.requests <= self.refusals else 200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def served(service: Service) -> Iterator[Service]:
    """The service on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.answer(self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            """Not on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}/"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(("name", "refusals"), [("call_api", 0), ("retry_call", 2)])
def test_a_service_is_called(
    name: str, refusals: int, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(Service(refusals)) as service:
        monkeypatch.setenv("PRICES_URL", service.url)
        run_to_its_end(name)
    assert printed() == SHOWN[name][0]
    assert service.requests == 2 + refusals


def test_readings_are_sent_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request is refused, so its readings come again."""
    with served(Service(refusals=1)) as service:
        monkeypatch.setenv("READINGS_URL", service.url)
        with TopologyTester("batch_calls.py") as tester:
            tester.run_spouts(200)
            tester.advance(1.1)
            tester.run_spouts()
            tester.finish()
            assert len(tester.acked("readings")) == 120
            assert "503" in tester.errors("send")[0].text
    sizes = [len(body) for body in service.bodies]
    assert sizes[:2] == [50, 50]
    assert sum(sizes) == 170
    assert {number for body in service.bodies[1:] for number, _ in body} == set(range(120))


@pytest.mark.parametrize("name", ["rate_limit", "count_reasons", "visits"])
def test_a_recipe_prints_what_the_page_shows(name: str, printed: Printed) -> None:
    run_to_its_end(name)
    assert sorted(printed()) == sorted(SHOWN[name][0])


def test_fast_answers_leave_first(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message has all requests: the tester ends the coroutines of a message before the next."""
    program = import_module("fast_first")

    def all_at_once(self: Any) -> None:
        for row in self.rows:
            self.emit(row)
        self.finish()

    monkeypatch.setattr(program.Requests, "next_tuple", all_at_once)
    with TopologyTester(program.FastFirst) as tester:
        tester.run_spouts()
    assert printed() == SHOWN["fast_first"][0]


def test_requests_have_a_pace() -> None:
    import_module("rate_limit")
    with TopologyTester("rate_limit.py") as tester:
        tester.run_spouts()
        (ask,) = tester.component("ask")
        assert ask.pause_secs == pytest.approx(0.1)


def test_a_malformed_line_is_a_letter(printed: Printed) -> None:
    """The folder of the letters is written by processes: tests/process/test_dead_letters.py."""
    with TopologyTester("order_lines.py", config={"topology.dead.letter": None}) as tester:
        tester.run_spouts()
        assert [error.text for error in tester.errors("parse")] != []
    assert printed() == SHOWN["order_lines"][0]


def test_an_archive_and_a_live_source_meet_at_the_cut(printed: Printed) -> None:
    hours = {"archive": (8.1, 8.2, 9.5, 10.2), "live": (9.5, 10.2, 11.1)}
    lines = {
        source: "".join(json.dumps({"page": "/", "time_ms": int(each * 3_600_000)}) + "\n"
                        for each in times)
        for source, times in hours.items()
    }  # fmt: skip
    Path("archive").mkdir()
    Path("archive", "day.jsonl").write_text(lines["archive"])
    Path("live.jsonl").write_text(lines["live"])
    with TopologyTester("backfill.py") as tester:
        tester.run_spouts(20)
        tester.advance(2)
        tester.run_spouts(20)
    assert printed() == SHOWN["backfill"][0]


def test_orders_are_rows_once() -> None:
    """sqlite, as the section names it for a trial; Postgres itself: tests/connectors."""
    with closing(sqlite3.connect("shop.db")) as database:
        database.execute(SHOWN["orders_to_postgres"][0][0])
    config = {"database.module": "sqlite3", "database.connect": "shop.db"}
    with TopologyTester("orders_to_postgres.py", config=config) as tester:
        tester.run_spouts(2)
        assert tester.checkpoint()
        tester.crash("written")
        tester.run_spouts()
        assert tester.checkpoint()
        tester.finish()
    with closing(sqlite3.connect("shop.db")) as database:
        rows = database.execute("SELECT * FROM orders ORDER BY id").fetchall()
    assert rows == import_module("orders_to_postgres").Orders.rows


class Brokers:
    """librdkafka's mock cluster, with orders in the topic `orders`."""

    def __init__(self) -> None:
        self.client = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = self.client.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in brokers)
        for topic in ("orders", "taxed"):
            self.client.list_topics(topic, timeout=10)
        for customer, amount in (("ada", 100.0), ("bob", 10.0)):
            value = {"customer": customer, "amount": amount, "day": "2026-01-01"}
            self.client.produce("orders", json.dumps(value))
        assert self.client.flush(10) == 0

    def run(self, name: str) -> None:
        """To the end of the topic."""
        config = {"kafka.bootstrap.servers": self.servers, "kafka.finish.at.end": True}
        with TopologyTester(f"{name}.py", config=config, patch_time=False) as tester:
            deadline = time.monotonic() + READ_SECS
            while len(tester.emitted("orders")) < 2:
                assert time.monotonic() < deadline, "the topic is not read"
                tester.run_spouts(1)
            assert tester.checkpoint()
            tester.run_spouts()
            assert tester.checkpoint()
            tester.finish()

    def values(self, topic: str, count: int) -> list[Any]:
        """Of so many records, by their keys."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.servers, "group.id": "test", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([topic])
        records = consumer.consume(count, timeout=20)
        consumer.close()
        texts = [((each.key() or b"").decode(), each.value() or b"null") for each in records]
        return sorted((key, json.loads(value)) for key, value in texts)


def test_records_are_changed_into_another_topic() -> None:
    brokers = Brokers()
    brokers.run("kafka_to_kafka")
    assert brokers.values("taxed", 2) == [
        ("ada", {"customer": "ada", "gross": 119.0}),
        ("bob", {"customer": "bob", "gross": 11.9}),
    ]


def test_records_are_rows_of_iceberg() -> None:
    Brokers().run("kafka_to_iceberg")
    catalog = load_catalog("default", **import_module("kafka_to_iceberg").CATALOG)
    rows = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    catalog.close()
    assert sorted((each["customer"], each["amount"], each["day"]) for each in rows) == [
        ("ada", 100.0, "2026-01-01"),
        ("bob", 10.0, "2026-01-01"),
    ]


def test_files_are_in_both_tables() -> None:
    Path("flights").mkdir()
    Path("flights", "a.csv").write_text("carrier,day,delay\nUA,2013-01-01,2\nAA,2013-01-02,45\n")
    with TopologyTester("files_to_tables.py") as tester:
        tester.run_spouts()
        assert tester.checkpoint()
        tester.finish()
    for table in (DeltaTable("flights_delta").to_pyarrow_table(), pq.read_table("out")):
        rows = sorted((row["carrier"], str(row["day"]), row["delay"]) for row in table.to_pylist())
        assert rows == [("AA", "2013-01-02", 45), ("UA", "2013-01-01", 2)]


def test_the_test_of_the_page_passes() -> None:
    module = import_module("test_alerts")
    tests = [getattr(module, name) for name in dir(module) if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_a_breakpoint_is_reached() -> None:
    """The first line of the page is the command; the text behind each prompt is typed."""
    command, *typed = SHOWN["debug_alerts"][0]
    text = "\n".join(line.removeprefix("(Pdb) ") for line in typed) + "\nclear\ny\ncontinue\nquit\n"
    python = shutil.which("sh")
    assert python is not None
    ended = subprocess.run(
        [python, "-c", command.replace("python", sys.executable, 1)],
        input=text, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "('readings', ['s1', 70])" in ended.stdout, ended.stdout + ended.stderr
    assert "[['s1', 91, 'starts']] []" in ended.stdout, ended.stdout


def test_a_profile_has_the_functions_of_the_topology(printed: Printed) -> None:
    import_module("profile_top_words")
    assert [line for line in printed() if re.search(r"top_words.py:\d+\(process\)", line)]


def test_a_secret_is_read_from_a_file(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token.txt").write_text(f"{SECRET}\n")
    monkeypatch.setenv("SHOP_TOKEN_FILE", "token.txt")
    run_to_its_end("with_secret")
    assert printed() == SHOWN["with_secret"][-1]


def test_counts_have_their_reason() -> None:
    with TopologyTester("count_reasons.py") as tester:
        tester.run_spouts()
        counts = tester.metrics("check")["user"]
    assert counts == {"rejected": {"missing": 1, "negative": 2}}
    assert json.dumps(counts, sort_keys=True)[1:-1] in SHOWN["count_reasons"][1][0]


def test_counts_of_the_version_before_are_kept() -> None:
    spec = ComponentSpec("visits", False, "visits.Visits", 1)
    before = component_state(spec, {})
    before.value_state("count", 0).for_key("ada").put(41)
    state = component_state(spec, {})
    state.restore(before.snapshot())
    visits = import_module("visits").Visits

    class Began(visits):  # type: ignore[misc, valid-type]
        """As an instance is before `initialize`, with its state bound."""

        def init_state(self, state: Any) -> None:
            self.visit = state.value_state("visit")

    user = Began.__new__(Began)
    user.init_state(state)
    migrate(user, state, "visits", is_restored=True)
    assert dict(user.visit.all_items()) == {"ada": [41, "unknown"]}


@pytest.mark.parametrize("name", PAGES)
def test_each_section_can_be_reached(name: str) -> None:
    page = text_of(name)
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    contents = " ".join(page.partition("\n## ")[0].split())
    links = [text for text, _ in re.findall(r"\[([^]]*)\]\(#(.*?)\)", contents)]
    assert links == sections
    assert page.count("```python") == len(programs(name)) == len(sections)


def test_ask_a_topology_from_a_program(printed: Printed) -> None:
    """The program runs in processes; here its graph and its loop, in the tester."""
    program = import_module("ask_words")

    async def main() -> None:
        async with materialize_in_tester(program.graph()) as flow:
            await program.counts(flow)

    asyncio.run(main())
    assert printed() == SHOWN["ask_words"][-1]
