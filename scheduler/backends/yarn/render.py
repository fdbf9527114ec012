"""A packing plan and a cluster's file as an application of YARN's. Pure."""

import json
import math
import re
import shlex
from collections.abc import Mapping

from msgspec import Struct, field

from heron_core.errors import UsageError
from heron_core.plans import MASTER_CONTAINER, MIB, PackingPlan
from heron_engine.scheduler.backends.yarn.events import Ask
from heron_engine.scheduler.backends.yarn.standby import is_standby, with_standby

TYPE = "HERON"
"""Application type of Heron's launcher; shown by `yarn application -list -appTypes HERON`."""
PYTHON = "python3"
QUEUE = "default"
MASTER_RAM_BYTES = 1024 * MIB
"""The topology master takes some 100 MB, the application master 60 MB, its JVM 250 MB."""
MASTER_VCORES = 1
MASTER = Ask(MASTER_RAM_BYTES // MIB, MASTER_VCORES)
ATTEMPTS_WINDOW_MS = 3_600_000
"""Attempts of the application master that failed longer ago are forgotten: a topology runs for
months, and a node may be lost every week."""
RUNTIME, PY4J, SPEC, CONFIG = "runtime", "py4j.zip", "application.json", "hadoop.xml"
"""Names of localised resources in a container's folder."""
ARCHIVE, FILE = "ARCHIVE", "FILE"
"""LocalResourceType: YARN unpacks an archive."""


class YarnOptions(Struct, frozen=True):
    """What the cluster's file says about applications."""

    queue: str = QUEUE
    python: str = PYTHON
    master: Ask = MASTER
    attempts: int | None = None
    """Attempts of the application master; None: the cluster's limit."""
    environment: tuple[tuple[str, str], ...] = ()
    partition: str = ""
    """Of the application master's node, and of containers without one of their own; empty: the
    queue decides."""


class LocalResource(Struct, frozen=True):
    """Something that YARN puts into a container's folder."""

    link: str
    uri: str
    kind: str
    shared: bool
    """Kept on a node for all applications of the user."""
    size: int = 0
    timestamp: int = 0


class ApplicationSpec(Struct, frozen=True):
    """What the application master has to know when it starts; the rest is in the state store."""

    topology: str
    store_url: str
    packed_for: str
    """Which Python the runtime's compiled parts are for."""
    python: str
    silent_secs: float
    restart_limit: int
    folder: str
    """URI of the topology's own files, removed with the topology."""
    code: tuple[str, ...]
    """Folders where the topology was submitted; the n-th lies in code_n here."""
    resources: tuple[LocalResource, ...]
    """For every container."""
    environment: Mapping[str, str] = field(default_factory=dict)
    standby: int = field(default=0, name="warm")
    """So many containers wait, besides those of the plan."""


def asks(packing: PackingPlan) -> dict[int, Ask]:
    """number -> how large the container has to be: the plan's memory, its cores rounded up."""
    return {
        each.id: Ask(
            max(1, math.ceil(each.resource.ram_bytes / MIB)), max(1, math.ceil(each.resource.cpu))
        )
        for each in packing.containers
    }


def asks_while_scaled(current: PackingPlan, wanted: PackingPlan) -> dict[int, Ask]:
    """Sizes of the containers of both plans. A container that changes its size is requested with
    the smaller size: an oversized request would never be granted, and an update to a smaller
    size could not finish."""
    before, after = asks(current), asks(wanted)
    return {
        number: before.get(number, ask).smaller(ask) for number, ask in {**before, **after}.items()
    }


def check_largest(packing: PackingPlan, master: Ask, largest: Ask) -> None:
    """UsageError if a container is larger than any that the cluster gives: YARN would refuse it
    when the application runs already."""
    for number, ask in {MASTER_CONTAINER: master, **asks(packing)}.items():
        who = "the application master" if number == MASTER_CONTAINER else f"container {number}"
        remedy = (
            "yarn: master" if number == MASTER_CONTAINER else "use more containers (-w), or set "
        )
        for what, wanted, most, key, setting in (
            ("MB of memory", ask.memory_mb, largest.memory_mb, "ram", "memory-mb"),
            ("vcores", ask.vcores, largest.vcores, "cpu", "vcores"),
        ):
            if wanted > most:
                where = remedy + (f".{key}" if number == MASTER_CONTAINER
                                else f"topology.container.{key}")  # fmt: skip
                raise UsageError(
                    f"{who} needs {wanted} {what}, but YARN's maximum is {most} "
                    f"(yarn.scheduler.maximum-allocation-{setting}): {where}"
                )


def python_path(*names: str) -> str:
    """PYTHONPATH of a container's process, for the shell."""
    return ":".join(f'"$PWD"/{each}' for each in names)


def relocated_words(code: tuple[str, ...]) -> list[str]:
    """Words of scheduler.container: where the topology's folders are here."""
    return [
        f'--relocated {shlex.quote(root)} "$PWD"/code_{number}/project'
        for number, root in enumerate(code)
    ]


def container_words(spec: ApplicationSpec, number: int) -> list[str]:
    """Common words of scheduler.container for all machines."""
    return [
        f"--store {shlex.quote(spec.store_url)}",
        f"--topology {shlex.quote(spec.topology)}",
        f"--container {number}",
    ]


def container_command(spec: ApplicationSpec, number: int) -> str:
    """The line with which YARN starts a container."""
    words = [
        f"exec env PYTHONPATH={python_path('runtime/project')}",
        shlex.quote(spec.python),
        "-m heron_engine.scheduler.backends.yarn.container_agent",
        f"--python {shlex.quote(spec.packed_for)}",
        f"--silent-secs {spec.silent_secs:g}",
        "--",
        *container_words(spec, number),
        *relocated_words(spec.code),
    ]
    return " ".join(words)


def master_command(python: str) -> str:
    """The line with which YARN starts the application master."""
    path = python_path("runtime/project", PY4J)
    words = [
        f"exec env PYTHONPATH={path}",
        shlex.quote(python),
        "-m heron_engine.scheduler.backends.yarn.master",
        SPEC,
    ]
    return " ".join(words)


def in_script(command: str) -> str:
    """A command for YARN, which writes it between double quotes into its launch script."""
    return f"{in_double_quotes(command)} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"


def in_double_quotes(text: str) -> str:
    """What stands for `text` between double quotes in a shell script."""
    return re.sub(r'[\\$`"]', r"\\\g<0>", text)


def check_words(spec: ApplicationSpec) -> None:
    """UsageError if something has in it what YARN would replace by a variable's value."""
    named = {"the state store": spec.store_url, "python": spec.python,
             **{f"the folder {each}": each for each in spec.code}}  # fmt: skip
    for what, word in named.items():
        for mark in ("{{", "}}", "<LOG_DIR>", "<CPS>"):
            if mark in word:
                raise UsageError(
                    f"{what} contains {mark}, which YARN would replace: use another name"
                )


def preview(
    name: str,
    options: YarnOptions,
    spec: ApplicationSpec,
    packing: PackingPlan,
    partitions: Mapping[int, str] = {},
) -> str:
    """The application as JSON, for --dry-run and for a person. `partitions`: container -> its
    partition, if one is named."""
    shown = {
        "application": {
            "name": name,
            "type": TYPE,
            "queue": options.queue,
            "tags": tags(name),
            "attempts": options.attempts or "the cluster's yarn.resourcemanager.am.max-attempts",
            "attempts_window_ms": ATTEMPTS_WINDOW_MS,
            "keep_containers_across_attempts": True,
        },
        "master": {
            "memory_mb": options.master.memory_mb,
            "vcores": options.master.vcores,
            "command": master_command(spec.python),
            **_in_partition(partitions, MASTER_CONTAINER),
        },
        "containers": [
            {
                "priority": number,
                "memory_mb": ask.memory_mb,
                "vcores": ask.vcores,
                "command": container_command(spec, number),
                **_in_partition(partitions, MASTER_CONTAINER if is_standby(number) else number),
            }
            for number, ask in with_standby(asks(packing), spec.standby).items()
        ],
        "environment": dict(spec.environment),
        "resources": [
            {"link": resource.link, "uri": resource.uri, "kind": resource.kind}
            for resource in spec.resources
        ],
    }
    return json.dumps(shown, indent=1)


def _in_partition(partitions: Mapping[int, str], number: int) -> dict[str, str]:
    return {"partition": partitions[number]} if number in partitions else {}


def tags(name: str) -> list[str]:
    """Tag by which the resource manager finds the application; at most 100 ASCII characters."""
    return ["heronpy", *([name.lower()] if name.isascii() and len(name) <= 100 else [])]
