"""The client: `aurora job create|killall|restart|add|kill|status`, with Aurora's texts and exit
codes.

apache.aurora.client.cli (jobs.py, options.py, __init__.py) of Aurora 0.21. AURORA_STAND_IN is the
folder of Aurora's own files; its `settings.json` may have: clusters (known clusters), roles
(allowed roles), quota_cpu (for each role), fail_first (number of calls that fail before a success),
stops (verbs at which the client hangs), hosts (an instance's number -> words before its command
line, for a start on the host).
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from aurora_stand_in import schema

OK, INVALID_CONFIGURATION, COMMAND_FAILURE, INVALID_PARAMETER, API_ERROR = 0, 3, 4, 6, 10
START_SECS = 30.0
POLL_SECS = 0.05
PLACE = Path(os.environ["AURORA_STAND_IN"])


class Failed(Exception):
    """A command's end: exit code and its stderr."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__(*lines)
        self.code = code
        self.lines = lines


def settings() -> dict[str, Any]:
    """The test's settings of this Aurora."""
    path = PLACE / "settings.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


class Job:
    """A job by its key, and its process, if any."""

    def __init__(self, key: str) -> None:
        self.words = tuple(key.split("/"))
        if len(self.words) != 4:
            raise Failed(2, f"aurora: error: argument jobspec: invalid jobkeytype value: '{key}'")
        self.key = key
        self.folder = PLACE / "jobs" / key.replace("/", "%")

    def check(self, failure: str) -> None:
        """Refusals of Aurora's scheduler."""
        known = settings()
        cluster, role = self.words[:2]
        if cluster not in known.get("clusters", [cluster]):
            raise Failed(
                INVALID_CONFIGURATION, f"Error executing command: Unknown cluster: {cluster}"
            )
        if role not in known.get("roles", [role]):
            raise Failed(
                COMMAND_FAILURE,
                failure,
                f"\tSubject {os.environ.get('USER', 'nobody')} is not permitted to "
                f"thrift.AuroraSchedulerManager:createJob:{role}.",
            )

    @property
    def exists(self) -> bool:
        """Whether the job has active instances."""
        return (self.folder / "port").exists()

    def ask(self, do: str, numbers: list[int]) -> Any:
        """Have the cluster do something."""
        port = int((self.folder / "port").read_text("ascii"))
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(json.dumps({"do": do, "numbers": numbers}).encode() + b"\n")
            return json.loads(sock.makefile().readline())

    def tasks(self) -> list[dict[str, Any]]:
        """The active instances."""
        found: list[dict[str, Any]] = self.ask("status", []) if self.exists else []
        return found

    def wait_until_running(self, numbers: set[int], before: Collection[int] = ()) -> None:
        """As --wait-until RUNNING does; processes of `before` do not count."""
        deadline = time.monotonic() + START_SECS
        while time.monotonic() < deadline:
            running = {
                each["assignedTask"]["instanceId"]
                for each in self.tasks()
                if each["status"] == "RUNNING" and each["pid"] not in before
            }
            if numbers <= running:
                return
            time.sleep(POLL_SECS)


def create(given: argparse.Namespace) -> None:
    """aurora job create"""
    job = Job(given.jobspec)
    bindings = dict(each.split("=") for each in given.bind)
    try:
        config = schema.load_job(given.config_file, job.words, bindings)
    except schema.InvalidJob as error:
        text = f"Error executing command: Error loading configuration: {error}"
        raise Failed(INVALID_CONFIGURATION, text) from None
    print(f" INFO] Creating job {job.words[3]}", file=sys.stderr)
    failure = "Job creation failed due to error:"
    job.check(failure)
    if job.exists:
        key = "/".join(job.words[1:])
        raise Failed(COMMAND_FAILURE, failure, f"\tJob already exists: {key}")
    instances = int(config.instances().get())
    wanted = float(config.task().resources().cpu().get()) * instances
    quota = settings().get("quota_cpu", wanted)
    if wanted > quota:
        over = f"CPU quota exceeded by {wanted - quota:.2f} core(s)"
        raise Failed(COMMAND_FAILURE, failure, f"\tInsufficient resource quota: {over}")
    start(job, os.path.abspath(given.config_file), bindings)
    job.wait_until_running(set(range(instances)))
    print(
        f"Job create succeeded: job url=http://localhost:8081/scheduler/{'/'.join(job.words[1:])}"
    )


def start(job: Job, file: str, bindings: dict[str, str]) -> None:
    """The job's cluster as a process of its own."""
    job.folder.mkdir(parents=True)
    with (PLACE / "cluster.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "aurora_stand_in.cluster", str(job.folder), file, job.key,
             json.dumps(bindings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + START_SECS
    while not job.exists and time.monotonic() < deadline:
        time.sleep(POLL_SECS)


def kill_all(given: argparse.Namespace) -> None:
    """aurora job killall"""
    _kill(Job(given.jobspec), None)
    print("Job killall succeeded")


def kill(given: argparse.Namespace) -> None:
    """aurora job kill"""
    job, numbers = instances_in(given.instance_spec)
    if numbers is None:
        raise Failed(
            INVALID_PARAMETER,
            "Error executing command: The instances list cannot be omitted in a kill command!; "
            "use killall to kill all instances",
        )
    _kill(job, numbers)
    print("Job kill succeeded")


def _kill(job: Job, numbers: set[int] | None) -> None:
    active = {each["assignedTask"]["instanceId"] for each in job.tasks()}
    if not active:
        raise Failed(INVALID_PARAMETER, f"No tasks to kill found for job {job.key}")
    chosen = sorted(active if numbers is None else active & numbers)
    job.check(f"Kill of instances {chosen} failed with error:")
    job.ask("kill", chosen)
    print(f"Successfully killed instances {chosen}")


def restart(given: argparse.Namespace) -> None:
    """aurora job restart"""
    job, numbers = instances_in(given.instance_spec)
    failure = f"Error restarting job {job.key}:"
    job.check(failure)
    before = {each["assignedTask"]["instanceId"]: each["pid"] for each in job.tasks()}
    chosen = sorted(set(before) if numbers is None else numbers & set(before))
    if not chosen:
        raise Failed(API_ERROR, failure, f"\tNo instances to restart found for job {job.key}")
    job.ask("restart", chosen)
    job.wait_until_running(set(chosen), before.values())
    print(f"Job {job.key} restarted successfully")


def add(given: argparse.Namespace) -> None:
    """aurora job add"""
    job, numbers = instances_in(given.task_instance)
    active = {each["assignedTask"]["instanceId"] for each in job.tasks()}
    if numbers is None or not numbers <= active:
        raise Failed(
            INVALID_PARAMETER,
            f"Error executing command: Invalid instance parameter: {sorted(numbers or ())}",
        )
    new = list(range(max(active) + 1, max(active) + 1 + given.instance_count))
    job.ask("add", new)
    if given.verbose:
        print(f" DEBUG] Querying instance statuses: {new}", file=sys.stderr)
    job.wait_until_running(set(new))


def status(given: argparse.Namespace) -> None:
    """aurora job status"""
    job = Job(given.jobspec)
    tasks = job.tasks()
    if given.write_json and not tasks:
        print(json.dumps({"jobspec": job.key, "error": "No matching jobs found"}))
    elif not tasks:
        raise Failed(INVALID_PARAMETER, f"Found no jobs matching {job.key}")
    elif given.write_json:
        print(json.dumps([{"job": job.key, "active": tasks, "inactive": []}], indent=2))
    else:
        print(f"Active tasks ({len(tasks)}):")
        for each in tasks:
            number, host = each["assignedTask"]["instanceId"], each["assignedTask"]["slaveHost"]
            _, role, env, name = job.words
            print(f"\tTask role: {role}, env: {env}, name: {name}, instance: {number}, "
                  f"status: {each['status']} on {host}")  # fmt: skip
        print("Inactive tasks (0):")


def instances_in(spec: str) -> tuple[Job, set[int] | None]:
    """CLUSTER/ROLE/ENV/NAME[/INSTANCES] with 0-2,5 as instances."""
    words = spec.split("/")
    if len(words) == 4:
        return Job(spec), None
    found: set[int] = set()
    for part in words[4].split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return Job("/".join(words[:4])), found


def parser() -> argparse.ArgumentParser:
    """The client's command line, as far as it is called here."""
    made = argparse.ArgumentParser(prog="aurora")
    nouns = made.add_subparsers(dest="noun", required=True)
    verbs = nouns.add_parser("job").add_subparsers(dest="verb", required=True)
    for name, function, arguments in (
        ("create", create, ("jobspec", "config_file")),
        ("killall", kill_all, ("jobspec",)),
        ("kill", kill, ("instance_spec",)),
        ("restart", restart, ("instance_spec",)),
        ("add", add, ("task_instance",)),
        ("status", status, ("jobspec",)),
    ):
        verb = verbs.add_parser(name)
        verb.set_defaults(function=function)
        for each in arguments:
            verb.add_argument(each)
        verb.add_argument("--verbose", action="store_true")
        if name in ("create", "add"):
            verb.add_argument("--wait-until", choices=("PENDING", "RUNNING", "FINISHED"))
        if name in ("killall", "kill", "restart"):
            verb.add_argument("--batch-size", type=int, default=1)
    verbs.choices["create"].add_argument("--bind", action="append", default=[])
    verbs.choices["add"].add_argument("instance_count", type=int)
    verbs.choices["status"].add_argument("--write-json", action="store_true")
    return made


def fails_first() -> bool:
    """Whether this call is planned to fail."""
    counter = PLACE / "failed"
    failed = int(counter.read_text("ascii")) if counter.exists() else 0
    if failed >= settings().get("fail_first", 0):
        return False
    counter.write_text(str(failed + 1), "ascii")
    return True


def main() -> int:
    """One call."""
    given = parser().parse_args()
    with (PLACE / "calls").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    try:
        while given.verb in settings().get("stops", ()):
            time.sleep(POLL_SECS)
        if fails_first():
            raise Failed(API_ERROR, " ERROR] Internal error executing command: TTransportException")
        given.function(given)
    except Failed as error:
        for line in error.lines:
            print(line, file=sys.stderr)
        return error.code
    return OK


if __name__ == "__main__":
    sys.exit(main())
