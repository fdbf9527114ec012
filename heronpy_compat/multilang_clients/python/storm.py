"""Spouts and bolts in Python as children that speak Storm's multi-lang protocol over JSON.

    import storm

    class Split(storm.BasicBolt):
        def process(self, tup):
            for word in tup.values[0].split():
                storm.emit([word])

    Split().run()

Runs on Python 2.7 and 3. Everything that is printed would be taken for a message, so `log` it.
"""

import json
import os
import sys
import traceback
from collections import deque

_BOLT, _SPOUT = "bolt", "spout"
TRACE, DEBUG, INFO, WARN, ERROR = range(5)


class _State(object):
    """State of the child process: a bolt or a spout with one pair of pipes."""

    def __init__(self):
        self.mode = None
        self.anchor = None
        self.commands = deque()
        self.task_ids = deque()
        self.source = sys.stdin
        self.sink = sys.stdout


_state = _State()


class _EndOfInput(Exception):
    """The parent has closed our stdin: it wants us to end."""


# --- messages -------------------------------------------------------------------------------------


def json_encode(value):
    """Encode a value for the protocol."""
    return json.dumps(value)


def json_decode(text):
    """The inverse of json_encode."""
    return json.loads(text)


def readMsg():
    """The next message of the parent, of whatever kind."""
    lines = []
    while True:
        line = _state.source.readline()
        if not line:
            raise _EndOfInput()
        line = line.rstrip("\r\n")
        if line == "end":
            return json_decode("\n".join(lines))
        lines.append(line)


def readTaskIds():
    """Read the task ids of an emit; queue commands received before them."""
    if _state.task_ids:
        return _state.task_ids.popleft()
    message = readMsg()
    while not isinstance(message, list):
        _state.commands.append(message)
        message = readMsg()
    return message


def readCommand():
    """Read the next command; queue task ids received before the command."""
    if _state.commands:
        return _state.commands.popleft()
    message = readMsg()
    while isinstance(message, list):
        _state.task_ids.append(message)
        message = readMsg()
    return message


def readTuple():
    """The next tuple of a bolt."""
    command = readCommand()
    return Tuple(
        command["id"], command["comp"], command["stream"], command["task"], command["tuple"]
    )


def sendMsgToParent(message):
    """Send any message."""
    _state.sink.write(json_encode(message) + "\nend\n")
    _state.sink.flush()


def sync():
    """Report a command as done, or answer a heartbeat."""
    sendMsgToParent({"command": "sync"})


def sendpid(folder):
    """Send the process id and create the pid file in the parent's folder."""
    pid = os.getpid()
    sendMsgToParent({"pid": pid})
    open(os.path.join(folder, str(pid)), "w").close()


def initComponent():
    """The handshake; (config, context)."""
    setup = readMsg()
    sendpid(setup["pidDir"])
    return setup["conf"], setup["context"]


# --- what components say --------------------------------------------------------------------------


def emit(tup, stream=None, *args, **keywords):
    """Emit values; of a bolt with `anchors`, of a spout with `id`. The task ids if asked for."""
    of_bolt = _state.mode == _BOLT
    return (emitBolt if of_bolt else emitSpout)(tup, stream, *args, **keywords)


def emitDirect(task, tup, stream=None, *args, **keywords):
    """Emit values to one task."""
    keywords["directTask"] = task
    return emit(tup, stream, *args, **keywords)


def emitBolt(tup, stream=None, anchors=(), directTask=None, need_task_ids=False):
    """Emit from a bolt; tuples of a BasicBolt are anchored to the current input."""
    chosen = [_state.anchor] if _state.anchor is not None else anchors
    message = {"command": "emit", "anchors": [each.id for each in chosen]}
    return _emit(message, tup, stream, directTask, need_task_ids)


def emitSpout(tup, stream=None, id=None, directTask=None, need_task_ids=False):
    """Emit from a spout; a tuple with an id is tracked."""
    message = {"command": "emit"}
    if id is not None:
        message["id"] = id
    return _emit(message, tup, stream, directTask, need_task_ids)


def _emit(message, tup, stream, task, need_task_ids):
    message["tuple"] = list(tup)
    message["need_task_ids"] = need_task_ids
    if stream is not None:
        message["stream"] = stream
    if task is not None:
        message["task"] = task
    sendMsgToParent(message)
    return readTaskIds() if need_task_ids and task is None else None


def ack(tup):
    """The tuple is processed."""
    sendMsgToParent({"command": "ack", "id": tup.id})


def fail(tup):
    """The tuple could not be processed."""
    sendMsgToParent({"command": "fail", "id": tup.id})


def finish():
    """End of a spout: report the source as finished (an extension of Storm's protocol)."""
    sendMsgToParent({"command": "finish"})


def reportError(message):
    """Report an error to be counted and displayed."""
    sendMsgToParent({"command": "error", "msg": message})


def log(message, level=INFO):
    """Write to the log of the instance."""
    sendMsgToParent({"command": "log", "msg": message, "level": level})


def logTrace(message):
    """Log at level trace."""
    log(message, TRACE)


def logDebug(message):
    """Log at level debug."""
    log(message, DEBUG)


def logInfo(message):
    """Log at level info."""
    log(message, INFO)


def logWarn(message):
    """Log at level warn."""
    log(message, WARN)


def logError(message):
    """Log at level error."""
    log(message, ERROR)


def rpcMetrics(name, params):
    """Report a value of a metric."""
    sendMsgToParent({"command": "metrics", "name": name, "params": params})


# --- components -----------------------------------------------------------------------------------


class Tuple(object):
    """Input tuple of a bolt."""

    def __init__(self, id, component, stream, task, values):
        self.id = id
        self.component = component
        self.stream = stream
        self.task = task
        self.values = values

    def __repr__(self):
        return "<Tuple id=%r component=%r stream=%r task=%r values=%r>" % (
            self.id, self.component, self.stream, self.task, self.values,
        )  # fmt: skip

    def is_heartbeat_tuple(self):
        """Whether the parent only asks whether we live."""
        return self.task == -1 and self.stream == "__heartbeat"

    def is_tick_tuple(self):
        """Whether it is a tick of topology.tick.tuple.freq.secs."""
        return self.task == -1 and self.stream == "__tick"


class Bolt(object):
    """Bolt with explicit acks."""

    def initialize(self, stormconf, context):
        """Called once, before the first tuple."""

    def process(self, tuple):
        """Called for each tuple."""

    def run(self):
        """Until the parent closes our stdin."""
        _run(self, _BOLT, self._turn)

    def _turn(self):
        tup = readTuple()
        if tup.is_heartbeat_tuple():
            sync()
        else:
            self._process(tup)

    def _process(self, tup):
        self.process(tup)


class BasicBolt(Bolt):
    """Bolt with automatic anchors and acks; an exception fails the tuple."""

    def _process(self, tup):
        _state.anchor = tup
        try:
            self.process(tup)
            ack(tup)
        except _EndOfInput:
            raise
        except Exception:
            reportError(traceback.format_exc())
            fail(tup)
        finally:
            _state.anchor = None


class Spout(object):
    """A source of tuples."""

    def initialize(self, conf, context):
        """Called once, before the first tuple."""

    def activate(self):
        """The topology runs."""

    def deactivate(self):
        """The topology is paused."""

    def ack(self, id):
        """Called when the tuple with the id is fully processed."""

    def fail(self, id):
        """Called when the tuple with the id has failed."""

    def nextTuple(self):
        """Emit available tuples."""

    def run(self):
        """Until the parent closes our stdin."""
        _run(self, _SPOUT, self._turn)

    def _turn(self):
        message = readCommand()
        command = message["command"]
        if command == "next":
            self.nextTuple()
        elif command in ("ack", "fail"):
            getattr(self, command)(message["id"])
        elif command in ("activate", "deactivate"):
            getattr(self, command)()
        sync()


def _run(component, mode, turn):
    _state.mode = mode
    try:
        component.initialize(*initComponent())
        while True:
            turn()
    except _EndOfInput:
        pass
    except Exception:
        reportError(traceback.format_exc())
        sys.exit(1)
