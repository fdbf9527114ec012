"""Targets of the fuzzer: strategies of their steps, and invariants during the steps.

Steps are plain values (tuples, ints, bytes), so a failure can be printed as a Python literal and
pasted into a test.
"""

import json
import pickle
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from heron_core import plans
from heron_core.errors import ProtocolError
from heron_core.wire import batch, message_codec, packets, values
from heron_core.wire import frames as frames_module
from heron_core.wire.frames import Frames

from . import world
from .manager import manager_steps, run_manager
from .master import master_steps, run_master
from .mutate import mutated_bytes, mutated_frames, mutated_message, mutated_value, some

STEPS_MAX = 24
ERROR_CHARACTERS_MAX = 1000
SLOW_SECS = 5.0
"""Milliseconds of work on a busy machine."""

Steps = list[Any]


@dataclass(frozen=True, slots=True)
class Target:
    """Receiver of fuzzed input."""

    make: Callable[[Random], Steps]
    run: Callable[[Steps], None]
    """Raises for a violated invariant."""


class _NoPickles:
    """Stands in for the module: pickles come from holders of the topology's key and may run any
    code, so mutated pickles are not loaded here."""

    HIGHEST_PROTOCOL = pickle.HIGHEST_PROTOCOL
    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def loads(data: bytes) -> Any:
        raise pickle.UnpicklingError("a mutated pickle")


def no_pickles() -> AbstractContextManager[object]:
    """While it lasts, values are not unpickled."""
    return patch.object(values, "pickle", _NoPickles)


# --- parsers -------------------------------------------------------------------------------------


def _parser_steps(rng: Random) -> Steps:
    steps: Steps = []
    for _ in range(rng.randrange(1, 6)):
        if rng.randrange(2):
            steps.append(
                mutated_message(rng, message_codec.encode(some(rng, world.control_messages())))
            )
        else:
            steps.extend(mutated_frames(rng, some(rng, some(rng, world.kinds_to_managers()))))
    return steps


def _run_parsers(steps: Steps) -> None:
    """For arbitrary bytes: the only error is ProtocolError, and decoded values can be sent on."""
    for data in steps:
        _only_protocol_errors(frames_module.u64_array, data)
    for at in range(len(steps)):
        for parse in (_batch, _fanout, _packet):
            _only_protocol_errors(parse, steps[at:])
    for data in steps:
        decoded = _only_protocol_errors(message_codec.decode, data)
        if decoded is not None:
            assert type(message_codec.decode(message_codec.encode(decoded))) is type(decoded)


def _batch(frames: Frames) -> None:
    head = frames_module.header_of(frames)
    batch.check_batch(head, frames)
    batch.beginnings(head, frames)
    batch.roots_of(head, frames)
    batch.decode_batch(head, frames)


def _fanout(frames: Frames) -> None:
    head = frames_module.header_of(frames)
    targets = batch.targets_of(frames)
    batch.check_fanout(head, frames, targets)
    batch.roots_of(head, frames)
    for _, single in batch.split_fanout(head, frames, targets):
        _batch(single)


def _packet(frames: Frames) -> None:
    head = frames_module.header_of(frames)
    for decode in (packets.decode_pairs, packets.decode_roots):
        _only_protocol_errors(decode, head, frames)
    packets.decode_control(frames)


def _only_protocol_errors(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ProtocolError as error:
        text = str(error)
    assert len(text) < ERROR_CHARACTERS_MAX, "an error is one line, not the message"
    return None


# --- values --------------------------------------------------------------------------------------


def _value_steps(rng: Random) -> Steps:
    if rng.randrange(8) == 0:
        return [_nested(rng)]
    body = some(rng, world.frames_to_bolts())[1]
    for _ in range(rng.randrange(1, 6)):
        body = mutated_bytes(rng, body)
    return [body]


def _nested(rng: Random) -> bytes:
    """Arrays, maps and extensions within each other, deep."""
    data = b"\x90"
    for _ in range(rng.randrange(1, 400)):
        match rng.randrange(4):
            case 0:
                data = b"\x91" + data
            case 1:
                data = b"\x81\x01" + data
            case _:
                data = b"\xc9" + len(data).to_bytes(4, "big") + bytes([rng.randrange(1, 4)]) + data
    return data


def _run_values(steps: Steps) -> None:
    """Any ordinary error may come out, soon, and a decoded value is not larger."""
    with no_pickles():
        for data in steps:
            started = time.process_time()
            try:
                values.unpack(data)
            except (MemoryError, RecursionError):
                raise
            except Exception:
                pass
            assert time.process_time() - started < SLOW_SECS


# --- instances -----------------------------------------------------------------------------------


def _instance_steps(rng: Random) -> Steps:
    task, right = some(rng, ((world.SPOUT, world.frames_to_spouts()),
                             (world.SPLIT, world.frames_to_bolts())))  # fmt: skip
    corpus = right if rng.randrange(4) else some(rng, world.kinds_to_managers())
    count = rng.randrange(1, STEPS_MAX)
    return [(task, mutated_frames(rng, some(rng, corpus))) for _ in range(count)]


def _run_instance(steps: Steps) -> None:
    """server.py catches ProtocolError and nothing else; a later batch is processed."""
    with no_pickles():
        made = {task: world.Process(task, 1) for task, _ in steps}
        for task, frames in steps:
            _only_protocol_errors(made[task].core.deliver, list(frames))
            made[task].core.flush()
            made[task].core.statistics()
        if world.SPLIT in made:
            _still_processes(made[world.SPLIT])
        if world.SPOUT in made:
            _still_settles(made[world.SPOUT])


def _still_processes(process: world.Process) -> None:
    before, errors = process.component.processed, process.core.metrics.errors
    kind = frames_module.FrameKind.DATA
    head = frames_module.header(kind, world.EPOCH, world.SPOUT, world.SPLIT, 1)
    process.core.deliver([head, values.array_of([values.packer()(["word", 1])])])
    assert process.component.processed == before + 1
    assert process.core.metrics.errors == errors


def _still_settles(process: world.Process) -> None:
    process.core.set_active(True)
    process.core.turn(process.now + 0.001)
    roots = list(process.core.collector.pending)
    before = len(process.component.settled)
    data = b"".join(root.to_bytes(8, "little") for root in roots)
    kind = frames_module.FrameKind.ACKED
    process.core.deliver(
        [frames_module.header(kind, world.EPOCH, 0, world.SPOUT, len(roots)), data]
    )
    assert len(process.component.settled) == before + len(roots) > before


# --- plans ---------------------------------------------------------------------------------------


def _plan_steps(rng: Random) -> Steps:
    plan: Any = world.plan()
    for _ in range(rng.randrange(1, 4)):
        plan = mutated_value(rng, plan)
    return [plan]


def _run_plans(steps: Steps) -> None:
    """A hand-edited plan in the state store: accepted, or refused with one error."""
    for plan in steps:
        found = _only_protocol_errors(plans.physical_from_json, plan)
        if found is not None:
            json.dumps(plans.physical_to_json(found))


TARGETS = {
    "parsers": Target(_parser_steps, _run_parsers),
    "values": Target(_value_steps, _run_values),
    "instance": Target(_instance_steps, _run_instance),
    "manager": Target(manager_steps, run_manager),
    "master": Target(master_steps, run_master),
    "plans": Target(_plan_steps, _run_plans),
}
