"""Retries of a server that is unreachable, busy, or rejects a request."""

from collections.abc import Callable
from functools import partial
from logging import Logger
from typing import Any

from heron_connectors.postgres.client import Away, Busy
from heron_connectors.postgres.pgoutput import DecodingError
from heron_core.algorithms.retries import pause_secs
from heron_core.errors import ComponentError

FIRST_PAUSE_SECS = 0.5
"""First pause before a retry; doubled by each retry, up to 30 s."""
BUSY_SECS = 10.0
"""Lifetime of a killed process's session until the server detects the loss: only later is a held
resource an error."""


class SpoutPatience:
    """Retries of a spout; time is an argument."""

    def __init__(
        self, name: str, delegate: Any, logger: Logger, let_go: Callable[[], None]
    ) -> None:
        self._name, self._delegate, self._logger, self._let_go = name, delegate, logger, let_go
        self.not_before = 0.0
        """When to ask next."""
        self.busy_since: float | None = None
        self._failures = 0
        self._trouble = ""
        """The last reported problem."""

    def ask(self, now: float, call: Callable[[], None]) -> None:
        """Ask the server; one that is away is asked again later, and ComponentError if it refuses:
        then the process ends, as nothing would be different the next time."""
        try:
            call()
        except Away as error:
            self._wait(now, str(error), is_error=self._failures > 0)
        except Busy as error:
            self.busy_since = now if self.busy_since is None else self.busy_since
            self._wait(now, str(error), is_error=now >= self.busy_since + BUSY_SECS)
        except (ComponentError, DecodingError) as error:
            self._let_go()
            text = f"{self._name}: {error}"
            self._delegate.call_soon(partial(self._delegate.leave, text))
            raise ComponentError(text) from None
        else:
            self._failures, self.busy_since, self._trouble = 0, None, ""

    def _wait(self, now: float, text: str, is_error: bool) -> None:
        self._let_go()
        self._failures += 1
        self.not_before = now + pause_secs(FIRST_PAUSE_SECS, self._failures)
        self._logger.warning("%s", text)
        if is_error and self._trouble != text:
            self._trouble = text
            self._delegate.record_error("Postgres cannot be read", text)
