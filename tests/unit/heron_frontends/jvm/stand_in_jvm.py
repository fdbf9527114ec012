"""Stands for a JVM with the host's classes: speaks its frames, and runs "classes" of a few lines.

Started as `java -version`, or as `java [option] … -cp PATH CLASS INPUT OUTPUT`.
"""

import os
import signal
import sys
from typing import Any, NoReturn

from heron_frontends.jvm.frames import BATCH, NEXT, TASKS, TUPLES, TURN, FrameReader, command

EXIT_STATUS = 3


class Pipes:
    """The two pipes to the Python half."""

    def __init__(self, incoming: str, outgoing: str) -> None:
        self._input = os.open(incoming, os.O_RDONLY)
        self._output = os.open(outgoing, os.O_WRONLY)
        self._reader = FrameReader()
        self._frames: list[list[Any]] = []

    def next(self) -> list[Any]:
        """The next frame; the process ends with its input."""
        while not self._frames:
            data = os.read(self._input, 65536)
            if not data:
                os._exit(75)
            self._frames += self._reader.feed(data)
        return self._frames.pop(0)

    def send(self, *frame: Any) -> None:
        """Send a frame."""
        os.write(self._output, command(*frame))


class Bolt:
    """Behaviour of the stand-in's `execute`, chosen by the name of the class."""

    def __init__(self, pipes: Pipes, settings: dict[str, Any]) -> None:
        self._pipes = pipes
        self._settings = settings
        self._action = settings["recipe"]["object"]["class"]
        self._held: list[int] = []

    def run(self) -> None:
        """Until the end."""
        while (frame := self._pipes.next())[0] != "close":
            if frame[0] == TUPLES:
                self._take(frame[1], frame[2])
            elif frame[0] == "save":
                self._save(frame[1])
        self._pipes.send("closed")

    def _save(self, number: int) -> None:
        if self._action == "hold":
            self._pipes.send("saved", None, "java.io.NotSerializableException: a.B")
        else:
            self._pipes.send("saved", b"state %d" % number, None)

    def _take(self, key: int, runs: list[Any]) -> None:
        for component, task, stream, rows in runs:
            for row in rows:
                origin = [component, task, stream, *row]
                self._pipes.send(BATCH, key, list(getattr(self, self._action)(key, origin)))
                key += 1

    def echo(self, key: int, origin: list[Any]) -> Any:
        if origin[0] != "__system":
            yield [False, "default", [key], origin, None]
            yield key

    def refuse(self, key: int, origin: list[Any]) -> Any:
        yield -key

    def twice(self, key: int, origin: list[Any]) -> Any:
        yield from (key, key)

    def ask(self, key: int, origin: list[Any]) -> Any:
        self._pipes.send(BATCH, key - 1, [[True, "default", [key], ["?"], 7]])
        frame = self._pipes.next()
        assert frame[0] == TASKS
        yield [False, "default", [key], frame[1], None]
        yield key

    def hold(self, key: int, origin: list[Any]) -> Any:
        return ()

    def die(self, key: int, origin: list[Any]) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it is dead")

    def babble(self, key: int, origin: list[Any]) -> Any:
        self._pipes.send("error", "execute", "java.lang.Error: no\n\tat a.B.c(B.java:1)")
        self._pipes.send("metrics", {"words": 5, "keys": {"a": 1}}, {"mean": 1.5})
        self._pipes.send("metrics", {"words": 2, "keys": {"a": 1, "b": 3}}, {"mean": 2.5})
        print("12:00:00.000 [main] WARN a.B - careful", flush=True)
        yield key


def spout(pipes: Pipes, settings: dict[str, Any]) -> None:
    """Emits three tuples with ids and replays failed tuples; finished at three acks."""
    todo, acked = [1, 2, 3], 0
    while (frame := pipes.next())[0] != "close":
        if frame[0] != NEXT:
            pipes.send("metrics", {frame[0]: 1}, {})
            continue
        _, budget, acks, fails = frame
        acked += len(acks)
        todo += fails
        given, todo = todo[:budget], todo[budget:]
        events = [[False, "default", key, [f"line {key}", budget], None] for key in given]
        pipes.send(TURN, not given, acked == 3 and not given, events)
    pipes.send("closed")


def begin(pipes: Pipes, settings: dict[str, Any]) -> None:
    """`open` of a component."""
    action = settings["recipe"]["object"]["class"]
    if action == "exit":
        print("System.exit was called at a.B.prepare(B.java:5)", flush=True)
        sys.exit(EXIT_STATUS)
    if action == "problem":
        pipes.send("problem", "class a.B is not on the class path", "trace")
        sys.exit(0)
    if action == "garbage":
        pipes.send("config", settings["config"])
    pipes.send("ready")
    if settings["spout"]:
        spout(pipes, settings)
    else:
        Bolt(pipes, settings).run()


def main() -> None:
    """See the module's first lines."""
    if "-version" in sys.argv:
        print('openjdk version "17.0.1"', file=sys.stderr)
        return
    pipes = Pipes(*sys.argv[-2:])
    frame = pipes.next()
    if frame[0] == "describe":
        answers = [answer(recipe, is_spout) for recipe, is_spout in frame[1]]
        pipes.send("described", answers)
    else:
        begin(pipes, frame[1])


def answer(recipe: dict[str, Any], is_spout: bool) -> dict[str, Any]:
    """What the stand-in for a class says of itself."""
    name = recipe["object"]["class"]
    if name == "a.Exit":
        print("bye", flush=True)
        sys.exit(EXIT_STATUS)
    if name == "a.Unknown":
        return {"problem": "class a.Unknown is not on the class path"}
    streams = [["default", ["word"], False], ["late", ["why"], True]]
    return {
        "streams": streams,
        "config": {"topology.tick.tuple.freq.secs": 5},
        "state": name == "a.Stateful",
    }


if __name__ == "__main__":
    main()
