"""Scaling on Aurora: which commands it comes to, and what if Aurora numbers instances otherwise."""

import json
import stat
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.aurora.backend import AuroraBackend
from heron_engine.scheduler.backends.aurora.client import NothingThere
from heron_engine.scheduler.clusters.config import Archives, ClusterConfig

JOB = "west/www/prod/wordcount"


@pytest.fixture
def backend(tmp_path: Path) -> AuroraBackend:
    """A back end whose client notes its calls and says what the file `said` holds."""
    client = tmp_path / "aurora"
    client.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n'
        f'if [ "$2" = status ]; then cat {tmp_path}/there; else cat {tmp_path}/said >&2; fi\n'
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "said").write_text(" INFO] Querying instance statuses: [2, 3]\n")
    there(tmp_path, 0, 1)
    options = {"cluster": "west", "role": "www", "env": "prod", "client": str(client)}
    archives = Archives(str(tmp_path), f"file://{tmp_path}")
    store_url = f"file://{tmp_path}/state"
    return AuroraBackend(
        ClusterConfig("west", "west.yaml", "aurora", store_url, archives=archives, options=options)
    )


def there(tmp_path: Path, *numbers: int) -> None:
    """The instances that Aurora has."""
    active = [{"assignedTask": {"instanceId": each}, "status": "RUNNING"} for each in numbers]
    (tmp_path / "there").write_text(json.dumps([{"active": active}]))


def calls(tmp_path: Path) -> list[str]:
    """The client's calls that change something, without the batch size."""
    lines = (tmp_path / "calls").read_text().splitlines()
    return [each.partition(" --batch-size")[0] for each in lines if "job status" not in each]


def test_added_containers_are_instances_like_the_first(
    backend: AuroraBackend, tmp_path: Path
) -> None:
    backend.scale("wordcount", [2, 3], [])
    backend.scale("wordcount", [], [2, 3])
    assert calls(tmp_path) == [
        f"job add --wait-until RUNNING {JOB}/0 2 --verbose",
        f"job kill {JOB}/2,3",
    ]


def test_what_a_killed_command_has_added_is_not_added_again(
    backend: AuroraBackend, tmp_path: Path
) -> None:
    there(tmp_path, 0, 1, 2, 3)
    backend.scale("wordcount", [2, 3], [])
    assert calls(tmp_path) == []


def test_instances_with_other_numbers_than_planned_go_again(
    backend: AuroraBackend, tmp_path: Path
) -> None:
    # Somebody has added some by hand; containers 4 and 5 would never come up.
    with pytest.raises(HeronError, match="2, 3, but the plan needs 4, 5"):
        backend.scale("wordcount", [4, 5], [])
    assert calls(tmp_path)[-1] == f"job kill {JOB}/2,3"


def test_containers_that_have_ended_already_are_no_error(
    backend: AuroraBackend, tmp_path: Path
) -> None:
    """Who cancels an update ends what it has added, and so does the command that asked for it."""
    client = tmp_path / "aurora"
    client.write_text("#!/bin/sh\necho 'No tasks to kill found for job' >&2\nexit 1\n")
    backend.scale("wordcount", [], [2, 3])
    with pytest.raises(NothingThere):
        backend.restart("wordcount", 2)
