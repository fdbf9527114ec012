"""YARN's diagnostics of a container's or application's end, as one line. Pure."""

import re
from collections.abc import Mapping

from msgspec import Struct

from heron_core.plans import MIB, ContainerPlan

WORDS_MAX = 400
EXCEEDED_VIRTUAL, EXCEEDED_PHYSICAL = -103, -104
"""ContainerExitStatus: killed by the node manager for its memory."""
TOO_LARGE = frozenset({EXCEEDED_VIRTUAL, EXCEEDED_PHYSICAL})
TAKEN_AWAY: Mapping[int, str] = {
    -100: "its node is lost",
    -101: "its node's disks have failed",
    -102: "another application got the container (pre-emption)",
    -105: "the application master stopped it",
    -106: "the resource manager killed it",
    -108: "the node manager's scheduler killed it",
}
"""ContainerExitStatus of YARN: it is not the container's fault, so no attempt is counted."""
_MEMORY = re.compile(r"Current usage: (.+?) physical memory used; (.+?) virtual memory used")
_EXCEEDED = re.compile(r"beyond the '\w+' memory limit")
_PROCESS = re.compile(
    r"^\s*\|- (\d+) \d+ \d+ \d+ \(.*?\) \d+ \d+ \d+ (\d+) (.*)$",
    re.MULTILINE,
)
"""A row of the process tree's dump (ProcfsBasedProcessTree): pid, resident pages, command line."""
_INSTANCE = re.compile(r"heron: (?P<component>.+)\[\d+\] task (?P<task>\d+) \(")
_STDERR = re.compile(r"Last \d+ bytes of \S*stderr\S* ?:(.*)\Z", re.DOTALL | re.IGNORECASE)
_STAMP = re.compile(r"^\[[\d :.+-]+\]")
_EMPTY_WORDS = ("Exception from container-submission.", "Container id:", "Exit code:", "For more")


class Process(Struct, frozen=True):
    """A row of the dump."""

    pid: int
    pages: int
    command: str


def completed_words(status: int, text: str, plan: ContainerPlan | None, page_bytes: int) -> str:
    """End reason of a container; `plan` is its entry in the packing plan."""
    # A process that ends at the first signal leaves its own exit code, not YARN's.
    if status in TOO_LARGE or _EXCEEDED.search(text):
        return memory_words(text, plan, page_bytes)
    return final_output(text)


def final_output(text: str) -> str:
    """The last line of the process, else the first informative line of YARN."""
    match = _STDERR.search(text)
    if match is not None:
        lines = _lines(match[1])
        if lines:
            return lines[-1][:WORDS_MAX]
    said = [each for each in _lines(text) if not each.startswith(_EMPTY_WORDS)]
    return said[0][:WORDS_MAX] if said else ""


def _lines(text: str) -> list[str]:
    stripped = (_STAMP.sub("", each.strip()).strip() for each in text.splitlines())
    return [" ".join(each.split()) for each in stripped if each]


def memory_words(text: str, plan: ContainerPlan | None, page_bytes: int) -> str:
    """The container's memory, and the instance with the largest growth beyond its plan."""
    used = _MEMORY.search(text)
    killed = f"it was killed for its memory ({used[1]})" if used else "it was killed for its memory"
    found = _grown(processes(text), plan, page_bytes)
    return f"{killed}{found}: raise topology.container.ram or its components' memory"


def processes(text: str) -> list[Process]:
    """The process tree that YARN dumps."""
    return [Process(int(each[1]), int(each[2]), each[3]) for each in _PROCESS.finditer(text)]


def _grown(tree: list[Process], plan: ContainerPlan | None, page_bytes: int) -> str:
    planned = {instance.task: instance for instance in plan.instances} if plan is not None else {}
    best, most = "", float("-inf")
    for process in tree:
        matched = _INSTANCE.match(process.command)
        instance = planned.get(int(matched["task"])) if matched else None
        if instance is None:
            continue
        have, allowed = process.pages * page_bytes, instance.resource.ram_bytes
        if have - allowed > most:
            most = have - allowed
            best = (
                f"; {instance.component}[{instance.index}] (task {instance.task}) has "
                f"{have / MIB:.0f} MB, {abs(most) / MIB:.0f} MB "
                f"{'more' if most > 0 else 'less'} than the {allowed / MIB:.0f} MB of its plan"
            )
    return best or _largest(tree, page_bytes)


def _largest(tree: list[Process], page_bytes: int) -> str:
    if not tree:
        return ""
    largest = max(tree, key=lambda each: each.pages)
    command = largest.command[:80]
    return f"; the largest process is {command!r} with {largest.pages * page_bytes / MIB:.0f} MB"


class Capacity(Struct, frozen=True):
    """Memory in MB and virtual cores."""

    memory_mb: int
    vcores: int

    def __str__(self) -> str:
        return f"{self.memory_mb} MB and {self.vcores} vcores"


def capacity_shortage(
    asked: Capacity,
    granted: int,
    containers: int,
    free: Capacity,
    largest: Capacity,
    queue: str,
    secs: float,
) -> str:
    """Requested, available and missing resources."""
    missing = Capacity(max(0, asked.memory_mb - free.memory_mb), max(0, asked.vcores - free.vcores))
    lacks = (
        f"{missing} are missing"
        if missing.memory_mb or missing.vcores
        else f"no node has room for the next one (the roomiest has {largest})"
    )
    return (
        f"{granted} of {containers} containers run after {secs:.0f} s: the rest asks for {asked}, "
        f"queue {queue} has {free} free, {lacks}"
    )
