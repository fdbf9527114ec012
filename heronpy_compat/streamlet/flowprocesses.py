"""The commands behind a flow: submit its topology, kill the topology at the end.

A guard, a child process at the end of a pipe, kills the topology of a client that ends by
`kill -9`. If the client's machine fails, the topology runs on until
`heronpy kill NAME`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from heron_core.errors import HeronError

HERONPY = (sys.executable, "-P", "-m", "heron_cli")
DONE = b"done\n"
_STORE_OPTIONS = (
    "-e", "--environment", "--config", "--zookeeper", "--cluster", "--config-path",
)  # fmt: skip
LINES_SHOWN = 5


async def submit(name: str, file: str, options: Sequence[str]) -> None:
    """Submit the topology; HeronError with the command's output."""
    words = (*HERONPY, "submit", "-n", name, file, *options)
    code, text = await _output(words)
    if code:
        last = " ".join(text.strip().splitlines()[-LINES_SHOWN:])
        raise HeronError(f"topology {name!r} cannot be submitted (exit code {code}): {last}")


async def kill(name: str, options: Sequence[str]) -> None:
    """Kill the topology, unless the topology has ended by itself."""
    await _output(kill_words(name, options))


def kill_words(name: str, options: Sequence[str]) -> list[str]:
    """The command that ends a flow's topology."""
    return [*HERONPY, "kill", name, "--wait", "0", *store_options(options)]


def store_options(options: Sequence[str]) -> list[str]:
    """The options of `submit` about the state store, for `kill`."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        name, equals, _ = word.partition("=")
        if name in _STORE_OPTIONS:
            kept.append(word)
            if not equals:
                kept.append(next(words, ""))
    return kept


@asynccontextmanager
async def guarded(name: str, options: Sequence[str], detached: bool) -> AsyncIterator[None]:
    """While open, the death of this process kills the topology, unless it is detached."""
    if detached:
        yield
        return
    words = (sys.executable, "-P", "-m", "heronpy_compat.streamlet.flowguard")
    guard = subprocess.Popen(
        [*words, *kill_words(name, options)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the client's
    )  # fmt: skip
    assert guard.stdin is not None
    try:
        yield
    finally:
        guard.stdin.write(DONE)
        guard.stdin.close()
        guard.wait()


async def _output(words: Sequence[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=_environment(),
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Functions of the client's modules travel by name: containers on this machine find them."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    here = os.path.dirname(os.path.abspath(main)) if main else os.getcwd()
    paths = [here, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
