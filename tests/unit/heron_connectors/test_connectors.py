"""The sources that come with heronpy: a loop over items, text files, a topic of Pulsar."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_core.errors import HeronError
from heronpy_compat.connectors.mock.arraylooper import ArrayLooper
from heronpy_compat.connectors.pulsar.pulsarspout import PulsarSpout
from heronpy_compat.connectors.pulsar.pulsarstreamlet import PulsarStreamlet
from heronpy_compat.connectors.textfiles.textfilesgenerator import TextFileGenerator
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.runner import Runner
from tests.unit.local_cluster import LocalCluster, submitted


def cluster_of(builder: Builder, **config: Any) -> LocalCluster:
    topology = submitted(lambda: Runner().run("tested", Config(), builder))
    return LocalCluster(topology, **config)


def test_an_array_looper_begins_anew_for_ever() -> None:
    builder = Builder()
    builder.new_source(ArrayLooper(["a", "b"])).log()
    made = cluster_of(builder)
    for _ in range(3):
        made.turn()
    assert made.elements("generator-1")[:5] == ["a", "b", "a", "b", "a"]


def test_an_array_looper_sleeps_before_each_item(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    looper = ArrayLooper([1], sleep=0.5)
    looper.setup(None)  # type: ignore[arg-type]
    assert [looper.get(), looper.get()] == [1, 1]
    assert slept == [0.5, 0.5]


def test_an_array_looper_needs_items() -> None:
    with pytest.raises(RuntimeError, match="ArrayLooper takes something to iterate over: 5"):
        ArrayLooper(5)  # type: ignore[arg-type]
    empty = Builder()
    empty.new_source(ArrayLooper([])).log()
    assert cluster_of(empty).run().elements("generator-1") == []


def test_text_files_are_shared_out_and_read_in_order(tmp_path: Path) -> None:
    """heronpy's setup raised, and its lines came from the last to the first."""
    for name, text in {"a.txt": "1\n2\n", "b.txt": "", "c.txt": "5\n6", "d.log": "x\n"}.items():
        (tmp_path / name).write_text(text)
    builder = Builder()
    lines = builder.new_source(TextFileGenerator(f"{tmp_path}/*.txt")).set_num_partitions(2)
    lines.repartition(1).log()
    made = cluster_of(builder).run()
    assert made.partitions("generator-1") == [["1\n", "2\n", "5\n", "6"], []]


# --- Pulsar --------------------------------------------------------------------------------------


def test_pulsar_without_its_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules import; using them is one line."""
    monkeypatch.setitem(sys.modules, "pulsar", None)
    expected = "needs the package pulsar-client: pip install pulsar-client"
    with pytest.raises(HeronError, match=expected):
        TopologyBuilder("t").add_spout("messages", PulsarSpout, 1)
    builder = Builder()
    builder.new_source(PulsarStreamlet("pulsar://localhost:6650", "words"))
    with pytest.raises(HeronError, match=expected):
        cluster_of(builder)


class FakePulsar:
    """As much of the package `pulsar` as the spout uses, with two messages."""

    class Timeout(Exception):
        pass

    ConsumerType = SimpleNamespace(Failover="failover")

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.messages = [("id 1", b"one"), ("id 2", "zw\xf6lf".encode())]

    def Client(self, url: str) -> "FakePulsar":  # noqa: N802 (pulsar's name)
        self.calls.append(("client", url))
        return self

    def subscribe(self, topic: str, name: str, **options: Any) -> "FakePulsar":
        self.calls.append(("subscribe", topic, name, options))
        return self

    def receive(self, timeout_millis: int) -> Any:
        if not self.messages:
            raise self.Timeout(timeout_millis)
        number, data = self.messages.pop(0)
        return SimpleNamespace(data=lambda: data, message_id=lambda: number)

    def acknowledge(self, number: str) -> None:
        self.calls.append(("ack", number))

    def negative_acknowledge(self, number: str) -> None:
        self.calls.append(("nack", number))

    def close(self) -> None:
        self.calls.append(("close",))


def refuse_one(text: str) -> str:
    if text == "one":
        raise ValueError(text)
    return text


def test_a_pulsar_topic_is_read_and_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message whose tuple fails is sent back; a fake stands for the client."""
    pulsar = FakePulsar()
    monkeypatch.setitem(sys.modules, "pulsar", pulsar)
    builder = Builder()
    messages = PulsarStreamlet.pulsarStreamlet("pulsar://localhost:6650", "public/words")
    builder.new_source(messages).map(refuse_one).log()
    made = cluster_of(builder, topology_reliability_mode="ATLEAST_ONCE")
    for _ in range(3):
        made.turn()
    assert made.elements("pulsarspout-words-1") == ["one", "zw\xf6lf"]
    made.component("pulsarspout-words-1").close()
    options = {"consumer_type": "failover", "unacked_messages_timeout_ms": 30000}
    assert pulsar.calls[:2] == [
        ("client", "pulsar://localhost:6650"),
        ("subscribe", "public/words", "tested", options),
    ]
    assert sorted(pulsar.calls[2:]) == [("ack", "id 2"), ("close",), ("nack", "id 1")]


def test_a_pulsar_spout_needs_service_and_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pulsar", FakePulsar())
    builder = TopologyBuilder("t")
    builder.add_spout("messages", PulsarSpout, 1)
    topology = submitted(builder.build_and_submit)
    with pytest.raises(HeronError, match="spout 'messages': its config needs PULSAR_SERVICE_URL"):
        LocalCluster(topology)
    with pytest.raises(RuntimeError, match="PulsarStreamlet needs a topic_name"):
        PulsarStreamlet("pulsar://localhost:6650", None)  # type: ignore[arg-type]
