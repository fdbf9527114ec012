"""JvmBolt and a JVM at the two ends of real pipes: what the stand-in for a class does arrives."""

from collections.abc import Callable

import pytest

from heron_api.state.state import HashMapState
from heron_core.errors import ComponentError
from heron_frontends.jvm.bolt import ROWS_MAX, JvmBolt, JvmStatefulBolt
from tests.unit.heron_frontends.jvm.java_support import Half
from tests.unit.heron_frontends.multilang.multilang_support import Left

Make = Callable[..., Half]
VALUES = [None, True, 0, -1, 1 << 62, 1 << 64, -(1 << 80), 1.5, "ä€😀", b"\x00\xff", [1, ["a"]],
          {"a": {1: 2}}]  # fmt: skip


def test_values_cross_both_ways_and_keep_their_types(half: Make) -> None:
    made = half("echo").start()
    given = made.give(*VALUES)
    made.engine.until(lambda: made.engine.acked)
    assert made.engine.acked == [given]
    (emitted,) = made.engine.emitted
    assert emitted.values == ["lines", 1, "default", *VALUES]
    assert [type(value) for value in emitted.values[3:]] == [type(value) for value in VALUES]
    assert emitted.rest == ("default", [given], None, False)


def test_many_tuples_of_several_sources_come_back_in_order(half: Make) -> None:
    made = half("echo").start()
    given = [made.give(number, stream=f"s{number % 3}") for number in range(2000)]
    made.engine.until(lambda: len(made.engine.acked) == len(given))
    assert made.engine.acked == given
    assert [emitted.values[2:] for emitted in made.engine.emitted] == [
        [f"s{number % 3}", number] for number in range(2000)
    ]
    assert made.component.is_idle()


def test_what_cannot_cross_fails_its_own_tuple_in_one_line(half: Make) -> None:
    made = half("echo").start()
    with pytest.raises(ComponentError) as raised:
        made.give({1, 2})
    assert str(raised.value) == (
        "words (echo): a tuple of lines.default has a value of class builtins.set, which cannot"
        " cross to Java"
    )
    made.give("fine")
    made.engine.until(lambda: made.engine.acked)


def test_a_fail_fails_the_tuple(half: Make) -> None:
    made = half("refuse").start()
    given = made.give("x")
    made.engine.until(lambda: made.engine.failed)
    assert (made.engine.failed, made.engine.acked) == ([given], [])


def test_a_second_ack_is_counted_and_said_once(half: Make) -> None:
    made = half("twice").start()
    made.give("x")
    made.give("y")
    made.engine.until(lambda: len(made.engine.acked) == 2 and made.component.is_idle())
    assert _metric(made, "java.oddities") == 2
    assert len([line for line in made.engine.lines if "acked or failed twice" in line]) == 1


def _metric(made: Half, name: str) -> object:
    return made.context.metrics[name][0].get_value_and_reset()


def test_an_emit_that_asks_gets_its_tasks(half: Make) -> None:
    made = half("ask").start()
    given = made.give("x")
    made.engine.until(lambda: made.engine.acked)
    asked, told = made.engine.emitted
    assert asked.rest == ("default", [given], 7, True)
    assert told.values == made.engine.tasks


def test_an_emit_that_fails_fails_its_tuple_once(half: Make) -> None:
    made = half("echo").start()
    made.engine.refuses = "no such stream"
    given = made.give("x")
    made.engine.until(lambda: made.engine.failed and made.component.is_idle())
    assert (made.engine.failed, made.engine.acked) == ([given], [])
    assert made.engine.errors == ["words (echo): an emit failed: no such stream"]
    assert "java.oddities" not in made.context.metrics


def test_a_tick_reaches_it_and_the_next_one_waits_for_the_first(half: Make) -> None:
    made = half("hold", topology__tick__tuple__freq__secs=1).start()
    made.component.process_tick(None)
    assert not made.component.is_idle()
    made.engine.until(made.component.is_idle)


def test_the_end_of_its_jvm_fails_what_it_had_and_ends_the_instance(half: Make) -> None:
    made = half("die").start()
    given = made.give("x")
    with pytest.raises(Left, match=r"^words \(die\): its JVM was killed by SIGKILL"):
        made.engine.until(lambda: False)
    assert made.engine.failed == [given]
    with pytest.raises(ComponentError, match="its JVM has ended"):
        give_many(made, ROWS_MAX * 2)


def give_many(made: Half, count: int) -> None:
    """Have it process so many tuples."""
    for number in range(count):
        made.give(number)


def test_errors_metrics_and_output_are_reported(half: Make) -> None:
    made = half("babble").start()
    made.give("x")
    made.engine.until(lambda: made.engine.acked and any("careful" in x for x in made.engine.lines))
    assert made.engine.errors == [
        "words (babble): execute raised: java.lang.Error: no\n\tat a.B.c(B.java:1)"
    ]
    assert [_metric(made, name) for name in ("words", "keys", "mean")] == [
        7, {"a": 2, "b": 3}, 2.5,
    ]  # fmt: skip
    assert _metric(made, "words") == 0


def test_a_tuple_that_is_held_keeps_it_busy_until_the_message_timeout(half: Make) -> None:
    made = half("hold", topology__message__timeout__secs=1).start()
    made.give("x")
    made.engine.until(lambda: not made.component._window.under_way)  # it has processed it
    assert not made.component.is_idle()
    made.engine.until(made.component.is_idle)
    made.component.close()
    assert len(made.engine.failed) == 1


def test_system_exit_in_prepare_is_one_line_with_its_place(half: Make) -> None:
    with pytest.raises(ComponentError) as raised:
        half("exit").start()
    assert str(raised.value) == (
        "words (exit): its JVM exited with status 3: System.exit was called at"
        " a.B.prepare(B.java:5)"
    )


def test_a_class_that_is_not_there_is_one_line(half: Make) -> None:
    with pytest.raises(ComponentError) as raised:
        half("problem").start()
    assert str(raised.value) == "words (problem): class a.B is not on the class path"


def test_a_config_that_cannot_cross_is_left_out_and_named(half: Make) -> None:
    made = half("echo", odd=object()).start()
    (line,) = [line for line in made.engine.lines if "odd" in line]
    assert line == "config odd is left out of the JVM's: it is a value of class builtins.object"


def test_the_state_of_a_stateful_bolt_is_asked_for_behind_its_tuples(half: Make) -> None:
    state = HashMapState()
    made = half("echo", kind=JvmStatefulBolt, state=state).start()
    given = [made.give(number) for number in range(100)]
    made.component.pre_save("12")
    assert state.get("java") == b"state 12"
    assert made.engine.acked == given


def test_a_state_that_cannot_be_saved_is_one_line(half: Make) -> None:
    made = half("hold", kind=JvmStatefulBolt, state=HashMapState()).start()
    with pytest.raises(ComponentError) as raised:
        made.component.pre_save("12")
    assert str(raised.value) == (
        "words (hold): its state cannot be saved: java.io.NotSerializableException: a.B"
    )


def test_one_that_never_began_closes(half: Make) -> None:
    made = half("echo")
    assert isinstance(made.component, JvmBolt)
