"""A process for test_running.py: it collects a folder's tests, tries mutations, and prints JSON.

Its limits are shorter than those of a run, because what is tried takes no time without a mutation.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import running
from tests.mutants.mutations import mutations
from tests.mutants.places import REPOSITORY
from tests.mutants.running import Tests

SUPPORT = "tests/mutants/mutated_support.py"
OPTIONS = ("-q", "-s", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")


class Tried:
    """A plugin of pytest in place of its loop."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[str, Any] = {}
        self._kept = folder / "usual.jsonl"
        self._source = (REPOSITORY / SUPPORT).read_bytes()
        self._mutations = {each.before: each for each in mutations(SUPPORT, self._source)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn, try, and learn again from what was kept."""
        names = [item.nodeid for item in session.items]
        tests = self._learned(session)
        plus, default = self._mutations["number + 1"], self._mutations["7"]
        kept = self._kept.read_text("utf-8")
        again = self._learned(session)
        self.found = {
            "unsteady": sorted(tests.unsteady),
            "reach": tests.of(plus),
            "outside": tests.of(default),
            "files": tests.files_of(default),
            "secs": tests.secs_of(tests.files_of(default)),
            "kept": [json.loads(line) for line in kept.splitlines()],
            "is_kept": self._kept.read_text("utf-8") == kept and again.of(plus) == tests.of(plus),
            "mutated": {name: asdict(tests.outcome([name], plus)) for name in names},
            "together": asdict(tests.outcome(tests.of(plus) or [], None)),
        }
        return True

    def _learned(self, session: pytest.Session) -> Tests:
        tests = Tests(session.items, {SUPPORT: self._source})
        tests.learn(self._kept)
        return tests


def main(folder: Path) -> None:
    """Print what was found, as the last line."""
    running.SPARE_SECS, running.ASLEEP_SECS = 1, 2
    tried = Tried(folder)
    pytest.main([*OPTIONS, f"--rootdir={folder}", str(folder)], plugins=[tried])
    print(json.dumps(tried.found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
