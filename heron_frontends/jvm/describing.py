"""What Java classes say of themselves, asked of one JVM when a topology is loaded."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heron_core.errors import ComponentError
from heron_core.topology import StreamSpec
from heron_frontends.jvm.frames import command
from heron_frontends.jvm.java_process import JavaProcess
from heron_frontends.jvm.launch import Launch, ended_at_start

DESCRIBE_SECS_MAX = 120.0
"""For all constructors and declareOutputFields of a topology."""
_LABEL = "the Java classes of the topology"
POLL_SECS = 0.5


@dataclass(frozen=True, slots=True)
class JavaDescription:
    """Of one component: what it declares, or the problem in one line."""

    streams: tuple[StreamSpec, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    keeps_state: bool = False
    problem: str = ""


def describe(
    recipes: Sequence[tuple[Mapping[str, Any], bool]], config: Mapping[str, Any], folder: str
) -> list[JavaDescription]:
    """The description of each (recipe, whether it is a spout).

    ComponentError if no JVM can tell: what is missing, or how it ended.
    """
    process = Launch.of(config, folder).start(logging.getLogger(__name__), _LABEL)
    process.put(_request(recipes, process))
    deadline = time.monotonic() + DESCRIBE_SECS_MAX
    try:
        while time.monotonic() < deadline:
            process.write()
            frames = process.read() if process.wait(POLL_SECS) else []
            if frames is None or (not frames and process.has_exited):
                raise ended_at_start(_LABEL, process.reap())
            for frame in frames:
                if frame[0] == "described":
                    process.reap()
                    return [_description(answer) for answer in frame[1]]
        process.kill(f"did not describe the components within {DESCRIBE_SECS_MAX:g} s")
        raise ended_at_start(_LABEL, process.reap())
    except BaseException:
        process.kill("is not needed any more")
        raise


def _request(recipes: Sequence[tuple[Mapping[str, Any], bool]], process: JavaProcess) -> bytes:
    try:
        return command("describe", recipes)
    except (TypeError, ValueError, OverflowError) as error:
        process.kill("is not needed any more")
        process.reap()
        raise ComponentError(f"an argument of a Java class is {error}: Java has none") from None


def _description(answer: Mapping[str, Any]) -> JavaDescription:
    if "problem" in answer:
        return JavaDescription(problem=answer["problem"])
    streams = tuple(
        StreamSpec(name, tuple(fields), is_direct) for name, fields, is_direct in answer["streams"]
    )
    return JavaDescription(streams, answer["config"], answer["state"])
