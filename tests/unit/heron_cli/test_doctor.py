"""`heronpy doctor`: what each check says of a machine that has, or lacks, what it looks at."""

import json
import resource
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heron_cli.doctor import installation, machine
from heron_cli.doctor.results import CheckResult, Section, problems
from heron_cli.main import heronpy

REQUIREMENTS = [
    "msgpack>=1.1",
    "pyiceberg[pyiceberg-core,sql-sqlite]>=0.12; extra == 'iceberg'",
    'pyarrow>=20 ; extra == "iceberg"',
    'kazoo>=2.10; python_version >= "3.8"',
]


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(heronpy, ["doctor", *arguments], standalone_mode=False)


def test_packages_are_sorted_by_extra() -> None:
    found = installation.packages_by_extra(REQUIREMENTS)
    assert found == {"": ["msgpack", "kazoo"], "iceberg": ["pyiceberg", "pyarrow"]}


def test_a_package_that_is_always_needed_is_a_problem_and_an_extra_is_not() -> None:
    has = {"msgpack": "1.2"}
    lacking = installation.packages_result(["msgpack", "kazoo"], lambda name: has.get(name, ""))
    assert (lacking.status, lacking.remedy) == ("problem", "pip install kazoo")
    extras = {"iceberg": ["pyarrow"], "tables": ["msgpack"]}
    complete, absent = installation.extras_results(extras, lambda name: has.get(name, ""))
    assert (complete.status, complete.found) == ("ok", "tables")
    assert (absent.status, absent.subject) == ("absent", "extra iceberg")
    assert absent.remedy == "pip install 'heronpy-topologies[iceberg]'"


@pytest.mark.parametrize(
    ("hot_path", "compiler", "status", "remedy"),
    [
        ("compiled", "", "ok", ""),
        ("Python: not built", "/usr/bin/cc", "absent", "`make native` compiles it with /usr/bin"),
        ("Python: not built", "", "absent", "install a C compiler"),
    ],
)
def test_the_hot_path_says_what_would_compile_it(
    hot_path: str, compiler: str, status: str, remedy: str
) -> None:
    found = installation.hot_path_result(hot_path, compiler)
    assert found.status == status
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("found", "status", "text"),
    [
        (machine.cores_result(8, 1.5), "ok", "8, of which a cgroup grants 1.5"),
        (machine.cores_result(8, 16.0), "ok", "8"),
        (machine.cores_result(8, None), "ok", "8"),
        (machine.memory_result(8 << 30, None), "ok", "8192 MiB, for 1,024 idle instances"),
        (machine.memory_result(8 << 30, 256 << 20), "problem", "256 MiB, for 32 idle"),
        (machine.files_result(1024), "ok", "1,024 per process, for 488 instances"),
        (machine.files_result(40), "problem", "40 per process, for 0 instances"),
        (machine.files_result(resource.RLIM_INFINITY), "ok", "unlimited"),
        (machine.processes_result(100), "problem", "100 per user"),
        (machine.processes_result(resource.RLIM_INFINITY), "ok", "unlimited"),
    ],
)
def test_limits_of_the_machine(found: CheckResult, status: str, text: str) -> None:
    assert found.status == status
    assert found.found.startswith(text)
    assert bool(found.remedy) == (status == "problem")


def test_a_users_folder_that_cannot_be_made_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = machine.folder_result(str(tmp_path / "file" / "home"))
    assert found.status == "problem"
    assert "HERONPY_HOME" in found.remedy
    assert machine.folder_result(str(tmp_path / "home")).status == "ok"


def test_only_problems_count() -> None:
    verdicts = (
        CheckResult("a", "ok", ""),
        CheckResult("b", "absent", ""),
        CheckResult("c", "problem", ""),
    )
    assert problems([Section("all", verdicts), Section("again", verdicts)]) == 2


def test_a_zookeeper_that_does_not_answer_and_a_wrong_cluster_file_are_one_line_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    (tmp_path / "west.yaml").write_text("scheduler: mesos\n", "utf-8")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        arguments = ("--quick", "--json", "--zookeeper", address, "--config-path", str(tmp_path))
        done = doctor(*arguments)
    assert done.return_value == 1, done.output
    rows = {row["subject"]: row for row in json.loads(done.output)}
    assert rows["Python"]["status"] == "ok"
    assert rows["ZooKeeper"]["status"] == rows["cluster west"]["status"] == "problem"
    assert address in rows["ZooKeeper"]["found"]
    assert "mesos" in rows["cluster west"]["found"]
    assert str(tmp_path / "nothing") in rows["Kubernetes"]["found"]
    assert all("\n" not in row["found"] for row in rows.values())
