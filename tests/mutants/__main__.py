"""Do the tests of the cores notice small changes of their code? A sample of mutations is tried.

python -m tests.mutants                          30 of all, with seed 1
python -m tests.mutants --sample 300 --seed 7    others
python -m tests.mutants --all stream_manager/gates.py
python -m tests.mutants --sample 300 --shard 1/2 --journal found.jsonl    the first half, kept

Unit tests, property tests and a simulation with a few seeds run until one fails; running.py says
how. Unnoticed mutations are listed at the end, and the exit code is 1: write the missing test, or
note the reason in known.py. A run with `--journal` continues the previous run; `--survivors`
retries the survivors.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.mutants import anew
from tests.mutants.in_place import NotInPlace
from tests.mutants.mutations import Mutation, of_files
from tests.mutants.places import REPOSITORY
from tests.mutants.running import Outcome, Tests, stage_of
from tests.mutants.verdicts import Journal, Verdict, fingerprint, told

SAMPLED = ("heron_instance", "stream_manager", "topology_master", "heron_core/wire")
SHELLS = ("server.py", "__main__.py", "native.py")
"""Names of files with I/O, which no simulation runs."""
PACKAGES = (
    "heron_api",
    "heron_instance",
    "heron_tester",
    "stream_manager",
    "topology_master",
    "heron_core",
)
SIMULATED = ("test_cluster.py", "test_effectively_once.py", "test_coroutines.py")
PATHS = {
    "unit": tuple(f"tests/unit/{each}" for each in PACKAGES),
    "property": ("tests/property",),
    "simulation": tuple(f"tests/sim/{each}" for each in SIMULATED),
}


def main(arguments: Sequence[str]) -> int:
    """Try the mutations, and list the survivors."""
    options = _options().parse_args(arguments)
    mutated = _sources(options.paths or SAMPLED)
    chosen = sample(mutated, None if options.all else options.sample, options.seed)
    number, _, of = options.shard.partition("/")
    sources = _sources(SAMPLED) | mutated
    trial = Trial(chosen[int(number) - 1 :: int(of)], sources, options)
    os.environ |= {"CI": "1", "HERONPY_NATIVE": "0", "HERON_SIM_SEEDS": f"0:{options.seeds}"}
    code = pytest.main([*anew.OPTIONS, "-s", *trial.paths], plugins=[trial])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return int(code)
    return told(trial.verdicts)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("paths", nargs="*", help="files or folders (default: the cores)")
    parser.add_argument("--sample", type=int, default=30, help="so many of them (30)")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (1)")
    parser.add_argument("--seeds", type=int, default=8, help="of the simulation, each (8)")
    parser.add_argument("--shard", default="1/1", help="2/3: the second third of the sample")
    parser.add_argument("--journal", type=Path, help="a file that keeps what became of each")
    parser.add_argument(
        "--stages",
        type=lambda text: text.split(","),
        default=list(PATHS),
        help="only unit, or property,simulation for what a journal says has lived there",
    )
    parser.add_argument("--survivors", action="store_true", help="try those again that lived")
    parser.add_argument(
        "--usual", type=Path, help="a file that keeps which test reaches what, for further runs"
    )
    return parser


def sample(sources: dict[str, bytes], number: int | None, seed: int) -> list[Mutation]:
    """Mutations of files."""
    found = list(of_files(sources))
    if number is None:
        return found
    return random.Random(seed).sample(found, min(number, len(found)))


def _sources(paths: Sequence[str]) -> dict[str, bytes]:
    return {
        str(file.relative_to(REPOSITORY)): file.read_bytes()
        for path in paths
        for file in _modules(REPOSITORY / path)
    }


def _modules(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [each for each in files if each.name not in SHELLS]


class Trial:
    """A plugin of pytest that tries mutations in place of running the collected tests."""

    def __init__(
        self, chosen: Sequence[Mutation], sources: dict[str, bytes], options: argparse.Namespace
    ) -> None:
        self.verdicts: list[Verdict] = []
        self.paths = [path for each in options.stages for path in PATHS[each]]
        self._chosen = chosen
        self._sources = sources
        self._options = options

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All of it."""
        if session.testsfailed:
            raise SystemExit("tests cannot be collected without any mutation")
        tests = Tests(session.items, self._sources)
        tests.learn(self._options.usual)
        for each in sorted(tests.unsteady):
            print(f"left out, because it fails without any mutation: {each}", flush=True)
        self.verdicts.extend(self._tried(tests))
        return True

    def _tried(self, tests: Tests) -> Iterator[Verdict]:
        journal = Journal(self._options.journal)
        for mutation in sorted(self._chosen, key=tests.cost_of):
            source = self._sources[mutation.path]
            key = fingerprint(mutation, source)
            found = journal.known(key, self._options.survivors)
            if found is None:
                found = self._verdict(tests, mutation, source)
                journal.add(key, found)
                print(found, flush=True)
            yield found

    def _verdict(self, tests: Tests, mutation: Mutation, source: bytes) -> Verdict:
        began = time.monotonic()
        outcome = self._first_failure(tests, mutation, source)
        secs = time.monotonic() - began
        if not outcome.test:
            return Verdict(mutation, "", f"{outcome.passed} tests passed", secs)
        return Verdict(mutation, stage_of(outcome.test), f"{outcome.test}: {outcome.how}", secs)

    def _first_failure(self, tests: Tests, mutation: Mutation, source: bytes) -> Outcome:
        """The first that fails with the mutation and passes without."""
        while True:
            chosen = tests.of(mutation)
            if not chosen:  # a function that no test reaches may run while a module is imported
                return self._anew(tests, mutation, source)
            try:
                found = tests.outcome(chosen, mutation)
            except NotInPlace:
                return self._anew(tests, mutation, source)
            if not found.test or not tests.outcome([found.test], None).test:
                return found
            print(f"left out, because it fails without the mutation, too: {found.test}", flush=True)
            tests.unsteady.add(found.test)

    def _anew(self, tests: Tests, mutation: Mutation, source: bytes) -> Outcome:
        """In a fresh process: code run by an import cannot be changed later."""
        files = tests.files_of(mutation)
        secs = tests.secs_of(files)
        found = anew.outcome(files, mutation, source, secs)
        if found.test and "::" in found.test:
            again = anew.outcome([found.test], None, source, secs)
            if again.test:
                raise SystemExit(f"{found.test} fails without any mutation: {again.how}")
        return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
