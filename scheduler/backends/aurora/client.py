"""Calls of the `aurora` command, as Heron makes them (AuroraCLIController.java).

A failed call becomes one line: Aurora's message, and the remedy.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.aurora.render import JobKey

BATCH_INSTANCES = 2**31 - 1
"""All at once: `restart` has no --no-batching, so Heron gives Java's largest int."""
KILL_ATTEMPTS, KILL_PAUSE_SECS = 5, 2.0
"""Heron's job.max.kill.attempts and job.kill.retry.interval.ms."""
CALL_SECS = 300.0
"""Timeout of a call, which may take minutes while instances start."""
WORDS_MAX = 300


class Refused(HeronError):
    """Aurora has refused a call; a repeated call would be refused, too."""


class NothingThere(HeronError):
    """Unknown job or instance."""


class TimedOut(HeronError):
    """The client has not ended in time; the call may still take effect."""


class _Complaint(Struct, frozen=True):
    """Aurora's error text, and the corresponding line."""

    pattern: re.Pattern[str]
    kind: type[HeronError]
    line: str
    """{job} is the job's key, {said} what Aurora said."""


def _complaint(pattern: str, kind: type[HeronError], line: str) -> _Complaint:
    return _Complaint(re.compile(pattern, re.IGNORECASE), kind, line)


_COMPLAINTS = (
    _complaint(
        r"already exists",
        Refused,
        "Aurora has a job {job} already: choose another name with -N, or end it by "
        "`aurora job killall {job}`",
    ),
    _complaint(
        r"No tasks to kill found|No matching jobs found|Found no jobs matching"
        r"|Invalid instance parameter|No instances? (?:found|to restart)",
        NothingThere,
        "{job} does not have these instances: {said}",
    ),
    _complaint(
        r"quota",
        Refused,
        "the quota of {role} does not allow {job}: {said}; ask for more, or use smaller containers",
    ),
    _complaint(
        r"permi(?:ssion|tted)|auth(?:entication|orization)?[ _]failed|unauthori[sz]ed|\b40[13]\b",
        Refused,
        "no permission for {job}: {said}; use a user with the role {role}",
    ),
    _complaint(
        r"Unknown cluster|No such cluster|cluster not found",
        Refused,
        "Aurora does not know the cluster {cluster}: name it in its clusters.json, or change "
        "aurora: cluster",
    ),
    _complaint(
        r"Error loading configuration",
        Refused,
        "Aurora does not take the job file of {job}: {said}",
    ),
)


class ActiveInstance(Struct, frozen=True):
    """One active instance of Aurora."""

    number: int
    status: str
    host: str


class AuroraClient(Struct, frozen=True):
    """Does things to one job."""

    command: tuple[str, ...]
    """The client's words, usually only `aurora`."""
    job: JobKey
    rest: Callable[[float], None] = field(default=time.sleep)

    def create(self, bound: Mapping[str, str], file: str, wait_secs: float) -> None:
        """Start the job and wait until its instances run. Refused; TimedOut if they do not."""
        words = [word for key, value in bound.items() for word in ("--bind", f"{key}={value}")]
        call = ("create", "--wait-until", "RUNNING", *words, str(self.job), file)
        self._call(call, wait_secs)

    def kill_all(self) -> None:
        """End the job; a missing job is ignored."""
        for attempt in range(1, KILL_ATTEMPTS + 1):
            try:
                self._call(("killall", str(self.job), *_batch()))
                return
            except NothingThere:
                return
            except Refused:
                raise
            except HeronError:
                if attempt == KILL_ATTEMPTS:
                    raise
                self.rest(KILL_PAUSE_SECS)

    def restart(self, number: int | None) -> None:
        """Restart one instance, or all. NothingThere if unknown."""
        spec = str(self.job) if number is None else f"{self.job}/{number}"
        self._call(("restart", spec, *_batch()))

    def add(self, number: int) -> list[int]:
        """Add instances like instance 0; returns Aurora's numbers."""
        call = ("add", "--wait-until", "RUNNING", f"{self.job}/0", str(number), "--verbose")
        said = self._call(call).stderr
        match = re.search(r"Querying instance statuses: \[([\d, ]+)\]", said)
        if match is None:
            raise HeronError(
                f"Aurora did not report the instances added to {self.job}: see `aurora job "
                f"status {self.job}`"
            )
        return [int(number) for number in match[1].split(",")]

    def kill(self, numbers: Sequence[int]) -> None:
        """End some instances."""
        spec = f"{self.job}/{','.join(map(str, numbers))}"
        self._call(("kill", spec, *_batch()))

    def status(self) -> list[ActiveInstance]:
        """The active instances; empty without a job."""
        text = self._call(("status", "--write-json", str(self.job))).stdout
        return parsed_status(text)

    def _call(
        self, words: Sequence[str], wait_secs: float = CALL_SECS
    ) -> "subprocess.CompletedProcess[str]":
        command = [*self.command, "job", *words]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=wait_secs,
                check=False,
            )
        except OSError as error:
            raise Refused(
                f"the Aurora client {self.command[0]!r} cannot be called ({error.strerror}): "
                "install it, or name it by aurora: client in the cluster's file"
            ) from None
        except subprocess.TimeoutExpired:
            raise TimedOut(
                f"`aurora job {words[0]}` of {self.job} takes longer than {wait_secs:g} s: look at "
                f"`aurora job status {self.job}`"
            ) from None
        if done.returncode:
            raise complaint(self.job, words[0], f"{done.stderr}\n{done.stdout}", done.returncode)
        return done


def _batch() -> tuple[str, str]:
    return "--batch-size", str(BATCH_INSTANCES)


def complaint(job: JobKey, verb: str, text: str, code: int) -> HeronError:
    """The error of a failed call, in one line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for pattern in _COMPLAINTS:
        said = next((line for line in lines if pattern.pattern.search(line)), None)
        if said is not None:
            text = pattern.line.format(
                job=job, role=job.role, cluster=job.cluster, said=said[:WORDS_MAX]
            )
            return pattern.kind(text)
    # The client's log lines begin with a level: " INFO] Creating job".
    plain = [line for line in lines if line and not re.match(r"(?:INFO|DEBUG)\]", line)]
    said = " ".join(plain)[:WORDS_MAX] or f"exited with code {code} without a message"
    return HeronError(f"`aurora job {verb}` of {job} fails: {said}")


def parsed_status(text: str) -> list[ActiveInstance]:
    """The active instances in what `aurora job status --write-json` prints, sorted."""
    try:
        jobs: Any = json.loads(text)
        if isinstance(jobs, dict):  # {"jobspec": …, "error": "No matching jobs found"}
            return []
        tasks = [task for job in jobs for task in job["active"]]
        read = [
            ActiveInstance(
                int(task["assignedTask"]["instanceId"]),
                str(task["status"]),
                str(task["assignedTask"].get("slaveHost", "")),
            )
            for task in tasks
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeronError(f"unexpected output of `aurora job status`: {error!r}") from None
    return sorted(read, key=lambda each: each.number)
