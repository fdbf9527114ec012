"""Tests run in forks until one fails, whatever a mutation makes of them."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.mutants.places import REPOSITORY
from tests.mutants.running import stage_of

SAMPLES = """
import os
import time

from tests.mutants.mutated_support import Core


def test_fails(): assert Core().larger(1) == 2
def test_ends():
    if Core().larger(1) != 2: os._exit(7)
def test_loops():
    number = 1
    while number < 9: number = Core().larger(number)
def test_sleeps():
    while Core().larger(1) != 2: time.sleep(0.5)
def test_passes(): Core().larger(1)
def test_reaches_another(): assert Core.adder()(1) == 3
def test_is_red(): assert Core().larger(1) == 0
"""
REACH = {f"test_samples.py::test_{name}" for name in ("fails", "ends", "loops", "sleeps", "passes")}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What running_support has found, in a process of its own."""
    folder = tmp_path_factory.mktemp("samples")
    temporary = tmp_path_factory.mktemp("temporary")
    (folder / "test_samples.py").write_text(SAMPLES, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants.running_support", str(folder)],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told | {"left": [path.name for path in temporary.glob("heron-mutant-*")]}


def how(found: dict[str, Any], name: str) -> tuple[str, str, int]:
    """The test that failed, how, and how many have passed, of one test with a mutation."""
    outcome = found["mutated"][f"test_samples.py::test_{name}"]
    return outcome["test"].partition("test_samples.py::test_")[2], outcome["how"], outcome["passed"]


def test_what_reaches_a_function_is_known_from_a_run_without_mutations(
    found: dict[str, Any],
) -> None:
    secs = {entry["test"]: entry["secs"] for entry in found["kept"]}
    assert set(found["reach"]) == REACH
    assert found["reach"] == sorted(found["reach"], key=lambda test: secs[test])
    assert found["outside"] is None, "a default is evaluated while the module is imported"
    assert (found["files"], found["secs"]) == (["test_samples.py"], sum(secs.values()))


def test_a_test_that_fails_without_any_mutation_says_nothing(found: dict[str, Any]) -> None:
    assert found["unsteady"] == ["test_samples.py::test_is_red"]
    assert {"test_samples.py::test_is_red"} & set(found["reach"]) == set()


def test_what_was_learnt_is_kept_for_the_next_run(found: dict[str, Any]) -> None:
    assert len(found["kept"]) == 7
    assert found["is_kept"]


def test_a_mutation_is_noticed_however_the_test_ends(found: dict[str, Any]) -> None:
    test, text, passed = how(found, "fails")
    assert (test, text.startswith("assert 0 == 2"), passed) == ("fails", True, 0)
    assert how(found, "ends") == ("ends", "ends the process: 7", 0)
    assert how(found, "loops") == ("loops", "does not end", 0)
    assert how(found, "sleeps") == ("sleeps", "waits for ever", 0)


def test_what_does_not_notice_it_passes_and_the_next_fork_has_no_mutation(
    found: dict[str, Any],
) -> None:
    assert how(found, "passes") == how(found, "reaches_another") == ("", "", 1)
    assert found["together"] == {"test": "", "how": "", "passed": len(REACH)}
    assert found["left"] == [], "folders of forks stay behind"


@pytest.mark.parametrize(
    ("test", "stage"),
    [
        ("tests/unit/heron_io/test_polling.py::test_it", "unit"),
        ("tests/property/test_hashing.py::test_it", "property"),
        ("tests/sim/test_cluster.py::test_cluster[7]", "simulation"),
    ],
)
def test_the_stage_of_a_test_is_its_folder(test: str, stage: str) -> None:
    assert stage_of(test) == stage
