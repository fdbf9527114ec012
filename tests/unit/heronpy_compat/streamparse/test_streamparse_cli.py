"""The functions of streamparse.cli that fabfiles call: each becomes a call of `heronpy`."""

import argparse
import importlib
import subprocess
from types import SimpleNamespace
from typing import Any

import click
import pytest

from heron_cli.main import heronpy
from heronpy_compat.streamparse.cli.common import resolve_options
from heronpy_compat.streamparse.cli.kill import kill_topology
from heronpy_compat.streamparse.cli.list import list_topologies
from heronpy_compat.streamparse.cli.run import run_local_topology
from heronpy_compat.streamparse.cli.sparse import COMMANDS, load_subparsers
from heronpy_compat.streamparse.cli.submit import submit_topology


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words that `heronpy` was called with; each call is one that it would understand."""
    found: list[list[str]] = []

    def run(words: list[str], check: bool) -> SimpleNamespace:
        found.append(words[words.index("heron_cli") + 1 :])
        name, *rest = found[-1]
        command = heronpy.get_command(click.Context(heronpy), name)
        assert command is not None
        command.make_context(name, list(rest), token_normalize_func=lambda word: word)
        return SimpleNamespace(returncode=3 if "broken" in words else 0)

    monkeypatch.setattr(subprocess, "run", run)
    return found


def test_what_a_fabfile_calls(calls: list[list[str]]) -> None:
    submit_topology("words", "prod", {"topology.workers": 2, "a": "b"}, force=True, wait=3)
    kill_topology("words", wait=5, env_name="prod")
    list_topologies("prod")
    run_local_topology("words", time=10, options={"topology.debug": True})
    assert [" ".join(each) for each in calls] == [
        (
            'submit --name words --environment prod --option topology.workers=2 --option a="b"'
            " --force --wait 3"
        ),
        "kill --name words --environment prod --wait 5",
        "list --environment prod",
        "run --name words --time 10 --option topology.debug=true",
    ]


def test_a_failure_ends_the_fabfile(calls: list[list[str]]) -> None:
    with pytest.raises(SystemExit) as caught:
        submit_topology("broken", active=False)
    assert caught.value.code == 3
    assert calls == [["submit", "--name", "broken", "--inactive"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "submit -n words -a 0 -i -N o",
            "submit --name words --option topology.acker.executors=0 --override-name o --inactive",
        ),
        ("tail -n words -l 5 -f --pool_size 3", "tail --name words --follow --num-lines 5"),
        ("remove_logs -n words -A -u me", "remove_logs --name words --remove-all-artifacts"),
        ("stats --all -n words -c count", "stats --name words --component count --all"),
        ("visualize -n words -f png", "visualize --name words --format png"),
        ("jar", "package"),
        ("quickstart demo", "quickstart demo"),
        ("slot_usage -e prod", "slot_usage --environment prod"),
        ("worker_uptime", "worker_uptime"),
        ("update_virtualenv -n words -r a.txt", "update_virtualenv"),
    ],
)
def test_a_parser_of_their_own_with_our_hooks(
    calls: list[list[str]], words: str, expected: str
) -> None:
    parser = argparse.ArgumentParser()
    load_subparsers(parser.add_subparsers())
    args = parser.parse_args(words.split())
    args.func(args)
    assert [" ".join(each) for each in calls] == [expected]


def test_each_command_has_its_hook() -> None:
    for name in COMMANDS:
        module = importlib.import_module(f"heronpy_compat.streamparse.cli.{name}")
        assert callable(module.subparser_hook), name
        assert callable(module.main), name


def test_the_options_that_count() -> None:
    """The command line's over the topology's over the environment's."""
    environment: dict[str, Any] = {
        "user": "storm", "virtualenv_root": "/envs", "workers": ["a", "b"],
        "log": {"path": "/logs", "level": "INFO", "max_bytes": 1000},
        "options": {"topology.message.timeout.secs": 60, "topology.debug": False, "x": 1},
    }  # fmt: skip
    topology = SimpleNamespace(config={"x": 2, "y": 2})
    found = resolve_options({"y": 3}, environment, topology, "words")
    assert found == {
        "topology.message.timeout.secs": 60, "topology.debug": False, "x": 2, "y": 3,
        "pystorm.log.path": "/logs", "pystorm.log.level": "info", "pystorm.log.max_bytes": 1000,
        "topology.python.path": "/envs/words/bin/python", "virtualenv_root": "/envs",
        "sudo_user": "storm", "storm.workers.list": ["a", "b"],
        "topology.acker.executors": 2, "topology.workers": 2,
    }  # fmt: skip
    local = resolve_options({"topology.debug": True}, environment, topology, "w", local_only=True)
    assert (local["topology.workers"], local["storm.workers.list"]) == (1, [])
    assert local["pystorm.log.level"] == "debug"
