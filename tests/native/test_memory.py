"""Memory in C: leaks are absent, and a read beyond an end is noticed."""

import sys
from array import array
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from heron_core.native import SWITCH
from heron_core.wire.frames import EVERY_OWNER, ROOT_COUNTER_BITS, FrameKind, Frames, header
from native_build import SANITIZE, what_is_missing
from tests.native.checkout_support import copy_of_checkout, python
from tests.native.hot_path_support import forwarder_of
from tests.native.sanitizers import preloaded
from tests.property.test_plain_messages import ELSEWHERE, FENCE, HERE, SPOUT, UNKNOWN

TOGETHER = 1000
ROUNDS = 100
GROWTH_MAX = 4 << 20
"""Six bytes for each message; malloc's smallest block has 32. What malloc sets aside is less."""


def one_of_each_kind() -> list[Frames]:
    """A batch that begins trees, their acks, a batch with runs, a batch and acks for elsewhere,
    acks of several owners, and a batch of an earlier epoch."""
    pairs = array("Q", [1, 5, 2, 6]).tobytes()
    sizes = array("I", [1, 1]).tobytes()
    roots = (owner << ROOT_COUNTER_BITS | 1 for owner in (SPOUT, ELSEWHERE, UNKNOWN))
    several = array("Q", chain.from_iterable(zip(roots, repeat(5), strict=False))).tobytes()
    return [
        [header(FrameKind.DATA, FENCE, SPOUT, HERE, 2, flags=9), b"body", pairs],
        [header(FrameKind.ACK, FENCE, HERE, SPOUT, 2), pairs],
        [header(FrameKind.DATA, FENCE, SPOUT, HERE, 2, flags=17), b"body", pairs, sizes],
        [header(FrameKind.DATA, FENCE, SPOUT, ELSEWHERE, 2), b"body"],
        [header(FrameKind.ACK, FENCE, HERE, ELSEWHERE, 2), pairs],
        [header(FrameKind.ACK, FENCE, HERE, EVERY_OWNER, 3), several],
        [header(FrameKind.DATA, FENCE - 1, SPOUT, HERE, 2), b"body"],
    ]


def pass_on(module: Any, forwarder: Any, messages: list[Frames], rounds: int) -> None:
    """Merge and split messages, enqueue each part, and dequeue in two parts."""
    data = module.merged_data(messages)
    for _ in repeat(None, rounds):
        parts = module.split_merged(data, len(messages))
        others = forwarder.others(parts)
        assert len(others) == TOGETHER
        kinds = len(one_of_each_kind())
        for at in range(0, len(parts), kinds):
            forwarder.pass_on(parts, at, at + kinds - 1)
        assert len(forwarder.strays) == 2 * TOGETHER
        del forwarder.strays[:]
        for queue in forwarder.ways.values():
            queue.fitting(7, 1000, 50.0)
            queue.take(1)
            kept = module.MessageQueue(is_tagged=queue.is_tagged)
            kept.extend(queue.take(1 << 20))
            kept.clear()
        for trees in forwarder.spouts.values():
            del trees.done[:]
            trees.missed.clear()


def test_messages_that_were_passed_on_leave_nothing_behind(compiled: SimpleNamespace) -> None:
    # 700,000 messages: see GROWTH_MAX.
    messages = one_of_each_kind() * TOGETHER
    forwarder = forwarder_of(compiled)
    pass_on(compiled, forwarder, messages, 20)
    references = [sys.getrefcount(each) for frames in messages for each in frames]
    before = psutil.Process().memory_info().rss
    pass_on(compiled, forwarder, messages, ROUNDS)
    assert psutil.Process().memory_info().rss - before < GROWTH_MAX
    assert [sys.getrefcount(each) for frames in messages for each in frames] == references


SOURCE = "hot_messages"
BASES = ("hot_buffers", "hot_trees")
"""SOURCE imports a class of the last module, an importer of the first."""
CHECK = " && at + digit < length"
FLAGS = ("-O0", "-w")
"""The sanitizers see as much of quickly compiled code."""
BUILD = """
from pathlib import Path
import native_build as build
build.EXTENSIONS = {{name: build.EXTENSIONS[name] for name in {names}}}
folder = Path("heron_core")
unchanged = {{build.file_name(name): build._keys({flags})[name] for name in {unchanged}}}
if unchanged:
    build._write_keys(folder, unchanged)
build.build(folder, {flags})
"""
READ = (
    "from heron_core.hot_messages_compiled import MessageQueue; MessageQueue().put(0, [b'short'])"
)


def test_the_sanitizers_end_a_process_that_reads_beyond_a_frame(tmp_path: Path) -> None:
    """Only such a process. A single test for both: a module's build takes three seconds of a
    core."""
    missing = what_is_missing()
    if missing is not None:
        pytest.skip(f"the hot path cannot be compiled: {missing}")
    folder = copy_of_checkout(tmp_path)
    build(folder, unchanged=())
    run = preloaded(folder, READ)
    assert (run.returncode, run.stderr) == (0, "")

    source = folder / f"heron_core/{SOURCE}.h"
    text = source.read_text()
    assert text.count(CHECK) == 1
    source.write_text(text.replace(CHECK, ""))
    build(folder, unchanged=BASES)
    run = preloaded(folder, READ)
    assert run.returncode != 0
    assert "heap-buffer-overflow" in run.stderr, run.stderr[-4000:]


def build(folder: Path, unchanged: tuple[str, ...]) -> None:
    program = BUILD.format(names=(*BASES, SOURCE), flags=FLAGS, unchanged=unchanged)
    # Extensions with sanitizers are not to be imported by the build.
    run = python(folder, "-c", program, **{SANITIZE: "1", SWITCH: "0"})
    assert run.returncode == 0, run.stderr[-4000:]
