"""Arguments of the program `aurora`, and the meaning of its answers.

The texts come from Aurora's own client (apache.aurora.client.cli.jobs, context) and scheduler
(SchedulerThriftInterface, QuotaManager); the calls from Heron's AuroraCLIController.
"""

import json
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.aurora.client import (
    ActiveInstance,
    AuroraClient,
    NothingThere,
    Refused,
    TimedOut,
    complaint,
    parsed_status,
)
from heron_engine.scheduler.backends.aurora.render import JobKey

KEY = JobKey("west", "www", "devel", "WordCount")
BATCH = "--batch-size 2147483647"


def client(folder: Path, script: str) -> AuroraClient:
    """A client whose `aurora` notes its words in `folder` and then does `script`."""

    def rest(secs: float) -> None:
        with (folder / "rests").open("a") as file:
            file.write(f"{secs} ")

    line = f'echo "$*" >> {folder}/calls; {script}'
    return AuroraClient(("sh", "-c", line, "aurora"), KEY, rest)


def calls(folder: Path) -> list[str]:
    """What was called."""
    return (folder / "calls").read_text().splitlines()


def test_calls_are_herons(tmp_path: Path) -> None:
    """Word for word."""
    says = "echo ' DEBUG] Querying instance statuses: [3, 4]' >&2; echo '[]'"
    aurora = client(tmp_path, says)
    aurora.create({"ROLE": "www", "TIER": "preferred"}, "/tmp/w.aurora", 5.0)
    aurora.kill_all()
    aurora.restart(None)
    aurora.restart(2)
    assert aurora.add(2) == [3, 4]
    aurora.kill([3, 4])
    assert aurora.status() == []
    assert calls(tmp_path) == [
        (
            "job create --wait-until RUNNING --bind ROLE=www --bind TIER=preferred "
            "west/www/devel/WordCount /tmp/w.aurora"
        ),
        f"job killall west/www/devel/WordCount {BATCH}",
        f"job restart west/www/devel/WordCount {BATCH}",
        f"job restart west/www/devel/WordCount/2 {BATCH}",
        "job add --wait-until RUNNING west/www/devel/WordCount/0 2 --verbose",
        f"job kill west/www/devel/WordCount/3,4 {BATCH}",
        "job status --write-json west/www/devel/WordCount",
    ]


def test_killall_is_tried_five_times(tmp_path: Path) -> None:
    """Two seconds apart (Heron: job.max.kill.attempts), then the error is told."""
    with pytest.raises(HeronError, match=r"`aurora job killall` of .* fails: out of order"):
        client(tmp_path, "echo 'out of order' >&2; exit 10").kill_all()
    assert len(calls(tmp_path)) == 5
    assert (tmp_path / "rests").read_text() == "2.0 2.0 2.0 2.0 "


def test_a_refused_killall_is_not_tried_again(tmp_path: Path) -> None:
    """No permission now is no permission in two seconds."""
    with pytest.raises(Refused):
        client(tmp_path, "echo 'Subject ada is not permitted to kill' >&2; exit 4").kill_all()
    assert len(calls(tmp_path)) == 1


def test_a_job_that_is_gone_is_killed(tmp_path: Path) -> None:
    """The state already matches the request."""
    said = "No tasks to kill found for job west/www/devel/WordCount"
    client(tmp_path, f"echo '{said}' >&2; exit 6").kill_all()
    assert len(calls(tmp_path)) == 1


def test_add_that_does_not_say_what_it_added(tmp_path: Path) -> None:
    """Guessing the numbers would break the packing plan."""
    with pytest.raises(HeronError, match="did not report the instances"):
        client(tmp_path, "true").add(1)


def test_no_client() -> None:
    """One line with the cure."""
    with pytest.raises(Refused, match=r"'/nowhere/aurora' cannot be called .*install it, or name"):
        AuroraClient(("/nowhere/aurora",), KEY).status()


def test_a_client_that_does_not_come_back(tmp_path: Path) -> None:
    """A job may wait for resources for ever; the caller goes on."""
    with pytest.raises(TimedOut, match=r"takes longer than 0.05 s: look at `aurora job status"):
        client(tmp_path, "exec sleep 10").create({}, "f", 0.05)


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (
            "Job creation failed due to error:\n\tJob already exists: www/devel/WordCount",
            Refused,
            (
                "Aurora has a job west/www/devel/WordCount already: choose another name with -N, "
                "or end it by `aurora job killall west/www/devel/WordCount`"
            ),
        ),
        (
            (
                "Job creation failed due to error:\n"
                "\tInsufficient resource quota: CPU quota exceeded by 2.00 core(s)"
            ),
            Refused,
            (
                "the quota of www does not allow west/www/devel/WordCount: Insufficient resource "
                "quota: CPU quota exceeded by 2.00 core(s); ask for more, or use smaller containers"
            ),
        ),
        (
            "Job creation failed due to error:\n\tSubject ada is not permitted to createJob:www.",
            Refused,
            (
                "no permission for west/www/devel/WordCount: Subject ada is not permitted to "
                "createJob:www.; use a user with the role www"
            ),
        ),
        (
            "Error executing command: Unknown cluster: west",
            Refused,
            (
                "Aurora does not know the cluster west: name it in its clusters.json, or change "
                "aurora: cluster"
            ),
        ),
        (
            "Error executing command: Error loading configuration: environment is required",
            Refused,
            (
                "Aurora does not take the job file of west/www/devel/WordCount: Error executing "
                "command: Error loading configuration: environment is required"
            ),
        ),
        (
            "Error executing command: Invalid instance parameter: [7]",
            NothingThere,
            (
                "west/www/devel/WordCount does not have these instances: Error executing "
                "command: Invalid instance parameter: [7]"
            ),
        ),
        (
            " INFO] Creating job WordCount\nsomething\n  else",
            HeronError,
            "`aurora job create` of west/www/devel/WordCount fails: something else",
        ),
        (
            "",
            HeronError,
            (
                "`aurora job create` of west/www/devel/WordCount fails: exited with code 9 "
                "without a message"
            ),
        ),
    ],
)
def test_complaints(text: str, kind: type[HeronError], line: str) -> None:
    """Each of Aurora's errors as one line with its remedy."""
    found = complaint(KEY, "create", text, 9)
    assert type(found) is kind
    assert str(found) == line


def test_status() -> None:
    """Active instances only, by number; other fields of Aurora's tasks do not matter."""
    tasks = [
        {"status": status, "assignedTask": {"instanceId": number, "slaveHost": "h1", "taskId": "t"}}
        for number, status in ((2, "PENDING"), (0, "RUNNING"))
    ]
    text = json.dumps([{"job": str(KEY), "active": tasks, "inactive": [{"status": "LOST"}]}])
    assert parsed_status(text) == [
        ActiveInstance(0, "RUNNING", "h1"),
        ActiveInstance(2, "PENDING", "h1"),
    ]


def test_status_of_no_job() -> None:
    """Aurora prints an object then, and succeeds."""
    assert parsed_status('{"jobspec":"west/www/devel/x","error":"No matching jobs found"}') == []


@pytest.mark.parametrize("text", ["", "<html>", "[1]", '[{"job": "x"}]', '[{"active": [{}]}]'])
def test_status_that_is_none(text: str) -> None:
    """Another program's output is told of, not believed."""
    with pytest.raises(HeronError, match="unexpected output"):
        parsed_status(text)
