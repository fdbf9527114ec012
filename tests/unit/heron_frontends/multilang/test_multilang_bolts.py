"""ShellBolt and a child at the two ends of real pipes: every message of the protocol."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.metrics import AssignableMetrics, CountMetric, MultiCountMetric
from heron_core.errors import ComponentError
from heron_frontends.adapters.multilang import bolt as bolt_module
from heron_frontends.adapters.multilang.reader import INBOX_READS_MAX
from tests.unit.heron_frontends.multilang.multilang_support import DEADLINE_SECS, Shell, tup

Make = Callable[..., Shell]
SERIALIZER = "topology__multilang__serializer"


def test_the_handshake_has_config_pid_dir_and_context(bolt: Make, folders: Path) -> None:
    shell = bolt(topology__debug=True, odd=object()).puppet(then=[["seen"]]).start()
    (handshake,) = shell.engine.until(lambda: shell.engine.logged)
    assert handshake["context"] == {"taskid": 3, "componentid": "words"}
    assert handshake["conf"]["topology.debug"] is True
    assert "odd" not in handshake["conf"]
    assert os.path.dirname(handshake["pidDir"]) == str(folders)
    assert os.stat(folders).st_uid == os.getuid()


def test_the_pid_dir_goes_as_soon_as_the_child_has_said_more(bolt: Make, folders: Path) -> None:
    """A kill -9 of the instance then leaves nothing behind."""
    shell = bolt().start()
    (pid_dir,) = folders.iterdir()
    assert [each.name for each in pid_dir.iterdir()] == [str(shell.pid)]
    assert pid_dir.stat().st_mode & 0o077 == 0
    shell.give_and_settle(["ack"])
    assert list(folders.iterdir()) == []


def test_a_tuple_has_string_id_component_stream_task_and_values(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(["seen"], ["ack"])
    (seen,) = shell.engine.logged
    assert seen == {
        "id": "1", "comp": "lines", "stream": "default", "task": 1, "tuple": [["seen"], ["ack"]],
    }  # fmt: skip
    assert shell.engine.acked == [given]


def test_emits_have_anchors_stream_and_direct_task(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(
        ["emit", {"tuple": ["a", 1]}],
        ["emit", {"tuple": ["b"], "stream": "other", "anchors": "1"}],
        ["emit", {"tuple": ["c"], "task": 9, "anchors": None}],
        ["ack"],
    )
    assert [(each.values, *each.rest) for each in shell.engine.emitted] == [
        (["a", 1], "default", [given], None, False),
        (["b"], "other", [given], None, False),
        (["c"], "default", [], 9, False),
    ]
    assert shell.engine.acked == [given]


def test_an_emit_may_be_anchored_to_several_tuples(bolt: Make) -> None:
    shell = bolt().start()
    first = shell.give()
    second = shell.give(["emit", {"tuple": [1], "anchors": ["1", "2"]}])
    shell.engine.until(lambda: shell.engine.emitted)
    assert shell.engine.emitted[0].rest[1] == [first, second]


def test_task_ids_are_sent_unless_not_needed_or_direct(bolt: Make) -> None:
    """need_task_ids is true if nothing is said; answers come in the order of emits."""
    shell = bolt().start()
    shell.give_and_settle(
        ["say", {"command": "emit", "tuple": [1]}],
        ["say", {"command": "emit", "tuple": [2], "need_task_ids": False}],
        ["say", {"command": "emit", "tuple": [3], "task": 9}],
        ["next_list"],
        ["say", {"command": "emit", "tuple": [4], "need_task_ids": True}],
        ["next_list"],
        ["ack"],
    )
    assert [each.values for each in shell.engine.emitted] == [[1], [2], [3], [4]]
    assert shell.engine.logged == [[7, 8], [7, 8]]


def test_a_child_that_waits_for_task_ids_is_answered_while_process_waits(bolt: Make) -> None:
    """The main thread waits for room in `process`, and so cannot run the emit."""
    shell = bolt(topology__shellbolt__max__pending=1).start()
    shell.give(["say", {"command": "emit", "tuple": [1]}], ["next_list"], ["ack"])
    shell.give_and_settle(["ack"])
    assert shell.engine.logged == [[7, 8]]
    assert len(shell.engine.acked) == 2


def test_a_tuple_fails_when_the_child_says_so(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(["fail"])
    assert shell.engine.failed == [given]
    assert shell.engine.acked == []


def test_a_second_ack_is_counted_and_told_once(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(["fail"], ["ack"], ["ack"], ["emit", {"tuple": [1]}])
    shell.engine.until(lambda: shell.counts.get("unknown_ids") == 3)
    assert shell.engine.failed == [given]
    assert shell.engine.acked == []
    assert sum("belongs to none of its pending tuples" in line for line in shell.engine.lines) == 1
    assert shell.engine.emitted[0].rest[1] == [], "an anchor that is settled is none"


def test_log_levels_and_what_has_none(bolt: Make) -> None:
    shell = bolt().start()
    found: list[tuple[int, str]] = []
    shell.component.logger.handlers[0].emit = lambda each: found.append(
        (each.levelno, each.getMessage())
    )
    levels = [0, 1, 2, 3, 4, None, 9]
    shell.give_and_settle(
        *[["say", {"command": "log", "msg": f"100% {each}", "level": each}] for each in levels],
        ["say", {"command": "log", "msg": 5}],
        ["ack"],
    )
    assert found == [
        (10, "100% 0"), (10, "100% 1"), (20, "100% 2"), (30, "100% 3"), (40, "100% 4"),
        (20, "100% None"), (20, "100% 9"), (20, "5"),
    ]  # fmt: skip


def test_an_error_is_reported_as_the_components(bolt: Make) -> None:
    shell = bolt().start()
    shell.give_and_settle(["say", {"command": "error", "msg": "no such table"}], ["ack"])
    (error,) = shell.engine.errors
    assert error.endswith("puppet.py: no such table")
    assert "words: its child" in error


def test_metrics_go_to_the_registered_ones_and_others_are_counted(bolt: Make) -> None:
    shell = bolt()
    count, sizes, level = CountMetric(), MultiCountMetric(), AssignableMetrics(0)
    for name, metric in (("count", count), ("sizes", sizes), ("level", level)):
        shell.context.register_metric(name, metric, 1)
    sent = [
        ("count", None), ("count", 4), ("sizes", ["big", 2]), ("sizes", {"small": 3}),
        ("level", 8), ("own", 1), ("own", {"a": 2}), ("count", "x"),
    ]  # fmt: skip
    shell.start().give_and_settle(
        *[["say", {"command": "metrics", "name": name, "params": params}] for name, params in sent],
        ["ack"],
    )
    assert count.get_value_and_reset() == 5
    assert sizes.get_value_and_reset() == {"big": 2, "small": 3}
    assert level.get_value_and_reset() == 8
    own, _ = shell.context.metrics["own"]  # nobody registered it from Python
    assert own.get_value_and_reset() == {"a": 2}
    assert shell.counts == {}
    (error,) = shell.engine.errors
    assert "metric 'count' does not take 'x'" in error


def test_what_the_child_emits_before_the_first_tuple_is_emitted_when_the_topology_runs(
    bolt: Make,
) -> None:
    emit = {"command": "emit", "tuple": ["early"], "need_task_ids": False}
    shell = bolt().puppet(then=[["say", emit]]).start()
    assert shell.engine.emitted == [], "there is no plan yet"
    shell.engine.until(lambda: shell.engine.emitted)
    assert shell.engine.emitted[0].values == ["early"]


def test_a_heartbeat_each_beat_is_answered_by_a_sync(bolt: Make, quick: None) -> None:
    shell = bolt().start()
    answers: list[Any] = []
    sync = shell.component.commands["sync"]

    def recorded(message: Any) -> None:
        answers.append(message)
        sync(message)

    shell.component.commands["sync"] = recorded
    shell.engine.until(lambda: len(answers) >= 5)
    assert shell.engine.errors == []


def test_ticks_are_storms_and_their_acks_mean_nothing(bolt: Make) -> None:
    shell = bolt(topology__tick__tuple__freq__secs=5).start()
    shell.component.process_tick(None)
    (seen,) = shell.engine.until(lambda: shell.engine.logged)
    assert (seen["comp"], seen["stream"], seen["task"], seen["tuple"]) == (
        "__system", "__tick", -1, [5],
    )  # fmt: skip
    assert isinstance(seen["id"], str)
    shell.give_and_settle(["emit", {"tuple": [1], "anchors": [seen["id"]]}], ["ack"])
    assert shell.engine.emitted[0].rest[1] == []
    assert shell.counts == {}


def test_a_child_is_at_work_on_a_tick_until_it_has_answered(bolt: Make) -> None:
    """Output for the last tick before the end of a run was lost: the bolt was idle."""
    shell = bolt(topology__tick__tuple__freq__secs=5).start()
    shell.component.process_tick(None)
    assert not shell.component.is_idle()
    shell.engine.until(shell.component.is_idle)
    assert len(shell.engine.logged) == 1


def test_a_tick_that_is_due_while_the_child_is_at_work_on_the_last_one_is_left_out(
    bolt: Make,
) -> None:
    """A child whose ticks take longer than their interval was never idle again, and a run that
    waited for it never ended."""
    shell = bolt(topology__tick__tuple__freq__secs=5).start()
    for _ in range(3):
        shell.component.process_tick(None)
    shell.engine.until(shell.component.is_idle)
    assert (len(shell.engine.logged), shell.counts) == (1, {"ticks_left_out": 2})
    shell.component.process_tick(None)
    shell.engine.until(shell.component.is_idle)
    assert len(shell.engine.logged) == 2


def test_an_emit_that_fails_fails_what_it_is_anchored_to(bolt: Make) -> None:
    """A stream that is not declared, a wrong number of values: reported, no process dies; and the
    child that waits for task ids gets an answer."""
    shell = bolt().start()
    shell.engine.refuses = "words emits on stream 'x', which it does not declare"
    given = shell.give_and_settle(
        ["say", {"command": "emit", "tuple": [1], "anchors": ["1"]}], ["next_list"], ["ack"]
    )
    assert shell.engine.failed == [given]
    assert shell.engine.acked == []
    assert shell.engine.logged == [[]]
    assert "emit failed: words emits on stream 'x'" in shell.engine.errors[0]
    assert shell.counts == {}, "its ack was to be expected"


def test_an_emit_of_bytes_that_are_no_text_fails_what_it_is_anchored_to(bolt: Make) -> None:
    shell = bolt().start()
    message = '{"command": "emit", "anchors": ["1"], "tuple": ["caf\udce9"]}\nend\n'
    given = shell.give_and_settle(["raw", message], ["emit", {"tuple": ["good"]}], ["ack"])
    assert shell.engine.failed == [given]
    assert [each.values for each in shell.engine.emitted] == [["good"]]
    (error,) = shell.engine.errors
    assert "b'caf\\xe9' is not text in UTF-8" in error


def test_messages_that_are_wrong_are_reported_and_do_no_harm(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(
        ["say", {"command": "emit", "tuple": "text"}],
        ["next_list"],
        ["say", {"command": "dance"}],
        ["say", {"command": ["emit"]}],
        ["say", {"command": "ack"}],
        ["say", {"command": "sync"}],
        ["ack"],
    )
    assert shell.engine.acked == [given]
    assert shell.counts == {"unknown_commands": 1, "unknown_ids": 1}
    assert len(shell.engine.errors) == 2
    assert "an emit whose tuple is not a list, but 'text'" in shell.engine.errors[0]
    assert "unhashable" in shell.engine.errors[1]


def test_stray_prints_are_logged_and_break_nothing(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give_and_settle(["raw", "debug: 1\ndebug: 2\n"], ["raw", "no line end"], ["ack"])
    assert shell.engine.acked == [given]
    strays = [line for line in shell.engine.lines if "stdout: " in line]
    assert [line.split("stdout: ")[1] for line in strays] == ["debug: 1", "debug: 2", "no line end"]
    assert shell.counts == {"stray_lines": 3}


def test_many_stray_prints_do_not_fill_the_log(bolt: Make) -> None:
    shell = bolt().start()
    shell.give_and_settle(["raw", "x\n" * 5000], ["ack"])
    assert shell.counts == {"stray_lines": 5000}
    assert sum("stdout: x" in line for line in shell.engine.lines) < 200


def test_stderr_goes_to_the_log_line_by_line(bolt: Make) -> None:
    shell = bolt().start()
    shell.give_and_settle(["stderr", "one\ntwo\n"], ["ack"])
    found = shell.engine.until(lambda: [x for x in shell.engine.lines if "stderr: " in x][1:])
    assert found[0].endswith("stderr: two")


def test_big_values_unicode_and_line_ends_cross_both_pipes(bolt: Make) -> None:
    """Far more than a pipe holds, both ways at once."""
    texts = ['\u4f60\u597d \U0001f600\nend\n\\"' * 60_000, "x" * 3_000_000]
    shell = bolt().start()
    shell.give_and_settle(*[["emit", {"tuple": [text]}] for text in texts], ["ack"])
    assert [each.values for each in shell.engine.emitted] == [[text] for text in texts]


def test_a_message_that_comes_byte_by_byte_is_whole(bolt: Make) -> None:
    shell = bolt().start()
    message = {"command": "emit", "tuple": ["Gr\u00fc\u00dfe"], "need_task_ids": False}
    shell.give_and_settle(["bytewise", message], ["ack"])
    assert shell.engine.emitted[0].values == ["Gr\u00fc\u00dfe"]


def test_a_value_that_cannot_be_said_fails_that_tuple_alone(bolt: Make) -> None:
    shell = bolt().start()
    with pytest.raises(ComponentError, match=r"words: a tuple of lines.default cannot be sent"):
        shell.component.process(tup(["x", object()]))
    shell.engine.until(shell.component.is_idle)
    given = shell.give_and_settle(["ack"])
    assert shell.engine.acked == [given]


def test_a_thousand_tuples_come_back_in_order(bolt: Make) -> None:
    shell = bolt().start()
    given = [shell.give(["emit", {"tuple": [number]}], ["ack"]) for number in range(1000)]
    shell.engine.until(shell.component.is_idle)
    assert [each.values for each in shell.engine.emitted] == [[number] for number in range(1000)]
    assert shell.engine.acked == given


def test_no_more_than_max_pending_are_given_to_a_child_that_does_not_read(
    bolt: Make, quick: None
) -> None:
    """The 4th tuple waits in `process` until the child, stuck in the first, is killed for it."""
    shell = bolt(topology__shellbolt__max__pending=3, topology__subprocess__timeout__secs=2).start()
    given = [shell.give(["hang"]), shell.give(["ack"]), shell.give(["ack"])]
    assert shell.engine.failed == []
    given.append(shell.give(["ack"]))
    assert shell.engine.failed == given[:3]
    shell.engine.until(shell.component.is_idle)
    assert shell.engine.acked == given[3:]
    assert "sent nothing for 2 s, nor answered a heartbeat (a tuple" in shell.engine.errors[0]


def test_a_child_that_collects_a_batch_is_given_more_than_max_pending(bolt: Make) -> None:
    """The child answers heartbeats, so it reads: 50 tuples before the first ack, with a
    limit of 4."""
    shell = bolt(topology__shellbolt__max__pending=4).start()
    given = [shell.give() for _ in range(50)]
    assert not shell.component.is_idle()
    acks = [["say", {"command": "ack", "id": str(number)}] for number in _ids(shell)]
    given.append(shell.give_and_settle(*acks, ["ack"]))
    assert shell.engine.acked == given


def _ids(shell: Shell) -> list[int]:
    return [int(key) for key in shell.component._flight._unsettled]


def test_a_child_that_settles_nothing_does_not_fill_the_memory(
    bolt: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bolt_module, "UNSETTLED_MAX", 10)
    shell = bolt().start()
    given = [shell.give() for _ in range(13)]
    assert shell.engine.failed == given[:3]
    assert shell.counts == {"never_settled": 3}


def test_tuples_kept_beyond_the_message_timeout_do_not_hold_up_the_end_of_a_run(
    bolt: Make,
) -> None:
    shell = bolt(topology__message__timeout__secs=0.3).start()
    shell.give()
    assert not shell.component.is_idle()
    shell.engine.until(shell.component.is_idle)


def test_subclasses_and_hooks_see_emits_and_acks(bolt: Make) -> None:
    """A task hook takes the place of the component's emit, ack and fail."""
    shell = bolt().start()
    seen: list[Any] = []
    shell.component.emit = lambda *arguments: seen.append("emit")
    shell.component.ack = seen.append
    given = shell.give_and_settle(["emit", {"tuple": [1]}], ["ack"])
    assert seen == ["emit", given]


def test_closing_fails_what_is_in_the_child_and_hears_its_last_words(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give(["say", {"command": "log", "msg": 'puppet: "last"'}])
    shell.engine.until(lambda: not shell.component.child.unwritten)
    shell.component.close()
    assert shell.engine.failed == [given]
    assert shell.engine.logged == ["last"]
    shell.component.close()


def test_a_child_that_never_stops_talking_waits_for_us_and_lets_us_work(
    bolt: Make, quick: None
) -> None:
    """Its output is held back while the main thread does something else (waits for back-pressure,
    say), and is not taken for silence; each look into the inbox comes to an end."""
    shell = bolt().start()
    shell.component.response_timer.timeout_secs = 1.0  # its start may take longer
    shell.give(["flood"])
    shell.engine.until(lambda: shell.engine.emitted)
    reader = shell.component.reader
    deadline = time.monotonic() + DEADLINE_SECS
    # The child may report for a moment that it waits, after room was made.
    while not reader._waits or len(reader.inbox) < INBOX_READS_MAX:
        assert time.monotonic() < deadline
    assert len(reader.inbox) == INBOX_READS_MAX
    held = len(shell.engine.emitted)
    shell.engine.until(lambda: len(shell.engine.emitted) > held + 10_000)
    assert shell.engine.errors == []


def test_the_msgpack_codec_on_both_pipes(bolt: Make, tmp_path: Path) -> None:
    """Named as Storm names serializers, by the class. The child is of msgpack's own making."""
    child = tmp_path / "child.py"
    child.write_text(MSGPACK_CHILD)
    shell = bolt(**{SERIALIZER: "com.example.multilang.MessagePackSerializer"})
    shell.config["heronpy.shell.command"] = [sys.executable, str(child)]
    shell.start()
    given = SimpleNamespace(component="l", stream="s", task=2, values=[b"\xff\x00", "text\nend\n"])
    shell.component.process(given)
    shell.engine.until(lambda: shell.engine.acked)
    first, second = shell.engine.emitted
    assert (first.values, first.rest[0]) == ([b"\xff\x00", "text\nend\n"], "first")
    assert second.values == [b"\xff\x00", "text\nend\n", [7, 8]]
    assert second.rest[1] == [given]


MSGPACK_CHILD = """
import os, sys, msgpack

messages = msgpack.Unpacker()

def read():
    while True:
        for message in messages:
            return message
        data = os.read(0, 65536)
        if not data:
            sys.exit()
        messages.feed(data)

def say(message):
    os.write(1, msgpack.packb(message))

open(f"{read()['pidDir']}/{os.getpid()}", "w").close()
say({"pid": os.getpid()})
while True:
    message = read()
    if message["stream"] == "__heartbeat":
        say({"command": "sync"})
        continue
    say({"command": "emit", "tuple": message["tuple"], "stream": "first"})
    tasks = read()
    values = [*message["tuple"], tasks]
    say({"command": "emit", "tuple": values, "need_task_ids": False, "anchors": [message["id"]]})
    say({"command": "ack", "id": message["id"]})
"""
