"""Bootstrap, broadcast and side inputs, host affinity of a job, and the example, in the tester."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heron_frontends.loading.load import load_topology
from heronpy_compat.samza import InitableTask, StreamTask
from heronpy_compat.testing import TopologyTester
from tests.process.process_support import EXAMPLES
from tests.unit.heronpy_compat.samza.samza_support import (
    RESULTS,
    counts_of,
    expected,
    job,
    properties,
    to_the_end,
    write_lines,
)


class Reading(StreamTask, InitableTask):
    """Notes task, stream and message; looks each message up in its side input, if it has one."""

    def init(self, context: Any) -> None:
        self.name, self.stores = context.task_name, context.stores

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        profiles = self.stores.get("profiles")
        looked_up = [] if profiles is None else [profiles.get(envelope.message)]
        stream = envelope.system_stream_partition.stream
        RESULTS.append((self.name, stream, envelope.message, *looked_up))


@pytest.fixture(autouse=True)
def no_results() -> None:
    RESULTS.clear()


def reading(folder: Path, **more: str) -> dict[str, str]:
    return properties(folder, f"{__name__}.Reading", **more)


def test_a_bootstrap_stream_is_read_to_its_end_before_all_others(tmp_path: Path) -> None:
    """At each start, whatever was committed: samza.reset.offset."""
    write_lines(tmp_path, "a b", "c")
    write_lines(tmp_path, "r1 r2", "r3", stream="rules")
    start = "systems__files__streams__rules__samza__"
    more = {f"{start}bootstrap": "true", f"{start}reset__offset": "true"}
    for _ in range(2):
        RESULTS.clear()
        with job(reading(tmp_path, task__inputs="files.lines, files.rules", **more)) as tester:
            to_the_end(tester)
        messages = [message for task, _, message in RESULTS if task == "Partition 0"]
        assert messages[:2] == ["r1", "r2"]
    assert messages == ["r1", "r2"], "the lines of the first run are committed"


def test_an_upcoming_stream_has_its_beginning_in_the_first_commit(tmp_path: Path) -> None:
    """Messages that come while no task runs are read by the next run."""
    more = {"systems__files__samza__offset__default": "upcoming"}
    write_lines(tmp_path, "before")
    for words, expected_messages in (("before", []), ("before meanwhile", ["meanwhile"])):
        write_lines(tmp_path, words)
        with job(reading(tmp_path, **more)) as tester:
            to_the_end(tester)
        assert [message for _, _, message in RESULTS] == expected_messages


def test_a_stream_of_a_higher_priority_comes_first(tmp_path: Path) -> None:
    write_lines(tmp_path, "a b c")
    write_lines(tmp_path, "u v w", stream="urgent")
    more = {"systems__files__streams__urgent__samza__priority": "5"}
    with job(reading(tmp_path, task__inputs="files.lines,files.urgent", **more)) as tester:
        to_the_end(tester)
    assert [message for _, _, message in RESULTS] == ["u", "v", "w", "a", "b", "c"]


def test_streams_of_equal_priority_take_turns(tmp_path: Path) -> None:
    write_lines(tmp_path, "a b c")
    write_lines(tmp_path, "u v w", stream="more")
    with job(reading(tmp_path, task__inputs="files.lines,files.more")) as tester:
        to_the_end(tester)
    assert [message for _, _, message in RESULTS] == ["a", "u", "b", "v", "c", "w"]


def test_a_broadcast_partition_is_given_to_each_task(tmp_path: Path) -> None:
    write_lines(tmp_path, "a", "b", "c")
    write_lines(tmp_path, "x", "all", "none", "all too", stream="config")
    more = {"task__broadcast__inputs": "files.config#1, files.config#[3-3]"}
    for _ in range(2):  # the second run goes on behind what the first one has committed
        with job(reading(tmp_path, job__container__count="2", **more)) as tester:
            to_the_end(tester)
        found = Counter(message for _, _, message in RESULTS)
        assert found == {"a": 1, "b": 1, "c": 1, "all": 6, "too": 3}
    broadcast = {task for task, stream, _ in RESULTS if stream == "config"}
    assert broadcast == {"Partition 0", "Partition 1", "Partition 2"}


class UpperCase:
    """A processor of side inputs."""

    def process(self, envelope: Any, store: Any) -> Any:
        return [(envelope.key, envelope.message.upper())]


@pytest.mark.parametrize("processor", ["", f"{__name__}.UpperCase"])
def test_a_side_input_is_there_before_the_first_message(tmp_path: Path, processor: str) -> None:
    write_lines(tmp_path, "ada grace ada")
    (tmp_path / "profiles").write_text("ada=x\nada=mathematician\ngrace=admiral\n")
    more = {
        "systems__files__key__separator": "=",
        "stores__profiles__factory": (
            "org.apache.samza.storage.kv.inmemory.InMemoryKeyValueStorageEngineFactory"
        ),
        "stores__profiles__key__serde": "string",
        "stores__profiles__msg__serde": "string",
        "stores__profiles__side__inputs": "files.profiles",
    }
    if processor:
        more["stores__profiles__side__inputs__processor__factory"] = processor
    with job(reading(tmp_path, **more)) as tester:
        to_the_end(tester)
    known = {"ada": "mathematician", "grace": "admiral"}
    assert [each[2:] for each in RESULTS] == [
        (name, known[name].upper() if processor else known[name])
        for name in ("ada", "grace", "ada")
    ]


def test_a_container_on_the_same_host_restores_only_the_tail(tmp_path: Path) -> None:
    """S2: the metric of bytes is 0 with the local copy, and all of the changelog without."""
    words = " ".join(f"w{number}" for number in range(200))
    write_lines(tmp_path, words)
    local = {"job__host-affinity__enabled": "true",
             "job__logged__store__base__dir": str(tmp_path / "local")}  # fmt: skip
    with job(properties(tmp_path, **local)) as tester:
        to_the_end(tester)
    with job(properties(tmp_path, **local)) as tester:
        tester.run_spouts(1)
        assert tester.metrics("tasks")["user"]["samza-restored-bytes"] == 0
        assert counts_of(tester) == expected(words)
    shutil.rmtree(tmp_path / "local")
    with job(properties(tmp_path, **local)) as tester:
        tester.run_spouts(1)
        user = tester.metrics("tasks")["user"]
        assert user["samza-restored-entries"] == 200
        assert user["samza-restored-bytes"] == sum(len(word) + 4 for word in words.split())
        assert counts_of(tester) == expected(words)


def test_a_changelog_is_in_any_file_system_of_fsspec(tmp_path: Path) -> None:
    """S1 with a URL: fsspec's local file system stands for S3, HDFS, …"""
    write_lines(tmp_path, "a b a")
    remote = {
        "systems__remote__samza__factory": "heronpy.FileSystemFactory",
        "systems__remote__path": f"local://{tmp_path}/remote",
        "stores__counts__changelog": "remote.counts",
        "task__checkpoint__path": f"local://{tmp_path}/checkpoints",
    }
    for _ in range(2):
        with job(properties(tmp_path, **remote)) as tester:
            to_the_end(tester)
            assert counts_of(tester) == expected("a b a")
    assert list((tmp_path / "remote").rglob("0*-0*"))


def test_the_example_gives_the_results_of_its_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """hello-samza's two jobs, one behind the other."""
    shutil.copytree(EXAMPLES / "samza", tmp_path / "samza", ignore=shutil.ignore_patterns("out"))
    monkeypatch.syspath_prepend(str(tmp_path / "samza"))
    for name in ("parser", "stats"):
        path = str(tmp_path / "samza" / f"wikipedia-{name}.properties")
        with TopologyTester(load_topology(path)) as tester:
            to_the_end(tester)
    check_example(tmp_path / "samza")


def check_example(folder: Path) -> None:
    """Edits and bytes of each title, by lines and not by tasks."""
    lines = [
        line
        for path in (folder / "feed" / "wikipedia-raw").iterdir()
        for line in path.read_text().splitlines()
    ]
    edits, sizes, malformed = Counter[str](), Counter[str](), []
    for line in lines:
        if not line.startswith("[["):
            malformed.append(line)
            continue
        title = line[2:].partition("]]")[0]
        edits[title] += 1
        sizes[title] += int(line.partition("* (")[2].partition(")")[0])

    def written(stream: str) -> list[str]:
        paths = (folder / "out" / stream).glob("part-*")
        return [line for path in paths for line in path.read_text().splitlines()]

    assert sorted(written("wikipedia-malformed")) == sorted(malformed)
    results = [json.loads(line) for line in written("wikipedia-stats")]
    assert {each["title"]: each["edits"] for each in results} == edits
    assert {each["title"]: each["bytes"] for each in results} == sizes
    assert len(malformed) + edits.total() == len(lines)
