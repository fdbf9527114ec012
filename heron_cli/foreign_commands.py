"""Equivalents of Heron's and Storm's command lines: hints for rejected commands. Pure."""

import shlex
from collections.abc import Iterator, Sequence

FILE_ENDINGS = (".py", ".yaml", ".yml", ".sql", ".properties", ".tar.gz", ".tgz", ".pex", ".tar")
LOCAL = "local"
CLUSTERS = frozenset(
    {LOCAL, "localzk", "standalone", "aurora", "kubernetes", "marathon", "mesos", "nomad",
     "sandbox", "slurm", "yarn"}
)  # fmt: skip
"""Cluster names in Heron's own configuration."""
ABOUT_ONE = frozenset({"kill", "activate", "deactivate", "restart", "update", "submit"})
"""Heron's commands that take a cluster, CLUSTER[/ROLE[/ENVIRONMENT]], before the topology."""
VALUED = frozenset(
    {"-n", "-e", "-w", "-o", "-a", "-t", "-N", "--config-path", "--config-property", "--wait",
     "--component-parallelism", "--container-number", "--topology-main-jvm-property", "--name",
     "--service-url", "--release-yaml-file", "--environment", "--time", "--option"}
)  # fmt: skip
"""Options with a value."""


def hint(words: Sequence[str]) -> str | None:
    """The heronpy command equivalent to the rejected command line `words` of `heron` or `storm`;
    None for an unknown command."""
    command, given = (words[0], list(words[1:])) if words else ("", [])
    if command == "version":
        return "heronpy --version"
    if command == "rebalance":
        return _line("update", *_rebalanced(given))
    if command == "kill" and "-w" in given:
        return _line("kill", *("--wait" if each == "-w" else each for each in given))
    if command in ABOUT_ONE:
        return _herons(command, given)
    return None


def _herons(command: str, given: list[str]) -> str | None:
    arguments, options = _apart(given)
    if len(arguments) < 2 or arguments[0].endswith(FILE_ENDINGS):
        return None
    cluster, slash, _ = arguments[0].partition("/")
    if not slash and cluster not in CLUSTERS and command != "submit":
        return None
    where = [] if cluster == LOCAL else ["--cluster", cluster]
    if command != "submit":
        return _line(command, *arguments[1:], *where, *options)
    if not arguments[1].endswith(FILE_ENDINGS):
        return None
    file, kind, *rest = (*arguments[1:], "-") if len(arguments) == 2 else arguments[1:]
    named = [] if kind == "-" else ["-n", kind.rpartition(".")[2]]
    own_name = ["-N", rest[0]] if rest and kind == "-" else []
    paused = ["--deactivated" if option == "--deploy-deactivated" else option for option in options]
    return _line("submit", file, *named, *own_name, *where, *paused)


def _apart(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments, and options with their values."""
    arguments: list[str] = []
    options: list[str] = []
    takes_next = False
    for each in given:
        is_option = takes_next or (each.startswith("-") and each != "-")
        (options if is_option else arguments).append(each)
        takes_next = not takes_next and each in VALUED
    return arguments, options


def _rebalanced(given: Sequence[str]) -> Iterator[str]:
    """Storm's `-n WORKERS -e COMPONENT=N`; its `-w`, the pause before, has no place here."""
    words = iter(given)
    for word in words:
        if word in ("-n", "--num-workers"):
            yield from ("--container-number", next(words, "N"))
        elif word in ("-e", "--executors"):
            yield from ("--component-parallelism", next(words, "COMPONENT=N").replace("=", ":"))
        elif word in ("-w", "--wait-time-secs"):
            next(words, None)
        else:
            yield word


def _line(*words: str) -> str:
    return f"heronpy {shlex.join(words)}"
