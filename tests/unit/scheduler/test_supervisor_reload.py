"""A supervisor whose jobs change while it runs: real processes, told apart by pid."""

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from heron_core.errors import StateStoreError
from heron_io.processes import SupervisorLink, fork_child
from scheduler.container.supervisor import Job, Outcome, Supervisor

END_SECS = 60.0
"""A deadline that nothing comes near."""


def _until_terminated(ties: SupervisorLink) -> int:
    """Live in order: beat, and end when told to."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    while not ended.wait(0.05):
        ties.beat()
    return 0


def _stubborn(ties: SupervisorLink) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        ties.beat()
        signal.sigtimedwait([], 0.05)


def job(name: str, main: Callable[[SupervisorLink], int] = _until_terminated) -> Job:
    """A child that stays."""
    return Job(name, f"test: {name}", main, 0.3, killed_with_parent=True)


@dataclass
class Script:
    """What the supervisor's reload hook answers, call by call; it notes who runs each time."""

    answers: list[list[Job] | Exception]
    seen: list[dict[str, int]] = field(default_factory=list)
    supervisor: Supervisor | None = None

    def __call__(self) -> list[Job]:
        assert self.supervisor is not None
        running = {each.job.name: each.child.pid
                   for each in self.supervisor._running if each.child}  # fmt: skip
        self.seen.append(running)
        if not self.answers:
            self.supervisor.end(Outcome(0, "the script is over"))
            return list(self.supervisor.jobs)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def seen_by(first: list[Job], *answers: list[Job] | Exception) -> list[dict[str, int]]:
    """Run a supervisor in a process of its own; name -> pid at each call of the hook."""
    script = Script(list(answers))
    readable, writable = os.pipe()

    def asks(ties: SupervisorLink) -> int:
        """The child that says RELOAD until the script is over."""
        ended = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
        while not ended.wait(0.2):
            ties.reload()
        return 0

    asking = job("asks", asks)

    def main(lifeline: int) -> int:
        supervisor = Supervisor([asking, *first], SupervisorLink(lifeline), 5, 4, END_SECS, script)
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
    one, two, three = job("one"), job("two"), job("three")
    first, *_, last = seen_by([one, two], [one, three], [one, three], [one, three])
    assert first.keys() == {"asks", "one", "two"}
    assert last.keys() == {"asks", "one", "three"}
    assert last["one"] == first["one"]


def test_one_that_does_not_end_is_killed_and_may_come_back() -> None:
    stubborn = job("stubborn", _stubborn)
    wanted_again = [[stubborn]] * 6
    first, *_, last = seen_by([stubborn], [], *wanted_again)
    assert last["stubborn"] != first["stubborn"]


def test_a_store_that_is_away_ends_nobody() -> None:
    one, two = job("one"), job("two")
    first, *_, last = seen_by([one], StateStoreError("no store"), [one, two], [one, two])
    assert last.keys() == {"asks", "one", "two"}
    assert last["one"] == first["one"]
