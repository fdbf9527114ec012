"""Live queries of the state of a running topology: asked of its master, which asks the instances.

A client sends a question and waits for one reply. An absent key is an answer without entries; an
unreachable state is an error.
"""

import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from heron_core.errors import HeronError, UsageError
from heron_core.exit_codes import ExitCode
from heron_core.records import replace
from heron_core.state.protocol import ABSENT
from heron_core.typed_values import OBJECT, typed_text, untyped
from heron_io.direct_queries import DirectQueries
from heron_io.master_client import MasterClient, NoAnswer
from heron_io.state_store.opening import open_store
from heron_io.user_home import home_path, store_url_in

SECS = 5.0
SECS_MAX = 60.0
SECS_MIN = 0.01
LIMIT = 100
LIMIT_MAX = 10_000
"""Limits of topology_master.queries: five constants."""
REPLY_SECS = 1.0
"""Longest way of a reply: the master answers by the time-out of the question."""

Ask = Callable[[str, dict[str, Any], float], dict[str, Any]]
"""(command, arguments, seconds to wait) -> answer of the master; HeronError without an answer."""


class StateUnavailable(HeronError):
    """The state exists, and is temporarily unavailable."""

    exit_code = ExitCode.UNSTARTED


class TooManyQueries(StateUnavailable):
    """The limit of queries in flight is reached."""


class QueryTimedOut(StateUnavailable):
    """An instance has not answered in time."""


class NoSuchState(UsageError):
    """Unknown component or state, or a state that cannot be read by key."""


class AnswerTooLarge(UsageError):
    """The answer is above the limit."""


_ERRORS: dict[str, type[HeronError]] = {
    "invalid": UsageError,
    "refused": NoSuchState,
    "too_large": AnswerTooLarge,
    "overloaded": TooManyQueries,
    "timed_out": QueryTimedOut,
}
"""Outcome -> error; StateUnavailable for other outcomes."""


class WantedState(Struct, frozen=True, kw_only=True):
    """A question: about one key, or about the first keys in their order."""

    name: str
    """COMPONENT.STATE; a component alone: its entries by put()."""
    key: Any = ABSENT
    map_key: Any = ABSENT
    prefix: Any = ABSENT
    limit: int = LIMIT
    secs: float = SECS

    @property
    def is_valid(self) -> bool:
        """Whether a master accepts the numbers; otherwise the refusal has the reason."""
        is_number = type(self.secs) in (int, float) and type(self.limit) is int
        return is_number and SECS_MIN <= self.secs <= SECS_MAX and 1 <= self.limit <= LIMIT_MAX

    def arguments(self) -> dict[str, Any]:
        """Arguments for the master; UsageError for a value without a plain form."""
        values = {"key": self.key, "map_key": self.map_key, "prefix": self.prefix}
        texts = {name: _text(name, each) for name, each in values.items() if each is not ABSENT}
        return {"name": self.name, "limit": self.limit, "secs": self.secs, **texts}


def _text(name: str, value: Any) -> str:
    text = typed_text(value)
    if f'"{OBJECT}"' in text:
        raise UsageError(f"{name} {value!r:.60} cannot be asked for: it has no form as JSON")
    return text


class StateEntry(Struct, frozen=True):
    """A key and its value at an instance."""

    key: Any
    value: Any
    """None, numbers, texts, lists, dicts, …; a ShownObject for objects of user classes."""
    task: int
    instance: str
    """component[index]"""


class StateAnswer(Struct, frozen=True):
    """Entries in the order of the keys."""

    name: str
    rows: tuple[tuple[int, str, str], ...]
    """(task, instance, JSON of key and value) of each entry"""
    has_more: bool = False
    """Whether the limit may have cut off entries."""

    @property
    def entries(self) -> list[StateEntry]:
        """Entries as Python values."""
        return [_entry(*row) for row in self.rows]

    def lines(self) -> list[str]:
        """Entries as JSON, each with its task."""
        return [
            f'{text[:-1]},"task":{task},"instance":{json.dumps(instance)}}}'
            for task, instance, text in self.rows
        ]


def _entry(task: int, instance: str, text: str) -> StateEntry:
    data = json.loads(text)
    return StateEntry(untyped(data["key"]), untyped(data["value"]), task, instance)


def query_state(ask: Ask, wanted: WantedState) -> StateAnswer:
    """Entries of the instances now; StateUnavailable, NoSuchState or another HeronError."""
    try:
        reply = ask("query", wanted.arguments(), wanted.secs + REPLY_SECS)
    except NoAnswer as error:
        raise StateUnavailable(str(error)) from None
    outcome, reason = reply.get("outcome"), str(reply.get("reason", ""))
    if outcome != "answered":
        raise _ERRORS.get(str(outcome), StateUnavailable)(reason)
    rows = tuple((int(task), str(name), str(text)) for task, name, text in reply["entries"])
    return StateAnswer(str(reply["name"]), rows, bool(reply.get("has_more")))


class StateClient:
    """Asks one running topology, over one connection; for one thread at a time.

    with StateClient("wordcount") as states:
        states.get("count.count", "storm")
    """

    def __init__(self, topology: str, state_store: str | None = None) -> None:
        """`state_store`: a URL, as zk://HOST:PORT; None: the files of this user."""
        self._store = open_store(state_store or store_url_in(home_path()))
        self._client = MasterClient(self._store, topology)
        self._direct = DirectQueries(self._client)

    def get(self, name: str, key: Any, default: Any = None, **options: Any) -> Any:
        """Value of COMPONENT.STATE for a key, or `default`; options as of `query`."""
        entries = self.query(name, key=key, **options).entries
        return entries[0].value if entries else default

    def query(self, name: str, **question: Any) -> StateAnswer:
        """The answer to a question: key, map_key, prefix, limit, secs (see WantedState)."""
        wanted, began = WantedState(name=name, **question), time.monotonic()
        if (answer := self._directly(wanted)) is not None:
            return answer
        left_secs = max(SECS_MIN, wanted.secs - (time.monotonic() - began))
        return query_state(self._client.ask, replace(wanted, secs=left_secs))

    def _directly(self, wanted: WantedState) -> StateAnswer | None:
        """Answer of the instance with the key; None: ask the master."""
        if wanted.key is ABSENT or wanted.prefix is not ABSENT or not wanted.is_valid:
            return None
        texts = wanted.arguments()
        rows = self._direct.ask(wanted.name, texts["key"], texts.get("map_key", ""), wanted.secs)
        return None if rows is None else StateAnswer(wanted.name, tuple(rows))

    def close(self) -> None:
        """Close the connections."""
        self._direct.close()
        self._client.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
