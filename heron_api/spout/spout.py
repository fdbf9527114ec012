"""The base class of user spouts (heronpy.api.spout.spout)."""

from typing import TYPE_CHECKING, Any

from heron_api.errors import WrongArgumentError
from heron_api.spout.base_spout import BaseSpout
from heron_core.algorithms.event_windows.values import END_OF_TIME

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class Spout(BaseSpout):
    """A source of tuples; all but `next_tuple` is optional.

    Example:

        class Words(Spout):
            outputs = ["word"]

            def initialize(self, config, context):
                self.words = itertools.cycle(["storm", "heron"])

            def next_tuple(self):
                self.emit([next(self.words)])
    """

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> Any:
        """Called once before the first tuple, with the merged config; use it as `__init__`."""

    def close(self) -> Any:
        """Called when the instance ends gracefully, as at the end of a run, by `heronpy kill` or by
        an update; not after a crash or SIGKILL."""

    def next_tuple(self) -> Any:
        """Emit available tuples, usually one, and return at once; blocking calls delay acks."""
        raise NotImplementedError(f"{type(self).__name__} must define next_tuple(self)")

    def ack(self, tup_id: Any) -> Any:
        """The tuple emitted with `tup_id` and all derived tuples are processed."""

    def fail(self, tup_id: Any) -> Any:
        """The tuple emitted with `tup_id`, or a tuple derived from it, failed or exceeded
        `topology.message.timeout.secs`; emit the tuple again for at-least-once delivery."""

    def activate(self) -> Any:
        """The topology runs (again); `next_tuple` is called from now on."""

    def deactivate(self) -> Any:
        """The topology is paused; `next_tuple` is not called until `activate`."""

    def finish(self) -> None:
        """Say that this spout has nothing more to emit; for sources that end.

        `next_tuple` is not called again, unless a later `fail` callback re-opens the spout: then
        it may emit the failed tuple again and finish once more. `heronpy run` ends by itself when
        every spout is finished and every tuple is processed.

            def next_tuple(self):
                line = self.file.readline()
                if line:
                    self.emit([line])
                else:
                    self.finish()
        """
        self.delegate.finish()

    def emit_watermark(self, watermark_ms: int) -> None:
        """Say that no event emitted from here on happened before `watermark_ms`, in milliseconds
        since 1970. It travels behind the tuples emitted so far, through all bolts (WINDOWS.md);
        heronpy has none. WrongArgumentError unless a whole number."""
        if type(watermark_ms) is not int or not -END_OF_TIME <= watermark_ms < END_OF_TIME:
            raise WrongArgumentError(
                f"a watermark is a whole number of milliseconds since 1970, not {watermark_ms!r}"
            )
        self.delegate.emit_watermark(watermark_ms)
