"""Bolts (streamparse.storm.bolt)."""

from collections.abc import Sequence
from typing import Any

from heronpy_compat.pystorm import bolt as pystorm_bolt
from heronpy_compat.streamparse.dsl.bolt import JavaBoltSpec, ShellBoltSpec
from heronpy_compat.streamparse.storm.component import Component

__all__ = ["BatchingBolt", "Bolt", "JavaBolt", "ShellBolt", "TicklessBatchingBolt"]


class JavaBolt(Component):
    """A bolt of Java, for which there has to be an equivalent here.

    Example:

        count = JavaBolt.spec(
            name="count", full_class_name="org.apache.storm.starter.bolt.RollingCountBolt",
            args_list=[9, 3], inputs=[], outputs=["word", "count", "length"],
        )
    """

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        serialized_java: bytes | None = None,
        full_class_name: str | None = None,
        args_list: Sequence[Any] | None = None,
        inputs: Any = None,
        par: Any = 1,
        config: dict[str, Any] | None = None,
        outputs: Any = None,
    ) -> JavaBoltSpec:
        """The bolt that Storm would make of a Java class with `args_list` as its arguments.

        `inputs`, `par` and `config` as in `Bolt.spec`; `outputs` are field names or Streams.
        """
        return JavaBoltSpec(
            cls, name, serialized_java, full_class_name, args_list, inputs, par, config, outputs
        )


class ShellBolt(Component):
    """A bolt that is a program of any language, speaking Storm's multi-lang protocol.

    Example:

        split = ShellBolt.spec(name="split", command="node", script="split.js", outputs=["word"])
    """

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        command: str | None = None,
        script: str | None = None,
        inputs: Any = None,
        par: Any = None,
        config: dict[str, Any] | None = None,
        outputs: Any = None,
    ) -> ShellBoltSpec:
        """The program `command` with the arguments in `script`, separated by blanks.

        `inputs`, `par` and `config` as in `Bolt.spec`; `outputs` are field names or Streams.
        """
        return ShellBoltSpec(cls, name, command, script, inputs, par, config, outputs)


class Bolt(pystorm_bolt.Bolt, ShellBolt):
    """Base of bolts in Python: override `process(tup)`.

    Example:

        class WordCountBolt(Bolt):
            outputs = ["word", "count"]

            def process(self, tup):
                self.emit([tup.values.word, 1])
    """

    @classmethod
    def spec(  # type: ignore[override]
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: Any = None,
        config: dict[str, Any] | None = None,
    ) -> ShellBoltSpec:
        """This bolt for a Topology class.

        `inputs`: a dict of component (or one of its streams, `words["errors"]`) to Grouping, or a
        list of them, which are shuffled. `par`: instances, or {environment: instances}.
        """
        path = f"{cls.__module__}.{cls.__name__}"
        return ShellBoltSpec(cls, name, "streamparse_run", path, inputs, par, config, cls.outputs)


class BatchingBolt(pystorm_bolt.BatchingBolt, Bolt):
    """Base of bolts that work on batches: override `process_batch(key, tups)`.

    Example:

        class Insert(BatchingBolt):
            ticks_between_batches = 5

            def process_batch(self, key, tups):
                self.logger.info("%d rows", len(tups))
    """


class TicklessBatchingBolt(pystorm_bolt.TicklessBatchingBolt, BatchingBolt):
    """Base of bolts whose batches end by time: override `process_batch(key, tups)`.

    Example:

        class Insert(TicklessBatchingBolt):
            secs_between_batches = 2

            def process_batch(self, key, tups):
                self.logger.info("%d rows", len(tups))
    """
