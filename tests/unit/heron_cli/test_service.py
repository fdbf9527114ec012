"""`heronpy service`: the unit for systemd."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heron_cli.commands.service import quoted
from heron_cli.main import heronpy
from heron_core.errors import HeronError, UsageError


def service(*words: str) -> Result:
    """The command, called."""
    return CliRunner().invoke(heronpy, ["service", *words])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERONPY_HOME", f"{tmp_path}/50% $home")
    monkeypatch.delenv("HERONPY_ZOOKEEPER", raising=False)
    monkeypatch.delenv("HERONPY_CONFIG", raising=False)
    (tmp_path / "counts.py").touch()
    return tmp_path


def test_the_unit_runs_what_would_run_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERONPY_ZOOKEEPER_AUTH", "ada:s")
    done = service("counts.py", "-N", "words", "-o", "file.name=%d $1")
    assert done.exit_code == 0, done.output
    python = sys.executable
    assert f"\nWorkingDirectory={here}\n" in done.stdout
    assert f'\nEnvironment="HERONPY_HOME={here}/50%% $home"\n' in done.stdout
    run = f'{python} -m heron_cli run counts.py -N words -o "file.name=%%d $$1"'
    assert f"\nExecStart={run}\n" in done.stdout
    assert done.stdout.endswith("WantedBy=default.target\n")
    assert "ada" not in done.stdout
    put, linger, secret = done.stderr.splitlines()
    assert put.startswith(
        "put it into ~/.config/systemd/user/words.service, then: systemctl --user"
    )
    assert linger.endswith("loginctl enable-linger")
    assert secret.startswith("HERONPY_ZOOKEEPER_AUTH is not written")


def test_a_unit_of_the_machine_has_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    done = service("--system", "counts.py")
    assert "\nUser=" in done.stdout
    assert done.stdout.endswith("WantedBy=multi-user.target\n")
    assert done.stderr.startswith(
        "put it into /etc/systemd/system/counts.service, then: systemctl "
    )


@pytest.mark.parametrize("words", [(), ("counts.py", "--no-such-option"), ("counts.py", "-w", "x")])
def test_what_run_does_not_take_is_refused(words: tuple[str, ...]) -> None:
    done = service(*words)
    assert done.exit_code != 0
    assert done.stdout == ""
    assert isinstance(done.exception, SystemExit | HeronError)


def test_a_word_of_two_lines_is_refused() -> None:
    with pytest.raises(UsageError, match="contains a line break"):
        quoted("a\nb")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_both_units(here: Path) -> None:
    for name, words in (("user", ("--user",)), ("system", ())):
        option = ("--system",) if name == "system" else ()
        unit = here / f"counts-{name}.service"
        unit.write_text(service(*option, "counts.py", "-o", "a=50% $x").stdout)
        checked = subprocess.run(
            ["systemd-analyze", *words, "verify", str(unit)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(here), "HOME": str(here)},
        )
        assert checked.returncode == 0, checked.stderr
        assert unit.name not in checked.stderr


def test_the_address_that_run_does_not_read_is_named_instead_of_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HERONPY_ZOOKEEPER", "zk:2181")
    done = service("counts.py")
    assert "HERONPY_ZOOKEEPER" not in done.stdout
    assert done.stderr.splitlines()[-1] == (
        "HERONPY_ZOOKEEPER has no effect on `heronpy run`, so the state is in files: add "
        "--zookeeper zk:2181 to keep the state in ZooKeeper"
    )
    given = service("counts.py", "--zookeeper", "zk:2181")
    assert "--zookeeper zk:2181" in given.stdout
    assert "HERONPY_ZOOKEEPER" not in given.stderr
