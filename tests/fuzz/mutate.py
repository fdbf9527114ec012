"""Valid messages made wrong: bits, lengths, header fields, frames, values of other types."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

import msgpack

from heron_core.wire.frames import HEADER, MAGIC, VERSION, Frames

Of = TypeVar("Of")

EDGES = (0, 1, 2, 3, 7, 8, 15, 16, 127, 128, 255, 256, 65535, 65536, (1 << 31) - 1, 1 << 31,
         (1 << 32) - 1, 1 << 32, (1 << 53), (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
WRONG: tuple[Any, ...] = (
    None, True, -1, 2.5, float("nan"), float("inf"), 1e300, "", "text", b"bytes", [], [1, [2]], {},
    {"a": 1}, {1: 2}, {"emitted": {}}, [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]], *EDGES,
)  # fmt: skip
CHANGES_MAX = 3


def some(rng: Random, options: Sequence[Of]) -> Of:
    return options[rng.randrange(len(options))]


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """One change: a bit, a byte, a cut, a repetition, something in between."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.randrange(1, 17))
    match rng.randrange(7):
        case 0 if data:
            at %= len(data)
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([some(rng, EDGES[:11])]) + data[at + 1 :]
        case 2:
            return data[:at]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:end] + data[at:]
        case 5:
            size = some(rng, (1, 2, 4, 8))
            word = (some(rng, EDGES) % (1 << (8 * size))).to_bytes(
                size, some(rng, ("big", "little"))
            )
            return data[:at] + word + data[at + size :]
        case _:
            return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]


def _header(rng: Random, data: bytes) -> bytes:
    if len(data) != HEADER.size:
        return mutated_bytes(rng, data)
    fields = list(HEADER.unpack(data))
    at = rng.randrange(len(fields))
    limit = (MAGIC + 1, VERSION + 1, 12, 20, 65535, 65535, 8, 8, 8, 40)[at]
    fields[at] = rng.randrange(limit + 1)
    if rng.randrange(4) == 0:
        most = (255, 255, 255, 255, 65535, 65535, *[(1 << 32) - 1] * 4)[at]
        fields[at] = some(rng, EDGES) & most
    return HEADER.pack(*fields)


def mutated_frames(rng: Random, frames: Frames) -> Frames:
    """Up to three changes of a message's frames; now and then none."""
    changed = list(frames)
    for _ in range(rng.randrange(CHANGES_MAX + 1)):
        at = rng.randrange(len(changed)) if changed else 0
        match rng.randrange(9):
            case 0 | 1 | 2 if changed:
                changed[0] = _header(rng, changed[0])
            case 3 | 4 if changed:
                changed[at] = mutated_bytes(rng, changed[at])
            case 5 if len(changed) > 1:
                del changed[at]
            case 6:
                changed.insert(at, some(rng, (b"", rng.randbytes(16), *changed)))
            case 7 if changed:
                changed[at] = msgpack.packb(some(rng, WRONG))
            case _ if len(changed) > 1:
                other = rng.randrange(len(changed))
                changed[at], changed[other] = changed[other], changed[at]
    return changed


def _wrong(rng: Random, value: Any) -> Any:
    if type(value) is int and rng.randrange(2):
        return some(rng, (value + 1, value - 1, rng.randrange(8)))
    return some(rng, WRONG)


def mutated_value(rng: Random, value: Any) -> Any:
    """One place of a tree of lists and dicts changed, left out or doubled."""
    if rng.randrange(4) == 0 or not isinstance(value, (list, tuple, dict)) or not value:
        return _wrong(rng, value)
    if isinstance(value, dict):
        key = some(rng, list(value))
        rest = {each: inner for each, inner in value.items() if each != key}
        match rng.randrange(6):
            case 0:
                return rest
            case 1:
                return {**rest, some(rng, (7, "key", 2.5, None, True)): value[key]}
            case _:
                return {**value, key: mutated_value(rng, value[key])}
    at = rng.randrange(len(value))
    found = list(value)
    match rng.randrange(6):
        case 0:
            del found[at]
        case 1:
            found.append(found[at])
        case _:
            found[at] = mutated_value(rng, found[at])
    return found


def mutated_message(rng: Random, data: bytes) -> bytes:
    """A control message's bytes: its fields changed, or its bytes, or now and then unchanged."""
    match rng.randrange(5):
        case 0:
            return data
        case 1:
            return mutated_bytes(rng, data)
        case _:
            fields = msgpack.unpackb(data, strict_map_key=False)
            for _ in range(rng.randrange(1, CHANGES_MAX)):
                fields = mutated_value(rng, fields)
            try:
                packed: bytes = msgpack.packb(fields)
            except (OverflowError, ValueError):  # beyond 64 bits, or too deep
                return mutated_bytes(rng, data)
            return packed


Fails = Callable[[Any], bool]


def smallest(steps: list[Any], fails: Fails) -> list[Any]:
    """A failing sequence that passes after any removal of a step or of bytes in a step."""
    steps = _cut(steps, fails)
    for at in range(len(steps)):
        steps[at] = _shorter(steps[at], _in_place(steps, at, fails))
    return steps


def _cut(whole: Any, fails: Fails) -> Any:
    """A list or bytes without unnecessary parts, large pieces removed first."""
    size = len(whole)
    while size:
        at = 0
        while at < len(whole):
            shorter = whole[:at] + whole[at + size :]
            if fails(shorter):
                whole = shorter
            else:
                at += size
        size //= 2
    return whole


def _in_place(whole: list[Any], at: int, fails: Fails, kind: Callable[[Any], Any] = list) -> Fails:
    """Whether the steps still fail with a changed part."""

    def check(part: Any) -> bool:
        return fails(kind([*whole[:at], part, *whole[at + 1 :]]))

    return check


def _shorter(step: Any, fails: Fails) -> Any:
    """The step with its bytes, at any depth, cut as far as the failure stays."""
    if isinstance(step, bytes):
        return _cut(step, fails)
    if isinstance(step, (list, tuple)):
        found, kind = list(step), type(step)
        for at in range(len(found)):
            found[at] = _shorter(found[at], _in_place(found, at, fails, kind))
        return kind(found)
    return step
