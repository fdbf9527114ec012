"""A node of the state store may name any folder: nothing but one of ours is removed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.backends.yarn.staging import is_folder_of
from heron_engine.scheduler.registration import forget, scheduler_node
from heron_engine.scheduler.socket_folders import is_sockets_folder, sockets_folder
from heron_engine.scheduler.user_folder import is_logs_folder
from heron_io.state_store.opening import open_store


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets lie."""
    folder = Path("/tmp") / f"heron-test-{tmp_path.parent.name[-3:]}-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    for each in folder.iterdir():
        each.unlink() if each.is_symlink() else each.rmdir()
    folder.rmdir()


def test_kill_leaves_a_folder_that_a_node_names_alone(tmp_path: Path) -> None:
    # Somebody who may write to the state store names the home folder as that of the sockets.
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    with open_store(f"file://{tmp_path}/state") as store:
        ours = sockets_folder()
        for named in (str(precious), ["/"], 3, ours):
            node = {**scheduler_node(LocalBackend()), "sockets": named}
            store.put(scheduler_path("words"), node)
            forget(store, "words")
            assert store.get(scheduler_path("words")) is None
        assert precious.is_dir()
        assert not os.path.exists(ours)


def test_a_folder_of_sockets_is_told_by_name_owner_mode_and_parent(
    runtime: Path, tmp_path: Path
) -> None:
    ours = sockets_folder()
    assert is_sockets_folder(ours)
    assert not is_sockets_folder(f"{ours}/../{os.path.basename(ours)}")
    for other in (runtime / "heronpy-checkpoint-abcdefgh", tmp_path / "heronpy-run-abcdefgh"):
        other.mkdir(mode=0o700)
        assert not is_sockets_folder(str(other))
    link = runtime / "heronpy-run-abcdefgh"
    link.symlink_to(tmp_path)
    assert not is_sockets_folder(str(link))
    os.chmod(ours, 0o755)
    assert not is_sockets_folder(ours)


def test_remove_logs_touches_no_other_folder(tmp_path: Path) -> None:
    logs = tmp_path / "topologies" / "words" / "logs"
    logs.mkdir(parents=True)
    assert is_logs_folder(str(logs), "words")
    assert not is_logs_folder(str(logs), "word")
    assert not is_logs_folder(str(tmp_path), "words")


@pytest.mark.parametrize(
    ("folder", "ours"),
    [
        ("hdfs://nn/user/me/.heronpy/topologies/words-0123abcd", True),
        ("hdfs://nn/user/me/.heronpy/topologies/words-0123abcd/../../..", False),
        ("hdfs://nn/user/me/.heronpy/topologies/other-0123abcd", False),
        ("hdfs://nn/user/me", False),
    ],
)
def test_kill_on_yarn_removes_the_topologys_own_folder_alone(folder: str, ours: bool) -> None:
    assert is_folder_of("hdfs://nn/user/me/.heronpy", "words", folder) is ours
