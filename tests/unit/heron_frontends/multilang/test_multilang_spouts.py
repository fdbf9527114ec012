"""ShellSpout and a child at the two ends of real pipes: turns, ids, and what goes wrong."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.algorithms import backoff
from heron_frontends.adapters.multilang import spout as spout_module
from heron_frontends.adapters.multilang.spout import TupleId
from tests.unit.heron_frontends.multilang.multilang_support import Left, Shell

Make = Callable[..., Shell]
SEEN = [["seen"]]


def emit(*values: Any, **more: Any) -> list[Any]:
    """A step that emits without waiting for task ids."""
    return ["say", {"command": "emit", "tuple": list(values), "need_task_ids": False, **more}]


def emitted(shell: Shell) -> list[tuple[Any, ...]]:
    """Values, the child's id, stream, direct task, whether task ids were wanted."""
    return [
        (each.values, getattr(each.rest[0], "value", None), *each.rest[1:])
        for each in shell.engine.emitted
    ]


def ids(shell: Shell) -> list[Any]:
    return [each.rest[0] for each in shell.engine.emitted]


def test_each_command_is_a_turn_that_ends_with_sync(spout: Make) -> None:
    commands = ("activate", "deactivate", "ack", "fail")
    shell = spout().puppet(turns={**dict.fromkeys(commands, SEEN), "next": [SEEN]}).start()
    shell.component.activate()
    shell.component.next_tuple()
    shell.component.ack(TupleId(shell.component.child, "a"))
    shell.component.fail(TupleId(shell.component.child, {"partition": 3, "offset": [7]}))
    shell.component.deactivate()
    assert shell.engine.logged == [
        {"command": "activate", "id": ""},
        {"command": "next", "id": ""},
        {"command": "ack", "id": "a"},
        {"command": "fail", "id": {"partition": 3, "offset": [7]}},
        {"command": "deactivate", "id": ""},
    ]
    assert shell.component.is_idle()


def test_emits_have_any_json_value_as_id_stream_and_task(spout: Make) -> None:
    turn = [
        emit("a", 1, id=5),
        emit("b", id={"k": [1]}, stream="other"),
        emit("c", id=None),
        emit("d", task=9),
    ]
    shell = spout().puppet(turns={"next": [turn]}).start()
    shell.component.next_tuple()
    assert emitted(shell) == [
        (["a", 1], 5, "default", None, False),
        (["b"], {"k": [1]}, "other", None, False),
        (["c"], None, "default", None, False),
        (["d"], None, "default", 9, False),
    ]
    assert ids(shell)[2:] == [None, None], "nobody tracks these"


def test_what_was_emitted_is_acked_and_failed_by_its_id(spout: Make) -> None:
    turns = {"next": [[emit("a", id=[1, "x"]), emit("b", id=0)]], "ack": SEEN, "fail": SEEN}
    shell = spout().puppet(turns=turns).start()
    shell.component.next_tuple()
    first, second = ids(shell)
    shell.component.fail(first)
    shell.component.ack(second)
    assert not shell.component.is_idle(), "the child has not been told yet"
    shell.engine.until(shell.component.is_idle)
    assert shell.engine.logged == [
        {"command": "fail", "id": [1, "x"]},
        {"command": "ack", "id": 0},
    ]


def test_many_acks_go_in_one_go_and_are_waited_for_at_a_limit(
    spout: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spout_module, "OWED_MAX", 10)
    shell = spout().puppet(turns={"ack": [["raw", "\n"], emit("more")]}).start()
    for number in range(25):
        shell.component.ack(TupleId(shell.component.child, number))
    assert len(shell.engine.emitted) == 20
    shell.component.next_tuple()
    assert len(shell.engine.emitted) == 25


def test_task_ids_are_answered_in_order(spout: Make) -> None:
    ask = {"command": "emit", "tuple": ["a"]}
    turn = [["say", ask], ["next_list"], emit("b"), ["say", {**ask, "task": 9}], ["say", ask]]
    shell = spout().puppet(turns={"next": [[*turn, ["next_list"]]]}).start()
    shell.component.next_tuple()
    assert shell.engine.logged == [[7, 8], [7, 8]]


def test_more_than_a_pipe_holds_both_ways(spout: Make) -> None:
    """Acks are written while the child is busy with a huge emit."""
    big = "x\nend\n\u4f60" * 200_000
    shell = spout().puppet(turns={"next": [[["big", 200_000]]]}).start()
    for number in range(200):
        shell.component.ack(TupleId(shell.component.child, f"{number}" * 500))
    shell.component.next_tuple()
    assert shell.engine.emitted[0].values == [big]


def test_log_error_metrics_and_strays_as_in_bolts(spout: Make) -> None:
    turn = [
        ["say", {"command": "log", "msg": 'puppet: "hello"', "level": 3}],
        ["say", {"command": "error", "msg": "lost the queue"}],
        ["say", {"command": "metrics", "name": "n", "params": 1}],
        ["raw", "stray\n"],
        ["stderr", "on stderr\n"],
    ]
    shell = spout().puppet(turns={"next": [turn]}).start()
    shell.component.next_tuple()
    assert shell.engine.logged == ["hello"]
    assert shell.engine.errors[0].endswith("lost the queue")
    assert shell.context.metrics["n"][0].get_value_and_reset() == 1
    assert shell.counts == {"stray_lines": 1}
    shell.engine.until(lambda: any("stderr: on stderr" in line for line in shell.engine.lines))


def test_a_spout_emits_what_it_said_at_its_start_when_it_is_asked_first(spout: Make) -> None:
    shell = spout().puppet(then=[emit("early")], turns={}).start()
    assert shell.engine.emitted == []
    shell.component.next_tuple()
    assert emitted(shell)[0][0] == ["early"]


def test_a_child_may_finish(spout: Make) -> None:
    turn = [emit("last"), ["say", {"command": "finish"}]]
    shell = spout().puppet(turns={"next": [turn]}).start()
    shell.component.next_tuple()
    assert shell.engine.finished == 1
    assert len(shell.engine.emitted) == 1


def test_an_emit_that_fails_is_failed_to_the_child_in_a_turn_of_its_own(spout: Make) -> None:
    turn = [["say", {"command": "emit", "tuple": [1, 2], "id": 5}], ["next_list"]]
    shell = spout().puppet(turns={"next": [turn], "fail": SEEN}).start()
    shell.engine.refuses = "words.default: emitted 2 values for the 1 fields"
    shell.component.next_tuple()
    assert "emit failed: words.default: emitted 2 values" in shell.engine.errors[0]
    assert shell.engine.logged == [[]]
    shell.engine.until(shell.component.is_idle)
    assert shell.engine.logged == [[], {"command": "fail", "id": 5}]


def test_a_child_that_dies_is_followed_by_one_that_is_activated(spout: Make) -> None:
    """It gets no acks of tuples that it did not emit."""
    turns = {"next": [[emit("a", id=1)], [["stderr", "boom\n"], ["exit", 4]]],
             "activate": SEEN, "ack": SEEN}  # fmt: skip
    shell = spout().puppet(turns=turns).start()
    shell.component.activate()
    first = shell.pid
    shell.component.next_tuple()
    shell.component.next_tuple()
    assert "exited with status 4" in shell.engine.errors[0]
    assert "boom" in shell.engine.errors[0]
    shell.component.next_tuple()
    assert shell.pid not in (0, first)
    old, new = ids(shell)
    shell.component.ack(old)
    shell.component.ack(new)
    shell.engine.until(shell.component.is_idle)
    assert [each["command"] for each in shell.engine.logged] == ["activate", "activate", "ack"]


def test_a_child_that_hangs_in_a_turn_is_killed(spout: Make, quick: None) -> None:
    shell = spout().puppet(turns={"next": [[["hang"]]]}).start()
    shell.component.response_timer.timeout_secs = 0.3  # its start may take longer
    shell.component.next_tuple()
    assert "was killed: it sent nothing for 0.3 s" in shell.engine.errors[0]
    assert shell.counts == {"deaths": 1}


def test_a_child_that_dies_again_and_again_ends_the_instance(
    spout: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_PAUSE_SECS", 0.01)
    shell = spout(topology__restart__limit=2).puppet(turns={"next": [[["exit", 1]]]}).start()
    with pytest.raises(Left, match="died 3 times in a row, the last time it exited with status 1"):
        shell.engine.until(shell.component.next_tuple)
    shell.component.next_tuple()


def test_wrong_emits_are_reported_and_answered(spout: Make) -> None:
    turn = [["say", {"command": "emit", "tuple": 5}], ["next_list"]]
    shell = spout().puppet(turns={"next": [turn]}).start()
    shell.component.next_tuple()
    assert shell.engine.logged == [[]]
    assert "an emit whose tuple is not a list, but 5" in shell.engine.errors[0]


def test_closing_tells_the_last_acks_and_hears_the_last_words(spout: Make) -> None:
    shell = spout().puppet(turns={"ack": SEEN}).start()
    shell.component.ack(TupleId(shell.component.child, 9))
    shell.component.close()
    assert shell.engine.logged == [{"command": "ack", "id": 9}]
    shell.component.close()
    shell.component.next_tuple()


def test_a_child_that_dies_of_its_last_ack_is_not_started_again(spout: Make) -> None:
    shell = spout().puppet(turns={"ack": [["exit", 5]]}).start()
    shell.component.ack(TupleId(shell.component.child, 9))
    shell.component.close()
    assert shell.engine.errors[0].endswith("the child will not be restarted")
    shell.engine.until(shell.engine.calls.empty)
