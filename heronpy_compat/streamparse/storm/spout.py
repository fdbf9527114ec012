"""Spouts (streamparse.storm.spout)."""

from collections.abc import Sequence
from typing import Any

from heronpy_compat.pystorm import spout as pystorm_spout
from heronpy_compat.streamparse.dsl.spout import JavaSpoutSpec, ShellSpoutSpec
from heronpy_compat.streamparse.storm.component import Component

__all__ = ["JavaSpout", "ReliableSpout", "ShellSpout", "Spout"]


class JavaSpout(Component):
    """A spout of Java, for which there has to be an equivalent here.

    Example:

        words = JavaSpout.spec(
            name="words", full_class_name="org.apache.storm.testing.TestWordSpout", args_list=[],
            outputs=["word"],
        )
    """

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        serialized_java: bytes | None = None,
        full_class_name: str | None = None,
        args_list: Sequence[Any] | None = None,
        par: Any = 1,
        config: dict[str, Any] | None = None,
        outputs: Any = None,
    ) -> JavaSpoutSpec:
        """The spout that Storm would make of a Java class with `args_list` as its arguments.

        `par` and `config` as in `Spout.spec`; `outputs` are field names or Streams.
        """
        return JavaSpoutSpec(
            cls, name, serialized_java, full_class_name, args_list, par, config, outputs
        )


class ShellSpout(Component):
    """A spout that is a program of any language, speaking Storm's multi-lang protocol.

    Example:

        lines = ShellSpout.spec(name="lines", command="node", script="lines.js", outputs=["line"])
    """

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        command: str | None = None,
        script: str | None = None,
        par: Any = None,
        config: dict[str, Any] | None = None,
        outputs: Any = None,
    ) -> ShellSpoutSpec:
        """The program `command` with the arguments in `script`, separated by blanks.

        `par` and `config` as in `Spout.spec`; `outputs` are field names or Streams.
        """
        return ShellSpoutSpec(cls, name, command, script, par, config, outputs)


class Spout(pystorm_spout.Spout, ShellSpout):
    """Base of spouts in Python: override `next_tuple()`.

    Example:

        class WordSpout(Spout):
            outputs = ["word"]

            def next_tuple(self):
                self.emit(["dog"])
    """

    @classmethod
    def spec(  # type: ignore[override]
        cls,
        name: str | None = None,
        par: Any = None,
        config: dict[str, Any] | None = None,
    ) -> ShellSpoutSpec:
        """This spout for a Topology class; `par`: instances, or {environment: instances}."""
        path = f"{cls.__module__}.{cls.__name__}"
        return ShellSpoutSpec(cls, name, "streamparse_run", path, par, config, cls.outputs)


class ReliableSpout(pystorm_spout.ReliableSpout, Spout):
    """Base of spouts that emit a failed tuple again, up to `max_fails` times.

    Example:

        class Numbers(ReliableSpout):
            outputs = ["number"]
            max_fails = 3

            def initialize(self, stormconf, context):
                self.number = 0

            def next_tuple(self):
                self.number += 1
                self.emit([self.number], tup_id=self.number)
    """
