"""Content of the state store, in answers of node managers, and in the cluster's file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from heron_core.algorithms.backoff import RestartPolicy
from heron_core.errors import UsageError
from heron_engine.scheduler.backends.yarn import requests
from heron_engine.scheduler.backends.yarn.client import YarnNode, plain, queue_capacity
from heron_engine.scheduler.backends.yarn.configuration import conf_folder
from heron_engine.scheduler.backends.yarn.diagnostics import Capacity
from heron_engine.scheduler.backends.yarn.events import Ask, Grant
from heron_engine.scheduler.backends.yarn.jvm import in_one_line
from heron_engine.scheduler.backends.yarn.logs import contents
from heron_engine.scheduler.backends.yarn.slots import Slot, SlotPhase
from heron_engine.scheduler.clusters.backends import backend_of
from heron_engine.scheduler.clusters.config import parse
from heron_engine.scheduler.registration import forget
from heron_io.state_store.file_store import FileStore

KEY = "yarn: conf_dir in w.yaml"
CONFIGURATION = "<configuration></configuration>"


def node(phase: SlotPhase = SlotPhase.RUNNING) -> dict[str, Any]:
    """The scheduler's node with container 2."""
    grant = Grant("container_a", 2, "n:1", "n:2")
    slots = [
        Slot(2, Ask(1, 1), RestartPolicy(1), phase, grant),
        Slot(3, Ask(1, 1), RestartPolicy(1)),
    ]
    return {"kind": "yarn", "containers": requests.rows(slots)}  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "number", "container", "why"),
    [
        (node(), 2, "container_a", None),
        (node(SlotPhase.STARTING), 2, "container_a", None),
        (node(SlotPhase.ENDING), 2, "container_a", "stopped by the application master"),
        (node(), 2, "container_b", "container 2 is container_a now"),
        (node(), 3, "container_c", "no longer known to the application master"),
    ],
)
def test_whether_a_container_may_stay(
    seen: Mapping[str, Any], number: int, container: str, why: str | None
) -> None:
    """Also a container beyond a kill, after the loss of its node manager."""
    found = requests.end_reason(seen, number, container)
    assert (found is None) == (why is None)
    assert why is None or why in str(found)


def test_how_many_run() -> None:
    """Without the topology master's place."""
    assert requests.running(node()) == 1
    assert requests.running(node(SlotPhase.STARTING)) == 0
    own = {"id": "m", "host": "n:1", "http": "n:2", "phase": "running"}
    assert requests.running({"containers": {"0": own}}) == 0
    assert requests.running(None) == 0


def answer(text: bytes, length: int) -> bytes:
    """As NMWebServices gives the end of a file."""
    return (
        b"Container: container_1 on n:1\nLogAggregationType: LOCAL\n====\nLogType:word-3.log\n"
        b"LogLastModifiedTime:Sat\nLogLength:%d\nLogContents:\n%s"
        b"End of LogType:word-3.log.This log file belongs to a running container\n****\n"
        % (length, text)
    )


@pytest.mark.parametrize("text", [b"one\ntwo\n", b"one\ntw", b"", b"LogContents:\nLogLength:9\n"])
def test_the_end_of_a_log(text: bytes) -> None:
    """Exactly the file's bytes, with or without a final newline."""
    assert contents(answer(text, len(text)), 1000) == (len(text), text)
    assert contents(answer(text[-3:], len(text)), 3) == (len(text), text[-3:])


def test_no_answer_of_a_node_manager() -> None:
    """For example a proxy's page."""
    with pytest.raises(ValueError, match="not a node manager's answer"):
        contents(b"<html>", 10)


def test_hadoops_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster file's, else HADOOP_CONF_DIR; with a yarn-site.xml that is XML."""
    for each in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(each, raising=False)
    with pytest.raises(UsageError, match=r"YARN is not known: set yarn: conf_dir in w\.yaml"):
        conf_folder(None, KEY)
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    with pytest.raises(UsageError, match=r"has no yarn-site\.xml"):
        conf_folder(None, KEY)
    (tmp_path / "yarn-site.xml").write_text(CONFIGURATION)
    assert conf_folder(None, KEY) == str(tmp_path)
    (tmp_path / "core-site.xml").write_text("<configuration>")
    with pytest.raises(UsageError, match=r"core-site\.xml is not XML: no element found"):
        conf_folder(None, KEY)
    (tmp_path / "core-site.xml").write_text("<other/>")
    with pytest.raises(UsageError, match="starts with <other>"):
        conf_folder(str(tmp_path), KEY)


def test_the_clusters_file() -> None:
    """A cluster of ours, not of Spark's."""
    text = "scheduler: yarn\nstate: zk://z:2181/h\nyarn: {queue: prod, ready_secs: 30}"
    backend = backend_of(parse(text, "big", "big.yaml"))
    assert (backend.kind, backend.ready_secs) == ("yarn", 30)
    assert backend.node_fields() == {"cluster": "big", "application": ""}
    with pytest.raises(UsageError, match="the key 'gang' is not known"):
        parse("scheduler: yarn\nstate: zk://z:2181/h\nyarn: {gang: true}", "big", "big.yaml")


def test_javas_words() -> None:
    """Without class names and stacks."""
    said = "org.apache.hadoop.security.AccessControlException: no\n\tat org.apache"
    assert in_one_line(said) == "no"
    assert plain(f"Failed to submit application_12_0003 to YARN : {said}".splitlines()[0]) == "no"


def test_what_a_topology_waits_for_stands_in_its_scheduler_s_node() -> None:
    """Shown by `heronpy stats`: users rarely read a log of the application master."""
    slots = [
        Slot(1, Ask(512, 1), RestartPolicy(1), SlotPhase.RUNNING, Grant("a", 1, "n:1", "n:2")),
        Slot(2, Ask(4096, 2), RestartPolicy(1), SlotPhase.ASKED),
    ]
    assert "container 2 (4096 MB, 2 vcores)" in requests.waiting_words(slots)
    assert requests.waiting_words(slots[:1]) == ""


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.5, Capacity(3072, 3)),
        (1.0, Capacity(6144, 6)),
        (0.0, Capacity(1024, 1)),
        (-1.0, Capacity(1024, 1)),
    ],
)
def test_a_queue_may_give_more_than_its_guaranteed_share(share: float, expected: Capacity) -> None:
    """Up to its maximum, within the nodes' capacity; without a known maximum, its share."""
    nodes = [
        YarnNode(Capacity(4096, 4), Capacity(3072, 3)),
        YarnNode(Capacity(4096, 4), Capacity(3072, 3)),
    ]
    assert queue_capacity(Capacity(1024, 1), Capacity(1024, 1), share, nodes) == expected


def test_requests_wait_beside_each_other_for_the_application_master(tmp_path: Path) -> None:
    """Two commands before its poll: both requests stay."""
    with FileStore(str(tmp_path)) as store:
        room = {requests.CAPACITY: {"2": [4, 1]}}
        asked: list[dict[str, Any]] = [{"restart": [1]}, room, {"restart": [2]}]
        for each in asked:
            requests.request(store, "words", each)
        assert requests.take_requests(store, "words") == asked
        assert requests.take_requests(store, "words") == []
        requests.request(store, "words", {"end": "a kill"})
        forget(store, "words")
        assert requests.take_requests(store, "words") == []
