"""Known configuration keys: supported keys, and unsupported keys of Storm and Heron.

An unknown key with an engine prefix is an error if similar to a known key. All other keys belong
to the user: components find them in their config.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from heron_core.config.keys import KEYS

ENGINE_PREFIXES = ("topology.", "heron.", "heronpy.")
"""Prefixes of the engine's keys; a user may have other keys."""
KNOWN_PREFIXES = (*ENGINE_PREFIXES, "storm.", "pystorm.", "nimbus.", "supervisor.", "worker.")
"""Keys possibly read by code other than the user's: heronpy's, Storm's and streamparse's."""
RESEMBLANCE_MIN = 0.85
"""difflib's ratio from which an unknown key is taken for a misspelt one: two letters that changed
places in the shortest of ours are 0.93, `topology.workers` and `topology.users` are 0.84."""

_IDLE = """
    acking additional.classpath auto-credentials backpressure.enable
    batch.flush.interval.millis blobstore.map builtin.metrics.bucket.size.secs cap.ticket
    classpath.beginning component.jvmoptions component.jvmopts
    component.output.bps component.resourcemap component.resources.map
    container.max.cpu.hint container.max.disk.hint
    container.max.ram.hint error.throttle.interval.secs event.logger.register
    executor.overflow.limit executor.receive.buffer.size executor.send.buffer.size
    exhibitor.enable fall.back.on.java.serialization isolate.machines kryo.decorators
    kryo.factory kryo.register max.error.report.per.interval
    metrics.aggregate.metric.evict.secs metrics.consumer.register multilang.log.handler
    optimize priority producer.batch.size project.name python.path
    receiver.buffer.size remote.debugging.enable serialized.message.size.metrics
    skip.missing.kryo.registrations sleep.spout.wait.strategy.time.ms spread.components
    stats.sample.rate submitter.principal submitter.user team.email team.environment
    team.name testing.always.try.serialize timer.events
    tuple.serializer version worker.childopts worker.gc.childopts
    worker.logwriter.childopts worker.max.heap.size.mb worker.metrics
    worker.receiver.thread.count worker.shared.thread.pool.size worker.timeout.secs
"""
_IDLE_FAMILIES = """
    acker.cpu acker.resources backpressure.check backpressure.disruptor backpressure.wait
    bolt.outgoing bolt.wait bolts component.resources disable disruptor enable eventlogger
    hbase hdfs kafka localityaware logging metrics.consumer metrics.reporters ras rocksdb
    scheduler shared shellbolt.log spout.wait spouts state stateful supervisor tasks transactional
    transfer trident worker.gc
"""

READ_HERE = frozenset(KEYS)
"""Keys read by the engine."""

OF_OTHERS = frozenset(f"topology.{name}" for name in _IDLE.split())
"""Keys of Storm and Heron accepted without effect."""
_REQUESTS = "servers invocations.port function token.file certificate"
OF_CONNECTORS = frozenset(f"drpc.{name}" for name in _REQUESTS.split())
"""Keys read by heronpy's components (heron_connectors.requests.settings)."""
OF_OTHERS_BELOW = tuple(f"topology.{name}." for name in _IDLE_FAMILIES.split())
"""Whole families of such keys."""


def unknown_keys(given: Iterable[str]) -> list[str]:
    """Unknown keys with an engine prefix."""
    return [key for key in given if key.startswith(ENGINE_PREFIXES) and not is_known(key)]


def is_known(key: str) -> bool:
    """Whether the engine reads the key, or Storm or Heron do."""
    return key in READ_HERE or is_of_others(key)


def is_of_others(key: str) -> bool:
    """Whether the key is known to Storm or Heron only."""
    return key not in READ_HERE and (key in OF_OTHERS or key.startswith(OF_OTHERS_BELOW))


def resembled(key: str, further: Iterable[str] = ()) -> str | None:
    """The known key closest to the misspelled `key`, with or without the prefix `topology.`; or
    None."""
    import difflib  # only needed when something is wrong already

    known = [*sorted(READ_HERE | OF_OTHERS | OF_CONNECTORS), *further]
    for spelled in (key, f"topology.{key}"):
        if spelled != key and spelled in READ_HERE:
            return spelled
        close = difflib.get_close_matches(spelled, known, 1, RESEMBLANCE_MIN)
        if close:
            return close[0]
    return None


def misspelt(given: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first misspelled key, and the correction."""
    for key in unknown_keys(given):
        close = resembled(key)
        if close is not None:
            return key, close
    return None
