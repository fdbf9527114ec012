"""Log targets of a component: Storm or a log file (pystorm.component)."""

import logging
import os
from logging.handlers import RotatingFileHandler
from typing import Any

TRACE, DEBUG, INFO, WARN, ERROR = range(5)
STORM_LEVELS = {
    "trace": TRACE,
    "debug": DEBUG,
    "info": INFO,
    "warn": WARN,
    "warning": WARN,
    "error": ERROR,
    "critical": ERROR,
}
"""Storm's numbers (STORM-414)."""
_PYTHON_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
FILE_NAME = "pystorm_{topology_name}_{component_name}_{task_id}_{pid}.log"
FILE_BYTES_MAX = 1_000_000
FILES_KEPT = 10
FILE_LAYOUT = "%(asctime)s - %(name)s - %(levelname)s - %(message)s"


def python_level(storm_conf: dict[str, Any]) -> int:
    """The log level asked for; topology.debug asks for everything."""
    if storm_conf.get("topology.debug", False):
        return logging.DEBUG
    return _PYTHON_LEVELS.get(storm_conf.get("pystorm.log.level", "info"), logging.INFO)


def rotating_file(component: Any) -> logging.Handler | None:
    """Handler for the option pystorm.log.path; None without the option."""
    conf = component.storm_conf
    folder = conf.get("pystorm.log.path")
    if not folder:
        return None
    name = conf.get("pystorm.log.file", FILE_NAME).format(
        topology_name=component.topology_name,
        component_name=component.component_name,
        task_id=component.task_id,
        pid=component.pid,
    )
    handler = RotatingFileHandler(
        os.path.join(folder, name),
        maxBytes=conf.get("pystorm.log.max_bytes", FILE_BYTES_MAX),
        backupCount=conf.get("pystorm.log.backup_count", FILES_KEPT),
    )
    handler.setFormatter(logging.Formatter(conf.get("pystorm.log.format", FILE_LAYOUT)))
    return handler


class StormHandler(logging.Handler):
    """Sends log records to Storm.

    Example:

        class Count(Bolt):
            def initialize(self, conf, context):
                handler = StormHandler(self.serializer)
                logging.getLogger("rates").addHandler(handler)
    """

    def __init__(self, serializer: Any) -> None:
        super().__init__()
        self.serializer = serializer

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record as a `log` command."""
        try:
            level = STORM_LEVELS.get(record.levelname.lower(), INFO)
            message = {"command": "log", "msg": self.format(record), "level": level}
            self.serializer.send_message(message)
        except Exception:
            self.handleError(record)


class LogStream:
    """Replacement of sys.stdout: printed lines go to a logger."""

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger
        self._open_line = ""

    def write(self, message: str) -> None:
        """Log complete lines except blank lines."""
        *lines, self._open_line = (self._open_line + message).split("\n")
        for line in lines:
            if line.strip():
                self.logger.info("%s", line)

    def flush(self) -> None:
        """Does nothing: an incomplete line waits for a line end."""
