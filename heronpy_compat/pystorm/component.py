"""Common base of spouts and bolts (pystorm.component)."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections import deque, namedtuple
from types import FrameType
from typing import Any

from heronpy_compat.pystorm.exceptions import StormWentAwayError
from heronpy_compat.pystorm.logs import (
    STORM_LEVELS,
    LogStream,
    StormHandler,
    python_level,
    rotating_file,
)
from heronpy_compat.pystorm.serializers.json_serializer import JSONSerializer
from heronpy_compat.pystorm.serializers.msgpack_serializer import MsgpackSerializer

__all__ = ["Component", "LogStream", "StormHandler", "Tuple"]

Tuple = namedtuple("Tuple", "id component stream task values")
Tuple.__doc__ = """One received tuple: id (str), component, stream and task it came from, values.

`values` is a namedtuple with the fields of the stream: `tup.values.word` and `tup.values[0]`.

Example:

    tup = Tuple("7", "lines", "default", 1, ["the cow jumped"])
    assert (tup.component, tup.values[0]) == ("lines", "the cow jumped")
"""

EXIT_EXCEPTION = 1
EXIT_WENT_AWAY = 2

_SERIALIZERS: dict[str, Any] = {"json": JSONSerializer, "msgpack": MsgpackSerializer}
_LOGGER_PREFIX = "pystorm.component"
"""Loggers keep pystorm's names, because users configure logging by name."""

log = logging.getLogger(_LOGGER_PREFIX)


def remote_pdb_handler(signum: int, frame: FrameType | None) -> None:
    """Open a remote debugger, if remote_pdb is installed."""
    try:
        from remote_pdb import RemotePdb  # type: ignore[import-not-found]
    except ImportError:
        log.warning("remote_pdb is not installed: no debugger on signal %d", signum)
        return
    RemotePdb(host="127.0.0.1", port=0).set_trace(frame=frame)


class Component:
    """Base of Spout and Bolt.

    An `__init__` in a subclass accepts keyword arguments and passes them to super; components are
    usually set up in `initialize`. Attributes set before `initialize`: topology_name, task_id,
    component_name, debug, storm_conf, context, pid, logger, serializer.

    Example:

        from pystorm import Bolt

        class Count(Bolt):
            def initialize(self, conf, context):
                self.log(f"{self.component_name} is task {self.task_id}")
    """

    exit_on_exception = True
    """Whether an exception of user code ends the process."""

    def __init__(
        self,
        input_stream: Any = None,
        output_stream: Any = None,
        rdb_signal: Any = "SIGUSR1",
        serializer: str = "json",
    ) -> None:
        """The streams default to stdin and stdout; ValueError for an unknown serializer."""
        if serializer not in _SERIALIZERS:
            raise ValueError(
                f"Unknown serializer: {serializer!r} (known: {', '.join(_SERIALIZERS)})"
            )
        self.topology_name: Any = None
        self.task_id: Any = None
        self.component_name: Any = None
        self.debug: Any = None
        self.storm_conf: Any = None
        self.context: Any = None
        self.logger: Any = None
        self.pid = os.getpid()
        self._pending_commands: deque[Any] = deque()
        self._pending_task_ids: deque[Any] = deque()
        self._reader_lock = threading.RLock()
        self._writer_lock = threading.RLock()
        source = sys.stdin if input_stream is None else input_stream
        sink = sys.stdout if output_stream is None else output_stream
        self._speaks_on_stdout = sink is sys.stdout
        self.serializer = _SERIALIZERS[serializer](
            source, sink, self._reader_lock, self._writer_lock
        )
        number = getattr(signal, rdb_signal, None) if isinstance(rdb_signal, str) else rdb_signal
        if number is not None:
            signal.signal(number, remote_pdb_handler)

    @staticmethod
    def is_heartbeat(tup: Any) -> bool:
        """Whether `tup` is Storm's question if we are alive."""
        return bool(tup.task == -1 and tup.stream == "__heartbeat")

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> Any:
        """Called once before the first tuple; connections are opened here."""

    def _setup_component(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Apply Storm's handshake and configure logging."""
        self.topology_name = storm_conf.get("topology.name", "")
        self.task_id = context.get("taskid", "")
        tasks = context.get("task->component", {})
        name = context.get("componentid")
        self.component_name = tasks.get(str(self.task_id), "") if name is None else name
        self.debug = storm_conf.get("topology.debug", False)
        self.storm_conf = storm_conf
        self.context = context
        self.logger = logging.getLogger(f"{_LOGGER_PREFIX}.{self.component_name}")
        level = python_level(storm_conf)
        handler = rotating_file(self) or StormHandler(self.serializer)
        if isinstance(handler, StormHandler):
            layout = storm_conf.get("pystorm.log.format", "%(asctime)s - %(name)s - %(message)s")
            handler.setFormatter(logging.Formatter(layout))
            self.log(f"log records of level {logging.getLevelName(level)} and above go to Storm")
        handler.setLevel(level)
        logging.getLogger().addHandler(handler)
        self.logger.setLevel(level)
        logging.getLogger("pystorm").setLevel(level)
        if self._speaks_on_stdout:  # printed text would corrupt the message stream
            sys.stdout = LogStream(logging.getLogger("pystorm.stdout"))

    def read_message(self) -> Any:
        """The next message from Storm."""
        return self.serializer.read_message()

    def read_task_ids(self) -> Any:
        """The next list of task ids; commands received first are queued for read_command."""
        if self._pending_task_ids:
            return self._pending_task_ids.popleft()
        while not isinstance(message := self.read_message(), list):
            self._pending_commands.append(message)
        return message

    def read_command(self) -> Any:
        """The next command or tuple; task ids received first are queued for read_task_ids."""
        if self._pending_commands:
            return self._pending_commands.popleft()
        while isinstance(message := self.read_message(), list):
            self._pending_task_ids.append(message)
        return message

    def read_handshake(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Storm's first message: returns (storm_conf, context), leaves our pid where it wants."""
        message = self.read_message()
        with open(os.path.join(message["pidDir"], str(self.pid)), "w", encoding="ascii"):
            pass
        self.send_message({"pid": self.pid})
        return message["conf"], message["context"]

    def send_message(self, message: dict[str, Any]) -> None:
        """Send a dict to Storm; anything else is an error in the log."""
        if not isinstance(message, dict):
            logger = self.logger or log
            logger.error("%s sends no dict: %r", self.component_name, message)
            return
        self.serializer.send_message(message)

    def raise_exception(self, exception: BaseException, tup: Any = None) -> None:
        """Report the exception in flight and the tuple concerned."""
        about = f" while processing Tuple {tup!r}" if tup else ""
        text = f"Python {type(exception).__name__} raised{about}\n{traceback.format_exc()}"
        self.send_message({"command": "error", "msg": text})
        self.send_message({"command": "sync"})

    def report_metric(self, name: str, value: Any) -> None:
        """Report the value of a metric."""
        self.send_message({"command": "metrics", "name": name, "params": value})

    def log(self, message: object, level: str | None = None) -> None:
        """Log a message whatever the log level is; `level` trace, debug, info, warn or error."""
        number = STORM_LEVELS.get(level or "info", STORM_LEVELS["info"])
        self.send_message({"command": "log", "msg": str(message), "level": number})

    def emit(
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit a list or tuple of values; TypeError for any other type.

        Returns the receiving tasks if `need_task_ids` is true, at the price of a round trip to
        Storm.
        """
        if not isinstance(tup, (list, tuple)):
            raise TypeError(
                f"All Tuples must be either lists or tuples, received {type(tup)!r} instead."
            )
        given = {"anchors": anchors, "id": tup_id, "stream": stream, "task": direct_task}
        message: dict[str, Any] = {"command": "emit", "tuple": tup}
        message.update({key: value for key, value in given.items() if value is not None})
        if not need_task_ids:
            message["need_task_ids"] = False  # Storm sends task ids by default
        if not need_task_ids or direct_task is not None:
            self.send_message(message)
            return [direct_task] if need_task_ids and direct_task is not None else None
        with self._reader_lock, self._writer_lock:
            self.send_message(message)
            task_ids: list[int] = self.read_task_ids()
            return task_ids

    def run(self) -> None:
        """Serve Storm over the streams until they end or user code fails."""
        storm_conf, context = self.read_handshake()
        self._setup_component(storm_conf, context)
        self.initialize(storm_conf, context)
        while True:
            try:
                self._run()
            except StormWentAwayError:
                self._went_away()
            except Exception as error:
                self._tell(error)
                if self.exit_on_exception:
                    self._exit(EXIT_EXCEPTION)

    def _tell(self, error: Exception) -> None:
        """Log calls as pystorm makes them: tests of components replace the module's `log`."""
        text, own = f"Exception in {type(self).__name__}.run()", sys.exc_info()
        try:
            self.logger.error(text, exc_info=True)
            self._handle_run_exception(error)
        except StormWentAwayError:
            log.error(text, exc_info=own)
            self._went_away()
        except Exception:
            log.error(text, exc_info=own)
            log.error("While trying to handle previous exception...", exc_info=sys.exc_info())

    def _went_away(self) -> None:
        log.info("Exiting because parent Storm process went away.")
        self._exit(EXIT_WENT_AWAY)

    def _exit(self, status_code: int) -> None:
        """End the process, even if other threads would go on for ever."""
        leave: Any = os._exit if threading.active_count() > 1 else sys.exit
        leave(status_code)

    def _run(self) -> None:
        """One iteration of `run`: read a command and execute the command."""
        raise NotImplementedError

    def _handle_run_exception(self, exc: Exception) -> None:
        """Handle an exception of user code before the process ends or continues."""
        self.raise_exception(exc)
