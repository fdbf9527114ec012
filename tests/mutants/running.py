"""Tests are collected once; each mutation is tried by a fork of the process, where functions get
the mutated code, and the tests with a path to the code run until one fails.

A run without a mutation records the functions reached by each test, and their duration. A failed
test is run again without the mutation: after a second failure the test is reported as unsteady, and
ignored.
"""

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants import in_place
from tests.mutants.in_place import NotInPlace, Place
from tests.mutants.mutations import Mutation
from tests.mutants.places import loaded_file, module_name

STAGES = {"unit": "tests/unit/", "property": "tests/property/", "simulation": "tests/sim/"}
SLOWER = 5
"""A mutated loop may have no end: factor of the test's CPU seconds without a mutation."""
SPARE_SECS = 4
"""And so many besides."""
ASLEEP_SECS = 60
"""A test asleep for this time, without CPU, waits in vain."""
MEMORY_BYTES = 3 << 30
"""So much more than the collected tests have: a mutated loop may collect without end."""


@dataclass(frozen=True, slots=True)
class Usual:
    """A test without any mutation."""

    test: str
    secs: float
    """Of CPU."""
    has_passed: bool
    reached: frozenset[Place] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests of a fork ended."""

    test: str = ""
    """The failed test; empty if all passed."""
    how: str = ""
    passed: int = 0


def stage_of(test: str) -> str:
    """The stage of a test, by its path."""
    return next((name for name, path in STAGES.items() if test.startswith(path)), "unit")


class Tests:
    """The collected tests; all of them run in forks."""

    def __init__(self, items: Sequence[pytest.Item], sources: dict[str, bytes]) -> None:
        self._items = {each.nodeid: each for each in items}
        self._sources = sources
        self._usual: dict[str, Usual] = {}
        self.unsteady: set[str] = set()

    # --- without a mutation ---------------------------------------------------------------------

    def learn(self, kept: Path | None) -> None:
        """Run all without a mutation, or read the results of a previous run. All modules are loaded
        then, late imports of the engine too."""
        for path in self._sources:
            import_module(module_name(path))
        self._functions = in_place.living()
        gc.freeze()  # a fork copies no page only because its garbage is looked for
        if kept is not None and kept.exists():
            self._take(kept.read_text("utf-8").splitlines())
        left = [each for each in self._items if each not in self._usual]
        while left:
            lines = self._learned(left, kept)
            self._take(lines)
            if not lines:
                raise SystemExit(f"{left[0]} does not come to its end without any mutation")
            left = [each for each in left if each not in self._usual]
        self.unsteady = {each.test for each in self._usual.values() if not each.has_passed}

    def _take(self, lines: Sequence[str]) -> None:
        for line in lines:
            entry = json.loads(line)
            entry["reached"] = frozenset((path, at) for path, at in entry["reached"])
            self._usual[entry["test"]] = Usual(**entry)

    def _learned(self, tests: Sequence[str], kept: Path | None) -> list[str]:
        """Lines of JSON, one a test; fewer if a test ends the process."""
        found: list[str] = []
        files = {loaded_file(path): path for path in self._sources}
        with _Fork(lambda say: self._trace(tests, files, say)) as fork:
            for line in fork.lines():
                found.append(line)
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
        return found

    def _trace(
        self, tests: Sequence[str], files: dict[str, str], say: Callable[[str], None]
    ) -> None:
        reached: dict[int, CodeType] = {}

        def note(frame: FrameType, event: str, argument: object) -> None:
            if frame.f_code.co_filename in files:
                reached[id(frame.f_code)] = frame.f_code

        for item, following in self._in_order(tests):
            reached.clear()
            began = time.process_time()
            threading.settrace(note)
            sys.settrace(note)
            has_passed = not _failure(item, following)
            sys.settrace(None)
            places = {(files[x.co_filename], x.co_firstlineno) for x in list(reached.values())}
            secs = round(time.process_time() - began, 4)
            entry = asdict(Usual(item.nodeid, secs, has_passed)) | {"reached": sorted(places)}
            say(json.dumps(entry))

    def _in_order(self, tests: Sequence[str]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
        items = [self._items[each] for each in tests]
        return zip(items, [*items[1:], None], strict=True)

    # --- with one -------------------------------------------------------------------------------

    def of(self, mutation: Mutation) -> list[str] | None:
        """The tests with a path to the code, the cheapest first; None outside of functions."""
        place = in_place.place_of(mutation, self._sources[mutation.path])
        if place is None:
            return None
        stages = list(STAGES)
        found = [each for each in self._usual.values() if place in each.reached]
        found.sort(key=lambda each: (stages.index(stage_of(each.test)), each.secs))
        return [x.test for x in found if x.test not in self.unsteady and x.test in self._items]

    def cost_of(self, mutation: Mutation) -> float:
        """Seconds of CPU without a failing test: the cheapest mutations are tried first."""
        tests = self.of(mutation)
        if tests is None:
            return float("inf")  # a fresh process
        return sum(self._usual[each].secs for each in tests)

    def files_of(self, mutation: Mutation) -> list[str]:
        """Files of tests with a path to the mutated module or to its importers: files named after
        the module first, then the cheapest."""
        module, _, name = module_name(mutation.path).rpartition(".")
        words = f"from {module}.{name} import", f"from {module} import {name}"
        near = {path for path, x in self._sources.items() if any(w.encode() in x for w in words)}
        near.add(mutation.path)
        secs: dict[str, float] = defaultdict(float)
        for each in self._usual.values():
            if each.test in self._items and any(path in near for path, _ in each.reached):
                secs[each.test.partition("::")[0]] += each.secs
        return sorted(secs, key=lambda file: (f"test_{name}" not in file, secs[file]))

    def secs_of(self, files: Sequence[str]) -> float:
        """Of CPU, for all tests of files without a mutation."""
        return sum(x.secs for x in self._usual.values() if x.test.partition("::")[0] in files)

    def outcome(self, tests: Sequence[str], mutation: Mutation | None) -> Outcome:
        """Run tests until one fails. NotInPlace if this process cannot take the mutation."""
        at, passed, how = "", 0, ""
        with _Fork(lambda say: self._try(tests, mutation, say)) as fork:
            for line in fork.lines():
                kind, _, text = line.partition(" ")
                if kind == "unfit":
                    raise NotInPlace(text)
                at, passed = (
                    (text, passed) if kind == "began" else (at, passed + (kind == "passed"))
                )
                how = text if kind == "failed" else ""
        if how or passed < len(tests):
            return Outcome(at, how or fork.end, passed)
        return Outcome(passed=passed)

    def _try(
        self, tests: Sequence[str], mutation: Mutation | None, say: Callable[[str], None]
    ) -> None:
        if mutation is not None:
            try:
                file = loaded_file(mutation.path)
                source, functions = self._sources[mutation.path], self._functions[file]
                in_place.apply(mutation, source, file, functions)
            except NotInPlace as error:
                say(f"unfit {error}")
                return
        for item, following in self._in_order(tests):
            say(f"began {item.nodeid}")
            _limit_cpu(self._usual[item.nodeid].secs)
            if how := _failure(item, following):
                say(f"failed {how}")
                return
            say("passed")


def _failure(item: pytest.Item, following: pytest.Item | None) -> str:
    """A test's exception, in one line; empty if passed."""
    for report in runtestprotocol(item, log=False, nextitem=following):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            return " ".join(str(crash.message if crash else report.longrepr).split())[:150] or "?"
    return ""


def _limit_cpu(usual_secs: float) -> None:
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    most = int(used + usual_secs * SLOWER + SPARE_SECS)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


class _Fork:
    """A copy of this process with a function and its lines; killed with its children."""

    end = ""
    """Reason of an early end."""

    def __init__(self, run: Callable[[Callable[[str], None]], None]) -> None:
        self._folder = tempfile.mkdtemp(prefix="heron-mutant-")
        self._reading, writing = os.pipe()
        sys.stdout.flush()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._reading)
            _be_child(run, writing, self._folder)
        os.close(writing)

    def __enter__(self) -> "_Fork":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        os.close(self._reading)
        shutil.rmtree(self._folder, ignore_errors=True)

    def lines(self) -> Iterator[str]:
        """Lines of the copy, until its end or a long sleep."""
        rest, asleep_since, used = b"", time.monotonic(), -1
        while True:
            if not select.select([self._reading], [], [], 1.0)[0]:
                is_asleep, now_used = _look_at(self._pid)
                if not is_asleep or now_used != used:
                    asleep_since, used = time.monotonic(), now_used
                if time.monotonic() - asleep_since > ASLEEP_SECS:
                    self._kill()
                    self.end = "waits for ever"
                    return
                continue
            asleep_since = time.monotonic()
            data = os.read(self._reading, 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            yield from (each.decode(errors="replace") for each in whole)
        self._kill()

    def _kill(self) -> None:
        if not self._pid:
            return
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended before it had a group of its own
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        code = os.waitstatus_to_exitcode(status)
        self.end = "does not end" if code == -signal.SIGXCPU else f"ends the process: {code}"


def _look_at(pid: int) -> tuple[bool, int]:
    """Whether a process sleeps, or has ended, and its CPU time in ticks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return False, 0
    return fields[0] in "SZ", int(fields[11]) + int(fields[12])


def _be_child(run: Callable[[Callable[[str], None]], None], writing: int, folder: str) -> None:
    """Never returns."""
    code = 1
    try:
        os.setsid()
        with open(os.devnull, "r+b") as nothing:
            for each in (0, 1, 2):
                os.dup2(nothing.fileno(), each)
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": folder, "TMPDIR": folder, "HERONPY_HOME": folder}
        tempfile.tempdir = None
        _limit_memory()
        run(lambda line: _write(writing, line))
        code = 0
    except BaseException as error:
        _write(writing, f"failed {error!r}"[:200].replace("\n", " "))
    finally:
        os._exit(code)


def _write(writing: int, line: str) -> None:
    data = line.encode(errors="replace") + b"\n"
    while data:
        data = data[os.write(writing, data) :]


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
