"""Sources of tuples (pystorm.spout)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from heronpy_compat.pystorm.component import Component


class Spout(Component):
    """A source: `next_tuple` emits tuples; `ack` and `fail` report the outcome of tuples with an
    id.

        class Numbers(Spout):
            def initialize(self, storm_conf, context):
                self.number = 0

            def next_tuple(self):
                self.number += 1
                self.emit([self.number], tup_id=self.number)
    """

    def next_tuple(self) -> Any:
        """Emit available tuples and return immediately."""
        raise NotImplementedError

    def ack(self, tup_id: Any) -> Any:
        """The tuple emitted with `tup_id` is processed."""

    def fail(self, tup_id: Any) -> Any:
        """The tuple emitted with `tup_id` failed or took too long."""

    def activate(self) -> Any:
        """The topology runs (again)."""

    def deactivate(self) -> Any:
        """The topology is paused."""

    # A spout has no anchors, as in pystorm.
    def emit(  # type: ignore[override]
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit values; a tuple without `tup_id` is not tracked."""
        return super().emit(
            tup,
            tup_id=tup_id,
            stream=stream,
            direct_task=direct_task,
            need_task_ids=need_task_ids,
        )

    def _run(self) -> None:
        command = self.read_command()
        name = command["command"]
        acts: dict[str, Callable[[], None]] = {
            "next": self.next_tuple,
            "ack": lambda: self.ack(command["id"]),
            "fail": lambda: self.fail(command["id"]),
            "activate": self.activate,
            "deactivate": self.deactivate,
        }
        if name in acts:
            acts[name]()
        else:
            self.logger.error("Received invalid command from Storm: %r", command)
        self.send_message({"command": "sync"})


class ReliableSpout(Spout):
    """A spout that emits a failed tuple again, up to `max_fails` times.

    Example:

        class Numbers(ReliableSpout):
            max_fails = 3

            def initialize(self, conf, context):
                self.number = 0

            def next_tuple(self):
                self.number += 1
                self.emit([self.number], tup_id=self.number)
    """

    max_fails = 3

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.failed_tuples: Counter[Any] = Counter()
        """tuple id -> number of failures"""
        self.unacked_tuples: dict[Any, tuple[Any, Any, Any, Any]] = {}
        """tuple id -> (values, stream, direct task, need_task_ids) as they were emitted"""

    def ack(self, tup_id: Any) -> Any:
        """Forget the tuple."""
        self.failed_tuples.pop(tup_id, None)
        if self.unacked_tuples.pop(tup_id, None) is None:
            self.logger.error("Received ack for unknown tuple ID: %r", tup_id)

    def fail(self, tup_id: Any) -> Any:
        """Emit the tuple again; after `max_fails` failures `ack` is called instead."""
        if tup_id not in self.unacked_tuples:
            self.logger.error("Received fail for unknown tuple ID: %r", tup_id)
            return
        if self.failed_tuples[tup_id] >= self.max_fails:
            self.logger.info(
                "Acking tuple ID %r after it exceeded retry limit (%r)", tup_id, self.max_fails
            )
            self.ack(tup_id)
            return
        tup, stream, direct_task, need_task_ids = self.unacked_tuples[tup_id]
        self.emit(
            tup,
            tup_id=tup_id,
            stream=stream,
            direct_task=direct_task,
            need_task_ids=need_task_ids,
        )
        self.failed_tuples[tup_id] += 1

    def emit(  # type: ignore[override]
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit values and retain them until the ack; ValueError without a `tup_id`."""
        check_id(tup_id)
        self.unacked_tuples[tup_id] = (tup, stream, direct_task, need_task_ids)
        return super().emit(
            tup,
            tup_id=tup_id,
            stream=stream,
            direct_task=direct_task,
            need_task_ids=need_task_ids,
        )


def check_id(tup_id: object) -> None:
    """ValueError for None: a tuple without an id cannot be replayed."""
    if tup_id is None:
        raise ValueError(
            "You must provide a tuple ID when emitting with a ReliableSpout in order for the "
            "tuple to be tracked."
        )
