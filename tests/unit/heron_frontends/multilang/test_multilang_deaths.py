"""Children that die, hang or write garbage: their tuples fail, the next child takes over."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from heron_core.algorithms import backoff
from heron_core.errors import ComponentError
from heron_frontends.adapters.multilang import child as child_module
from heron_frontends.adapters.multilang import json_codec
from tests.unit.heron_frontends.multilang.multilang_support import (
    DEADLINE_SECS,
    PUPPET,
    Left,
    Shell,
)

Make = Callable[..., Shell]


def has_failed(shell: Shell, count: int) -> bool:
    """Whether so many tuples have failed."""
    return len(shell.engine.failed) == count


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until_dead(pid: int) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} lives on"
        os.sched_yield()


def test_a_death_is_reported_its_tuples_fail_and_the_next_child_works(bolt: Make) -> None:
    shell = bolt().start()
    first = shell.pid
    lost = [
        shell.give(["stderr", "Traceback\nValueError: no\n"], ["exit", 3]),
        shell.give(["ack"]),
    ]
    shell.engine.until(lambda: shell.engine.failed)
    assert shell.engine.failed == lost
    (error,) = shell.engine.errors
    assert f"(pid {first}) exited with status 3; failed tuples of the child: 2; " in error
    assert "the child is restarted at once" in error
    assert error.endswith("last lines of its stderr:\n    Traceback\n    ValueError: no")
    given = shell.give_and_settle(["ack"])
    assert shell.engine.acked == [given]
    assert shell.pid not in (0, first)
    assert shell.counts == {"deaths": 1}


def test_acks_that_came_before_the_death_count(bolt: Make) -> None:
    shell = bolt().start()
    given = shell.give(["ack"], ["emit", {"tuple": ["late"]}], ["exit", 0])
    shell.engine.until(lambda: shell.counts.get("deaths"))
    assert shell.engine.acked == [given]
    assert shell.engine.failed == []
    assert len(shell.engine.emitted) == 1


def test_a_killed_child_is_named_by_its_signal(bolt: Make) -> None:
    shell = bolt().start()
    os.kill(shell.pid, signal.SIGKILL)
    shell.engine.until(lambda: shell.engine.errors)
    assert "was killed by SIGKILL" in shell.engine.errors[0]


def test_a_hanging_child_is_killed_though_no_tuple_comes(bolt: Make, quick: None) -> None:
    """The unanswered heartbeat decides."""
    shell = bolt().start()
    shell.component.response_timer.timeout_secs = 0.3  # its start may take longer
    hung = shell.pid
    given = shell.give(["hang"])
    shell.engine.until(lambda: shell.engine.failed == [given])
    assert "was killed: it sent nothing for 0.3 s" in shell.engine.errors[0]
    until_dead(hung)


def test_a_child_that_does_not_read_is_killed_though_process_waits_for_the_pipe(
    bolt: Make, quick: None
) -> None:
    """Megabytes behind a child that hangs: the write waits, and is abandoned with the child."""
    shell = bolt().start()
    shell.component.response_timer.timeout_secs = 0.3  # its start may take longer
    given = [shell.give(["hang"])]
    while not shell.engine.failed:
        given.append(shell.give(["ack"], ["x" * 100_000]))
    assert shell.engine.failed == given[: len(shell.engine.failed)]
    shell.component.close()
    assert sorted(map(id, [*shell.engine.failed, *shell.engine.acked])) == sorted(map(id, given))


def test_endless_garbage_ends_the_child(bolt: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_codec, "GARBAGE_BYTES_MAX", 1000)
    shell = bolt().start()
    given = shell.give(["raw", "x" * 99 + "\n"], ["raw", ("y" * 99 + "\n") * 20], ["hang"])
    shell.engine.until(lambda: shell.engine.failed == [given])
    assert (
        "was killed: it wrote 1000 bytes to stdout that are not a message" in shell.engine.errors[0]
    )


def test_a_child_that_closes_its_stdout_is_ended(
    bolt: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "EXIT_SECS", 0.1)
    shell = bolt().start()
    ended = shell.pid
    shell.give(["close_stdout"], ["hang"])
    shell.engine.until(lambda: shell.engine.errors)
    assert "was killed: it closed its stdout" in shell.engine.errors[0]
    assert not is_alive(ended)


def test_a_broken_msgpack_stream_ends_the_child(bolt: Make) -> None:
    """JSON where msgpack was asked for: one line tells."""
    shell = bolt(topology__multilang__serializer="msgpack")
    shell.config["heronpy.shell.command"] = ["sh", "-c", "echo '{}'; cat > /dev/null"]
    with pytest.raises(ComponentError, match="wrote data that is not a message, 123; does"):
        shell.start()


def test_what_the_child_started_dies_with_it(bolt: Make, quick: None) -> None:
    """Also with the child's stdout held open."""
    shell = bolt().start()
    shell.give(["grandchild"], ["exit", 0])
    (grandchild,) = shell.engine.until(lambda: shell.engine.logged)
    shell.engine.until(lambda: shell.counts.get("deaths"))
    until_dead(grandchild)
    assert "exited with status 0" in shell.engine.errors[0]


def test_pauses_between_deaths_and_the_end_after_the_limit(
    bolt: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three restarts are allowed: the 4th death in a row ends the instance with the cause."""
    monkeypatch.setattr(backoff, "FIRST_PAUSE_SECS", 0.01)
    shell = bolt(topology__restart__limit=3).start()
    given = []
    for deaths in range(1, 5):
        given.append(shell.give(["stderr", "boom\n"], ["exit", 7]))
        shell.engine.until(partial(has_failed, shell, deaths))
    with pytest.raises(Left) as caught:
        shell.engine.until(lambda: False)
    assert "died 4 times in a row, the last time it exited with status 7: boom" in str(caught.value)
    assert shell.engine.failed == given
    ends = [error.partition("child: 1; ")[2].splitlines()[0] for error in shell.engine.errors]
    assert ends == [
        "the child is restarted at once", "the child is restarted in 0.01 s",
        "the child is restarted in 0.02 s", "the child will not be restarted",
    ]  # fmt: skip
    with pytest.raises(ComponentError, match="its child will not be restarted"):
        shell.component.process(given[0])


def test_process_waits_for_the_next_child(bolt: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples do not fail in turn without a child."""
    monkeypatch.setattr(backoff, "FIRST_PAUSE_SECS", 0.05)
    shell = bolt().start()
    for _ in range(2):
        shell.give(["exit", 1])
        shell.engine.until(lambda: shell.engine.failed)
        shell.engine.failed.clear()
    given = shell.give_and_settle(["ack"])
    assert shell.engine.acked == [given]


def test_a_program_that_vanished_ends_the_instance(bolt: Make, tmp_path: Path) -> None:
    program = tmp_path / "puppet"
    program.write_text(f"#!{sys.executable}\n{PUPPET.read_text()}")
    program.chmod(0o755)
    shell = bolt()
    shell.config["heronpy.shell.command"] = ["puppet"]
    shell.start()
    program.unlink()
    shell.give(["exit", 0])
    with pytest.raises(Left, match="program 'puppet' not found"):
        shell.engine.until(lambda: False)


def test_a_child_that_ignores_the_end_of_its_stdin_is_killed(
    bolt: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heron_frontends.adapters.multilang import child_channel

    monkeypatch.setattr(child_channel, "CLOSE_SECS", 0.1)
    shell = bolt().start()
    stubborn = shell.pid
    given = shell.give(["hang"])
    shell.component.close()
    assert not is_alive(stubborn)
    assert shell.engine.failed == [given]


INSTANCE = """
import sys
sys.path[:0] = {paths!r}
from multilang_support import Shell, ShellBolt
from pathlib import Path
shell = Shell(ShellBolt, Path({folder!r}), {{}}).start()
shell.give(["grandchild"], ["hang"])
shell.engine.until(lambda: shell.engine.logged)
print(shell.pid, *shell.engine.logged, flush=True)
shell.engine.until(lambda: False)
"""


def test_kill_9_of_the_instance_leaves_no_child(tmp_path: Path) -> None:
    """Nor its descendants, though all hang without reads of stdin."""
    text = INSTANCE.format(paths=[str(PUPPET.parent), *sys.path], folder=str(tmp_path))
    instance = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert instance.stdout is not None
    pids = list(map(int, instance.stdout.readline().split()))
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    guards = [each.pid for each in psutil.Process(instance.pid).children(recursive=True)]
    instance.kill()
    instance.wait()
    instance.stdout.close()
    for pid in {*pids, *guards}:
        until_dead(pid)
