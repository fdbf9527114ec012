"""A Python interpreter with the imports of a run of heronpy, which forks into commands.

Imports take 0.15 to 0.3 s of a core in each command, and most of a command's CPU. Here they are
done once, for all commands of a process of the tests. A command imports later: the file of a
topology, and the modules of a single process of a topology.

    the tests                          here
    request, three descriptors  -->    fork; the child becomes `python -m heron_cli ...`
    process id                  <--
    status, CPU seconds         <--    once the child has ended, through its own pipe

The process ends with the tests: at the end of the socket. tests/process/prepared_commands.py is the
other end. This file is a script, and not a module of a package: a command sees no module of tests.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys

REQUEST_BYTES = 1 << 20
DESCRIPTORS = 3
"""Of a request: standard output, standard error, and the pipe for the end of the command."""
ENDED = struct.Struct("id")
"""The exit code as subprocess has it, and the seconds of a core."""
IMPORTED = """
import heron_cli.commands.run, heron_cli.foreground_run, heron_frontends.loading.load, sys
print(*[name for name, each in sys.modules.items() if getattr(each, "__spec__", None)])
"""
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)


def import_what_a_run_imports() -> None:
    """By their names, found by another process."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.dup2(writing, 1)
        os.execv(sys.executable, [sys.executable, "-c", IMPORTED])
    os.close(writing)
    with open(reading, encoding="utf-8") as names:
        found = names.read().split()
    os.wait()
    for name in found:
        __import__(name)


class Commands:
    """Running commands, and the socket of the tests."""

    def __init__(self, tests: socket.socket) -> None:
        self._tests = tests
        self._running: dict[int, tuple[int, int]] = {}
        """Descriptor of a process -> process id, and the pipe for the end."""

    def serve(self) -> dict[str, object] | None:
        """In a child: its request. Here: None, at the end of the tests."""
        while True:
            tests = self._tests.fileno()
            ready, _, _ = select.select([tests, *self._running], [], [])
            for process in set(ready) - {tests}:
                self._ended(process)
            if tests not in ready:
                continue
            data, descriptors, _, _ = socket.recv_fds(self._tests, REQUEST_BYTES, DESCRIPTORS)
            if not data:
                return None
            request: dict[str, object] = json.loads(data)
            if self._forked(descriptors):
                become(request, descriptors)
                return request

    def _forked(self, descriptors: list[int]) -> bool:
        """Whether this is the child."""
        pid = os.fork()
        if pid == 0:
            for process, (_, pipe) in self._running.items():
                os.close(process)
                os.close(pipe)
            self._tests.close()
            return True
        output, errors, pipe = descriptors
        os.close(output)
        os.close(errors)
        self._running[os.pidfd_open(pid)] = pid, pipe
        self._tests.send(str(pid).encode())
        return False

    def _ended(self, process: int) -> None:
        pid, pipe = self._running.pop(process)
        _, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        try:
            os.write(pipe, ENDED.pack(code, usage.ru_utime + usage.ru_stime))
        except BrokenPipeError:
            pass  # the test has gone on
        os.close(pipe)
        os.close(process)


def become(request: dict[str, object], descriptors: list[int]) -> None:
    """As exec would leave it: session, folder, environment, descriptors, signals, arguments."""
    output, errors, pipe = descriptors
    os.setsid()
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for descriptor in (output, errors, pipe):
        os.close(descriptor)
    for each in SIGNALS:
        usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, signal.SIG_IGN if each in request["ignored"] else usual)  # type: ignore[operator]
    arguments = list(request["arguments"])  # type: ignore[call-overload]
    sys.orig_argv[:] = [sys.executable, "-m", "heron_cli", *arguments]
    sys.argv[1:] = arguments
    sys.path[0] = os.getcwd()
    setproctitle(" ".join(sys.orig_argv))


if __name__ == "__main__":
    import_what_a_run_imports()
    from setproctitle import getproctitle, setproctitle

    getproctitle()  # finds the place of the title while the environment is where it was
    import tempfile

    connection = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    gc.collect()
    gc.freeze()
    if Commands(connection).serve() is not None:
        tempfile.tempdir = None
        runpy.run_module("heron_cli", run_name="__main__", alter_sys=True)
