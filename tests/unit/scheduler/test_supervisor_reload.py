"""A supervisor whose processes change while it runs: real processes, told apart by pid."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from heron_core.errors import StateStoreError
from heron_engine.scheduler.container.supervisor import PlanMessage, Supervisor
from heron_engine.scheduler.container.supervisor_events import ProcessSpec, SupervisorOutcome
from heron_io.processes import SupervisorLink, fork_child

END_SECS = 60.0
"""A deadline far above any test."""


def _until_terminated(link: SupervisorLink) -> int:
    """Live in order: beat, and end when told to."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    while not ended.wait(0.05):
        link.heartbeat()
    return 0


def _stubborn(link: SupervisorLink) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        link.heartbeat()
        signal.sigtimedwait([], 0.05)


def process(
    name: str, main: Callable[[SupervisorLink], int] = _until_terminated, *, is_urgent: bool = True
) -> ProcessSpec:
    """A staying child."""
    return ProcessSpec(
        name, f"test: {name}", main, 0.3, killed_with_parent=True, is_urgent=is_urgent
    )


@dataclass
class Script:
    """Answers of the supervisor's reload hook, call by call, with a note of the running
    processes."""

    answers: list[list[ProcessSpec] | Exception]
    seen: list[dict[str, int]] = field(default_factory=list)
    supervisor: Supervisor | None = None

    def __call__(self, message: PlanMessage | None) -> list[ProcessSpec]:
        assert self.supervisor is not None
        statistics = self.supervisor.statistics()
        self.seen.append({each.name: each.pid for each in statistics if each.pid is not None})
        if not self.answers:
            self.supervisor.end(SupervisorOutcome(0, "the script is over"))
            return list(self.supervisor.specs)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def seen_by(
    first: list[ProcessSpec],
    *answers: list[ProcessSpec] | Exception,
    is_urgent: bool = True,
    may_ask: Callable[[], bool] = lambda: True,
) -> list[dict[str, int]]:
    """Run a supervisor in a process of its own; name -> pid at each call of the hook. The first
    call comes when `may_ask` says so."""
    script = Script(list(answers))
    readable, writable = os.pipe()

    def asks(link: SupervisorLink) -> int:
        """The child that says RELOAD until the script is over."""
        ended = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
        while not ended.wait(0.2):
            if may_ask():
                link.request_reload()
            else:
                link.heartbeat()
        return 0

    asking = process("asks", asks, is_urgent=is_urgent)

    def main(lifeline: int) -> int:
        supervisor = Supervisor([asking, *first], SupervisorLink(lifeline), 5, END_SECS, script)
        script.supervisor = supervisor
        script.answers = [
            each if isinstance(each, Exception) else [asking, *each] for each in script.answers
        ]
        outcome = supervisor.run()
        os.write(writable, json.dumps(script.seen).encode())
        return outcome.code

    child = fork_child("test: supervisor", main, killed_with_parent=True)
    _, status = os.waitpid(child.pid, 0)
    os.close(child.lifeline)
    os.close(writable)
    with os.fdopen(readable, "rb") as file:
        data = file.read()
    assert os.waitstatus_to_exitcode(status) == 0
    found: list[dict[str, int]] = json.loads(data)
    return found


def test_new_jobs_start_others_end_and_who_stays_is_not_touched() -> None:
    one, two, three = process("one"), process("two"), process("three")
    first, *_, last = seen_by([one, two], [one, three], [one, three], [one, three])
    assert first.keys() == {"asks", "one", "two"}
    assert last.keys() == {"asks", "one", "three"}
    assert last["one"] == first["one"]


def test_what_is_not_urgent_is_heard_with_the_next_timer() -> None:
    # An instance: two hundred of them must not wake their executor with each heartbeat.
    one, two = process("one"), process("two", is_urgent=False)
    first, last = seen_by([one], [one, two], is_urgent=False)
    assert first.keys() == {"asks", "one"}
    assert last.keys() == {"asks", "one", "two"}


def test_one_that_does_not_end_is_killed_and_may_come_back() -> None:
    stubborn = process("stubborn", _stubborn)
    wanted_again = [[stubborn]] * 6
    first, *_, last = seen_by([stubborn], [], *wanted_again)
    assert last["stubborn"] != first["stubborn"]


def test_a_store_that_is_away_ends_nobody() -> None:
    one, two = process("one"), process("two")
    first, *_, last = seen_by([one], StateStoreError("no store"), [one, two], [one, two])
    assert last.keys() == {"asks", "one", "two"}
    assert last["one"] == first["one"]


def test_many_that_begin_at_once_have_a_status_pipe_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Children are forked some at a time, without open pipes of a sibling."""
    monkeypatch.setattr("heron_engine.scheduler.container.supervisor.FORKED_AT_ONCE_MAX", 2)

    def main(link: SupervisorLink) -> int:
        (tmp_path / str(os.getpid())).write_text("\n".join(sorted(_open_pipes())))
        return _until_terminated(link)

    def all_have_written() -> bool:
        return [file.stat().st_size > 0 for file in tmp_path.iterdir()] == [True] * 5

    processes = [process(f"p{number}", main) for number in range(5)]
    seen = seen_by(processes, may_ask=all_have_written)[-1]
    del seen["asks"]
    assert len(seen) == 5
    pipes = [set((tmp_path / str(pid)).read_text().splitlines()) for pid in seen.values()]
    inherited = set.intersection(*pipes)
    assert [len(each - inherited) for each in pipes] == [2] * 5, "a lifeline and a status pipe"
    own = [pipe for each in pipes for pipe in each - inherited]
    assert len(set(own)) == len(own)


def _open_pipes() -> Iterator[str]:
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one of the listing itself
            yield os.readlink(f"/proc/self/fd/{number}")
