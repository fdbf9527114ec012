"""What of `heronpy update` is refused before any topology is looked for."""

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.errors import UsageError


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "nothing to update: give --component-parallelism COMPONENT:N, --container-number"),
        (("--allow-non-restored",), "--allow-non-restored has a meaning only with --code"),
        (("--code", "a.py", "--container-number", "2"), "--code and --container-number are two"),
        (("--code", "a.py", "--engine"), "--code and --engine are two"),
        (("--engine", "--component-parallelism", "a:2"), "--engine and --component-parallelism"),
        (("--python", "/usr/bin/python3"), "--python has a meaning only with --engine"),
        (("--cancel", "--at", "+1h"), "--cancel is done at once"),
        (("--engine", "--at", "yesterday"), "--at 'yesterday': use 2026-12-01T03:00"),
        (("--component-parallelism", "count"), "'count': use COMPONENT:N, such as count:4"),
        (("--component-parallelism", "count:many"), "use COMPONENT:N"),
        (("--component-parallelism", ":4"), "use COMPONENT:N"),
        (("--runtime-config", "topology.debug:true"), "-o topology.debug=VALUE"),
        (
            ("--runtime-config", "topology.debug:true", "--container-number", "2"),
            "--runtime-config cannot be given together",
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
