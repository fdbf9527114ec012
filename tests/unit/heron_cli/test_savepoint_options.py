"""--from-savepoint and --allow-non-restored: what is refused before anything is read."""

from pathlib import Path

import pytest

from heron_cli.options.savepoint import SavepointOptions
from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_engine.scheduler.savepoints import absolute_url
from heron_engine.scheduler.user_folder import Home

TOPOLOGY = TopologySpec("words", (), {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})
PACKING = PackingPlan("words", ())


def test_without_a_savepoint_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert SavepointOptions().read(TOPOLOGY, PACKING, Home(str(tmp_path)), True) is None


@pytest.mark.parametrize(
    ("given", "is_here", "said"),
    [
        (SavepointOptions(None, True), True, "requires --from-savepoint"),
        (
            SavepointOptions("HOME/topologies/words/checkpoints/words/7"),
            True,
            "copy the savepoint",
        ),
        (SavepointOptions("HOME/kept"), False, f"needs {keys.CHECKPOINT_STORE} when"),
    ],
)
def test_what_cannot_go_well_is_refused(
    given: SavepointOptions, is_here: bool, said: str, tmp_path: Path
) -> None:
    path = (
        None
        if given.from_savepoint is None
        else given.from_savepoint.replace("HOME", f"{tmp_path}")
    )
    options = SavepointOptions(path, given.allow_non_restored)
    with pytest.raises(UsageError, match=said):
        options.read(TOPOLOGY, PACKING, Home(str(tmp_path)), is_here)


def test_a_savepoint_is_for_the_native_engine() -> None:
    SavepointOptions().refuse("--engine spark")
    with pytest.raises(HeronError, match="for the native engine, not for --engine spark"):
        SavepointOptions("somewhere").refuse("--engine spark")


def test_a_folder_is_the_same_for_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert absolute_url("kept") == absolute_url("file:///kept/") == "/kept"
    assert absolute_url("s3://bucket/kept") == "s3://bucket/kept"
