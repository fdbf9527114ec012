"""A server that is away is asked again, later each time; one that refuses ends the process; and
answers are as large as memory allows."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from heron_connectors.postgres import fetching
from heron_connectors.postgres.client import Away, Busy
from heron_connectors.postgres.fetching import FetchSize
from heron_connectors.postgres.patience import BUSY_SECS, SpoutPatience
from heron_core.errors import ComponentError


class Delegate:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.soon: list[Callable[[], None]] = []

    def record_error(self, what: str, text: str) -> None:
        self.errors.append(text)

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def leave(self, why: str) -> None:
        raise ComponentError(why)


class Session:
    """That of a spout, and what its server answers."""

    def __init__(self) -> None:
        self.delegate, self.ended = Delegate(), 0
        self.patience = SpoutPatience(
            "rows", self.delegate, logging.getLogger("test"), self._let_go
        )

    def _let_go(self) -> None:
        self.ended += 1

    def ask(self, now: float, error: Exception | None = None) -> None:
        def call() -> None:
            if error is not None:
                raise error

        self.patience.ask(now, call)


def test_a_server_that_is_away_is_told_once_and_asked_later_each_time() -> None:
    session = Session()
    due = []
    for now in (0.0, 10.0, 20.0, 30.0):
        session.ask(now, Away("refused"))
        due.append(session.patience.not_before - now)
    assert due == [0.5, 1.0, 2.0, 4.0]
    assert session.delegate.errors == ["refused"]
    session.ask(40.0)
    session.ask(50.0, Away("refused"))
    assert session.patience.not_before == 50.5
    assert session.delegate.errors == ["refused"]
    assert session.ended == 5


def test_what_another_session_has_is_told_when_that_has_lasted() -> None:
    session = Session()
    for now in (0.0, BUSY_SECS - 0.1):
        session.ask(now, Busy("in use"))
    assert not session.delegate.errors
    session.ask(BUSY_SECS, Busy("in use"))
    assert session.delegate.errors == ["in use"]
    session.ask(BUSY_SECS + 1)
    session.ask(BUSY_SECS + 2, Busy("in use"))
    assert session.delegate.errors == ["in use"]


def test_a_refusal_ends_the_process_with_a_line_that_names_the_spout() -> None:
    session = Session()
    with pytest.raises(ComponentError, match=r"rows: there is no table t"):
        session.ask(0.0, ComponentError("there is no table t"))
    (leave,) = session.delegate.soon
    with pytest.raises(ComponentError, match=r"rows: there is no table t"):
        leave()
    assert session.ended == 1


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ((0, 0), fetching.FETCH_ROWS),
        ((100, 0), fetching.FETCH_ROWS_MAX),
        ((100, 100 << 20), 4),
        ((1, 100 << 20), 1),
    ],
)
def test_an_answer_has_as_many_rows_as_their_size_allows(answer: Any, rows: int) -> None:
    size = FetchSize()
    size.learn(*answer)
    assert size.rows == rows
