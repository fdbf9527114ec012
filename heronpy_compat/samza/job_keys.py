"""Keys of a job: with an effect here, without effect, unknown or misspelt. Pure.

Keys outside of Samza's own groups (`job.`, `task.`, …) belong to the user's code.
"""

import re
from collections.abc import Iterable

from heron_core.validation import did_you_mean

USED = (
    "job.name", "job.id", "job.container.count", "job.host-affinity.enabled",
    "job.logged.store.base.dir", "job.systemstreampartition.grouper.factory",
    "task.class", "task.inputs", "task.outputs", "task.broadcast.inputs", "task.window.ms",
    "task.commit.ms", "task.max.concurrency", "task.checkpoint.factory", "task.checkpoint.system",
    "task.checkpoint.path", "task.ignored.exceptions", "task.drop.deserialization.errors",
    "task.transactional.state.restore.enabled",
    "systems.*.samza.factory", "systems.*.samza.key.serde", "systems.*.samza.msg.serde",
    "systems.*.samza.offset.default", "systems.*.path", "systems.*.key.separator",
    "systems.*.bounded", "systems.*.consumer.**", "systems.*.producer.**",
    "systems.*.streams.*.samza.key.serde", "systems.*.streams.*.samza.msg.serde",
    "systems.*.streams.*.samza.offset.default", "systems.*.streams.*.samza.reset.offset",
    "systems.*.streams.*.samza.bootstrap", "systems.*.streams.*.samza.priority",
    "stores.*.factory", "stores.*.key.serde", "stores.*.msg.serde", "stores.*.changelog",
    "stores.*.side.inputs", "stores.*.side.inputs.processor.factory",
    "serializers.registry.*.class",
)  # fmt: skip
"""* stands for a name without dots, ** for the rest of the key."""

WITHOUT_EFFECT = (
    "job.factory.class", "job.coordinator.**", "job.changelog.system",
    "job.container.thread.pool.size",
    "job.default.system", "job.standbytasks.replication.factor", "task.shutdown.ms",
    "task.poll.interval.ms", "task.callback.timeout.ms", "task.checkpoint.replication.factor",
    "task.checkpoint.segment.bytes", "task.transactional.state.checkpoint.enabled",
    "systems.*.consumer.zookeeper.connect", "stores.*.changelog.replication.factor",
    "stores.*.changelog.kafka.**", "stores.*.rocksdb.**", "stores.*.object.cache.size",
    "stores.*.container.cache.size.bytes", "stores.*.container.write.buffer.size.bytes",
    "stores.*.write.batch.size", "metrics.**", "yarn.**", "cluster-manager.**", "app.**",
)  # fmt: skip
"""Keys of Samza for tasks of the engine: docs/SAMZA.md has the reasons."""

GROUPS = ("job.", "task.", "systems.", "stores.", "serializers.")
"""An unknown key with such a beginning is an error: a key of Samza without support, or misspelt."""


def _matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    forms = (re.escape(each).replace(r"\*\*", ".+").replace(r"\*", "[^.]+") for each in patterns)
    return re.compile("|".join(f"(?:{form})" for form in forms))


_USED, _WITHOUT_EFFECT = _matcher(USED), _matcher(WITHOUT_EFFECT)


def unknown_key(names: Iterable[str]) -> str:
    """A line about the first key without an effect or a reason; else empty."""
    for name in names:
        if not name.startswith(GROUPS) or _USED.fullmatch(name) or _WITHOUT_EFFECT.fullmatch(name):
            continue
        close = did_you_mean(name, [_like(pattern, name) for pattern in USED])
        hint = f"did you mean {close}?" if close else "docs/SAMZA.md lists the supported keys"
        return f"{name} is not a supported key of a job; {hint}"
    return ""


def _like(pattern: str, name: str) -> str:
    """A key of the pattern with the names of `name`."""
    parts, given = pattern.split("."), name.split(".")
    return ".".join(
        given[at] if part == "*" and at < len(given) else part for at, part in enumerate(parts)
    )


def without_effect(names: Iterable[str]) -> list[str]:
    """The keys that have no effect here."""
    return sorted(each for each in names if _WITHOUT_EFFECT.fullmatch(each))
