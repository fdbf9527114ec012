"""What of `heronpy update` is refused before any topology is looked for."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from heron_cli.code_update import _is_here
from heron_cli.main import heronpy
from heron_core.errors import UsageError


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "nothing to update: give --component-parallelism COMPONENT:N, --container-number"),
        (("--allow-non-restored",), "--allow-non-restored requires --code"),
        (("--code", "a.py", "--container-number", "2"), "--code and --container-number exclude"),
        (("--code", "a.py", "--engine"), "--code and --engine exclude"),
        (("--engine", "--component-parallelism", "a:2"), "--engine and --component-parallelism"),
        (("--python", "/usr/bin/python3"), "--python requires --engine"),
        (("--cancel", "--at", "+1h"), "--cancel is done at once"),
        (("--engine", "--at", "yesterday"), "--at 'yesterday': use 2026-12-01T03:00"),
        (("--component-parallelism", "count"), "'count': use COMPONENT:N, for example count:4"),
        (("--component-parallelism", "count:many"), "use COMPONENT:N"),
        (("--component-parallelism", ":4"), "use COMPONENT:N"),
        (("--runtime-config", "topology.debug:true"), "-o topology.debug=VALUE"),
        (
            ("--runtime-config", "topology.debug:true", "--container-number", "2"),
            "--runtime-config excludes",
        ),
    ],
)
def test_a_typing_error_is_told_in_one_line(words: tuple[str, ...], told: str) -> None:
    # Heron's users know these flags, and that parallelism and runtime config exclude each other.
    result = CliRunner().invoke(heronpy, ["update", "wordcount", *words])
    assert isinstance(result.exception, UsageError)
    assert told in str(result.exception)
    assert "\n" not in str(result.exception)
    assert result.exception.exit_code == 2


def test_no_containers_at_all_is_no_number() -> None:
    result = CliRunner().invoke(heronpy, ["update", "wordcount", "--container-number", "0"])
    assert result.exit_code == 2


def test_new_code_is_refused_where_no_container_would_find_it() -> None:
    def is_here(**scheduler: str) -> bool:
        running: Any = SimpleNamespace(name="wordcount", scheduler=scheduler)
        return _is_here(running)

    assert is_here(kind="local", host=socket.gethostname())
    assert not is_here(kind="yarn", host="elsewhere")
    with pytest.raises(UsageError, match="runs on elsewhere: run this command there"):
        is_here(kind="local", host="elsewhere")
    with pytest.raises(UsageError, match=r"runs on spark, and --code is for local .* --savepoint"):
        is_here(kind="spark", host=socket.gethostname())
