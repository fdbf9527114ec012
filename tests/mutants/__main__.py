"""Do the tests of the cores notice small changes of their code? A sample of mutations is tried.

python -m tests.mutants                          30 of all, with seed 1
python -m tests.mutants --sample 300 --seed 7    others
python -m tests.mutants --all stream_manager/gates.py

Each mutation is made in a copy of the repository, where the package's unit tests, the property
tests and a simulation with a few seeds run until one fails. What none of them notices is listed at
the end, and the exit code is 1: write the test that is missing, or note in known.py why there is
none.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.known import KNOWN
from tests.mutants.mutations import Mutation, of_files
from tests.mutants.running import REPOSITORY, Tree, Verdict, stages

SAMPLED = ("heron_instance", "stream_manager", "topology_master", "heron_core/wire")
SHELLS = ("server.py", "__main__.py", "native.py")
"""Names of files with I/O, which no simulation runs."""


def main(arguments: Sequence[str]) -> int:
    """Try them, and say what lived."""
    options = _options().parse_args(arguments)
    chosen = sample(options.paths or SAMPLED, None if options.all else options.sample, options.seed)
    with tempfile.TemporaryDirectory(prefix="heron-mutants-") as folder:
        trees = [Tree(Path(folder) / str(number)) for number in range(options.jobs)]
        limits = usual_secs(trees[0], chosen, options.seeds)
        verdicts = list(tried(trees, chosen, options.seeds, limits))
    return told(verdicts)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("paths", nargs="*", help="files or folders (default: the cores)")
    parser.add_argument("--sample", type=int, default=30, help="so many of them (30)")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (1)")
    parser.add_argument("--seeds", type=int, default=4, help="of the simulation, each (4)")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time (2)")
    return parser


def sample(paths: Sequence[str], number: int | None, seed: int) -> list[Mutation]:
    """Mutations of the files below those paths."""
    files = {
        str(file.relative_to(REPOSITORY)): file.read_bytes()
        for path in paths
        for file in _modules(REPOSITORY / path)
    }
    found = list(of_files(files))
    if number is None:
        return found
    return random.Random(seed).sample(found, min(number, len(found)))


def _modules(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [each for each in files if each.name not in SHELLS]


def usual_secs(tree: Tree, chosen: Sequence[Mutation], seeds: int) -> dict[tuple[str, ...], float]:
    """The paths of a stage -> how long its tests take without a mutation, told as it is known.
    SystemExit if they fail."""
    found: dict[tuple[str, ...], float] = {}
    packages = sorted({each.path.partition("/")[0] for each in chosen})
    wanted = {each.paths: each for package in packages for each in stages(package, seeds)}
    for paths, stage in wanted.items():
        began = time.monotonic()
        if what := tree.failure(stage):
            raise SystemExit(f"{stage.name} tests fail without any mutation: {what}")
        found[paths] = time.monotonic() - began
        print(f"{stage.name}, {' '.join(paths)}: {found[paths]:.0f} s", flush=True)
    return found


def tried(
    trees: Sequence[Tree],
    chosen: Sequence[Mutation],
    seeds: int,
    limits: dict[tuple[str, ...], float],
) -> list[Verdict]:
    """What becomes of each; told as it comes."""
    idle: SimpleQueue[Tree] = SimpleQueue()
    for each in trees:
        idle.put(each)

    def verdict(mutation: Mutation) -> Verdict:
        tree = idle.get()
        try:
            found = tree.verdict(mutation, seeds, limits)
        finally:
            idle.put(tree)
        print(found, flush=True)
        return found

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(verdict, chosen))


def told(verdicts: Sequence[Verdict]) -> int:
    """Say what lived; the exit code."""
    by_stage = Counter(each.stage for each in verdicts)
    lived = [each.mutation for each in verdicts if not each.stage]
    unknown = [each for each in lived if _key(each) not in KNOWN]
    for each in lived:
        print(f"lived: {each}{_reason(each)}")
    killed = len(verdicts) - len(lived)
    stages_told = ", ".join(f"{stage} {number}" for stage, number in by_stage.items() if stage)
    share = 100 * killed / max(1, len(verdicts))
    print(f"{killed} of {len(verdicts)} mutations were noticed ({share:.0f} %): {stages_told}")
    return 1 if unknown else 0


def _key(mutation: Mutation) -> tuple[str, str, str, str]:
    return mutation.path, mutation.function, mutation.before, mutation.after


def _reason(mutation: Mutation) -> str:
    reason = KNOWN.get(_key(mutation))
    return f" (known: {reason})" if reason else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
