"""Tasks of Samza's API in the tester: partitions, calls, requests, failures."""

from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError
from heronpy_compat.samza import (
    AsyncStreamTask,
    MessageCollector,
    OutgoingMessageEnvelope,
    RequestScope,
    StreamTask,
    SystemStream,
    SystemStreamPartition,
    TaskCoordinator,
    WindowableTask,
)
from tests.unit.heronpy_compat.samza.samza_support import (
    COUNTS,
    RESULTS,
    counts_of,
    expected,
    job,
    properties,
    to_the_end,
    write_lines,
)

WORDS = "storm heron storm", "samza storm", "heron"


@pytest.fixture(autouse=True)
def no_results() -> None:
    RESULTS.clear()


def sent(tester: Any) -> list[str]:
    return [values[0].decode() for values in tester.values("tasks", stream="files.counts")]


def test_one_task_for_each_partition_with_its_own_store(tmp_path: Path) -> None:
    """N4: tasks are divided among containers, and a store has the words of its partition."""
    write_lines(tmp_path, *WORDS)
    with job(properties(tmp_path, job__container__count="2")) as tester:
        tester.run_spouts()
        names = [[task.name for task in each._tasks] for each in tester.component("tasks")]
        assert names == [["Partition 0", "Partition 2"], ["Partition 1"]]
        first = tester.component("tasks")[0]._tasks[0].stores["counts"]
        assert dict(first.all()) == {"heron": 1, "storm": 2}
        assert counts_of(tester) == expected(*WORDS)
        assert sorted(sent(tester)) == [
            "heron 1", "heron 1", "samza 1", "storm 1", "storm 1", "storm 2",
        ]  # fmt: skip
    ended = {("end", f"Partition {each}") for each in range(3)}
    assert ended | {("close", name) for _, name in ended} == set(RESULTS)


def test_a_task_goes_on_where_it_has_committed(tmp_path: Path) -> None:
    write_lines(tmp_path, "a b a")
    with job(properties(tmp_path)) as tester:
        to_the_end(tester)
    write_lines(tmp_path, "a b a c a")
    with job(properties(tmp_path)) as tester:
        tester.run_spouts()
        assert sent(tester) == ["c 1", "a 3"]


class Noting(StreamTask, WindowableTask):
    """Notes what it is called with."""

    def process(
        self, envelope: Any, collector: MessageCollector, coordinator: TaskCoordinator
    ) -> None:
        RESULTS.append((str(envelope.system_stream_partition), envelope.offset, envelope.key,
                        envelope.message))  # fmt: skip
        if envelope.message == "end all":
            coordinator.shutdown(RequestScope.ALL_TASKS_IN_CONTAINER)
        if envelope.message == "end":
            coordinator.shutdown(RequestScope.CURRENT_TASK)
        if envelope.message == "elsewhere":
            collector.send(OutgoingMessageEnvelope(SystemStream("files", "other"), 1))

    def window(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        RESULTS.append("window")
        collector.send(OutgoingMessageEnvelope(COUNTS, "k", "window"))


def noting(folder: Path, **more: str) -> dict[str, str]:
    return properties(folder, f"{__name__}.Noting", **more)


def test_envelopes_have_partition_offset_key_and_message(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text('k1\t{"a":1}\nnull\n')
    more = {"systems__files__key__separator": "\t", "systems__files__samza__msg__serde": "json"}
    with job(noting(tmp_path, **more)) as tester:
        tester.run_spouts()
    assert RESULTS == [
        ("files.lines.0", "0", "k1", {"a": 1}),
        ("files.lines.0", "11", None, None),
    ]


def test_a_window_is_called_each_time_and_its_outputs_have_keys(tmp_path: Path) -> None:
    write_lines(tmp_path, "a")
    more = {"task__window__ms": "60000", "systems__files__key__separator": "=",
            "systems__files__bounded": "false"}  # fmt: skip
    with job(noting(tmp_path, **more)) as tester:
        tester.run_spouts()
        tester.advance(59)
        tester.run_spouts()
        assert "window" not in RESULTS
        tester.advance(2)
        tester.run_spouts()
        assert RESULTS.count("window") == 1
        assert sent(tester) == ["k=window"]


def test_shutdown_of_all_tasks_commits_and_ends(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nend all\nb\n")
    for expected_messages in (["a", "end all"], ["b"]):
        RESULTS.clear()
        with job(noting(tmp_path)) as tester:
            to_the_end(tester)
        assert [each[3] for each in RESULTS] == expected_messages


def test_shutdown_of_one_task_waits_until_each_has_asked(tmp_path: Path) -> None:
    write_lines(tmp_path, "end a b", "c end d e f g h")
    with job(noting(tmp_path)) as tester:
        tester.run_spouts()
    messages = [each[3] for each in RESULTS]
    assert {"end", "a", "c"} <= set(messages)
    assert "h" not in messages


def test_an_exception_ends_the_container_and_its_message_is_read_again(tmp_path: Path) -> None:
    """What was not committed is read again; the store is that of the last commit."""
    write_lines(tmp_path, "a commit b raise")
    with job(properties(tmp_path)) as tester:
        to_the_end(tester)
        assert "a word that cannot be counted" in tester.errors("tasks")[-1].text
    write_lines(tmp_path, "a commit b c")
    with job(properties(tmp_path)) as tester:
        tester.run_spouts()
        assert sent(tester) == ["b 1", "c 1"]


def test_ignored_exceptions_and_undecodable_messages_are_counted(tmp_path: Path) -> None:
    write_lines(tmp_path, "a raise b")
    with job(properties(tmp_path, task__ignored__exceptions="ValueError")) as tester:
        tester.run_spouts()
        assert counts_of(tester) == expected("a b")
        (problem,) = tester.errors("tasks")
        assert "Partition 0: files.lines.0 at 2: ValueError" in problem.text
        assert tester.metrics("tasks")["errors"] == 1
    (tmp_path / "lines" / "0").write_bytes(b"a\nraise\nb\n\xff\nc\n")
    more = {
        "task__drop__deserialization__errors": "true",
        "task__checkpoint__path": f"{tmp_path}/c",
    }
    more["task__ignored__exceptions"] = "*"
    with job(properties(tmp_path, **more)) as tester:
        tester.run_spouts()
        assert "files.lines.0 at 10 is not of its serde" in tester.errors("tasks")[-1].text


def test_an_undeclared_output_is_an_error_that_names_the_key(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("elsewhere\n")
    with job(noting(tmp_path)) as tester:
        tester.run_spouts()
        tester.run()
        text = tester.errors("tasks")[-1].text
        assert "files.other is not an output of the job: add it to task.outputs" in text


def test_a_failed_output_is_sent_again_and_then_committed(tmp_path: Path) -> None:
    write_lines(tmp_path, "a commit b")
    with job(properties(tmp_path)) as tester:
        tester.fail("files.counts", times=1)
        to_the_end(tester)
        received = [each.values[0] for each in tester.received("files.counts")]
        assert sorted(received) == [b"a 1", b"a 1", b"b 1"]
    with job(properties(tmp_path)) as tester:
        tester.run_spouts()
        assert sent(tester) == []


class Waiting(AsyncStreamTask):
    """Ends its calls when the test says."""

    calls: list[Any] = []

    def process_async(self, envelope: Any, collector: Any, coordinator: Any, callback: Any) -> None:
        self.calls.append((envelope.message, callback))


class Coroutine(AsyncStreamTask):
    """Sends its message after a turn of the event loop."""

    async def process_async(self, envelope: Any, collector: Any, coordinator: Any) -> None:  # type: ignore[override]
        import asyncio

        await asyncio.sleep(0)
        collector.send(OutgoingMessageEnvelope(COUNTS, envelope.message))


def test_asynchronous_calls_are_limited_and_a_commit_waits_for_them(tmp_path: Path) -> None:
    write_lines(tmp_path, "a b c")
    Waiting.calls.clear()
    task = f"{__name__}.Waiting"
    with job(properties(tmp_path, task, task__max__concurrency="2")) as tester:
        tester.run_spouts()
        assert [message for message, _ in Waiting.calls] == ["a", "b"]
        tester.component("tasks")[0]._commit_all()
        Waiting.calls[1][1].complete()
        tester.run_spouts()
        assert not (tmp_path / "checkpoints").exists()
        Waiting.calls[0][1].complete()
        tester.run()
        tester.run_spouts()
        assert (
            (tmp_path / "checkpoints" / "words-1" / "Partition-0.json")
            .read_text()
            .startswith('{"positions": {"files.lines.0": 4}')
        )
        tester.run_spouts()
        Waiting.calls[2][1].failure(OSError("away"))
        tester.run()
        assert "files.lines.0 at 4: OSError: away" in tester.errors("tasks")[-1].text


def test_coroutines_go_on_between_calls(tmp_path: Path) -> None:
    write_lines(tmp_path, "a b c")
    task = f"{__name__}.Coroutine"
    with job(properties(tmp_path, task, task__max__concurrency="3")) as tester:
        for _ in range(6):
            tester.run_spouts(1)
        assert sorted(sent(tester)) == ["a", "b", "c"]


def test_names_of_streams_and_partitions_as_texts() -> None:
    partition = SystemStreamPartition("kafka", "clicks", 3)
    assert (str(partition), str(partition.system_stream)) == ("kafka.clicks.3", "kafka.clicks")
    with pytest.raises(TypeError, match="a partition is chosen by the key"):
        OutgoingMessageEnvelope(COUNTS, 1, 2, 3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"task__imputs": "x"}, "is not a supported key of a job; did you mean task.inputs?"),
        ({"stores__counts__mgs__serde": "x"}, "did you mean stores.counts.msg.serde?"),
        ({"task__class": "math.Nothing"}, "task.class: "),
        ({"task__class": "collections.Counter"}, "is not a StreamTask or an AsyncStreamTask"),
        ({"task__inputs": ""}, "task.inputs is missing"),
        ({"task__inputs": "kafka.lines"}, "systems.kafka.samza.factory is missing"),
        ({"task__inputs": "lines"}, "lines is not SYSTEM.STREAM"),
        ({"task__commit__ms": "soon"}, "task.commit.ms is a whole number from -1 on: soon"),
        ({"stores__counts__factory": "x.Y"}, "stores.counts.factory: x.Y is not supported"),
        ({"systems__files__samza__msg__serde": "avro"}, "serializers.registry.avro.class is"),
        ({"job__host-affinity__enabled": "true"}, "job.logged.store.base.dir is missing"),
        ({"task__broadcast__inputs": "files.x"}, "is not SYSTEM.STREAM#N or SYSTEM.STREAM#[N-M]"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_job_is_one_line(tmp_path: Path, change: Any, text: str) -> None:
    from heron_frontends.loading.load import load
    from heron_frontends.loading.load_request import LoadRequest

    given = properties(tmp_path, **change)
    path = tmp_path / "words.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    with pytest.raises(HeronError) as raised:
        load(LoadRequest(str(path), None, is_to_run=True, runs_here=True))
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)
