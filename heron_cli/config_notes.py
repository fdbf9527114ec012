"""What a user should know about the keys of a topology's config, said once before it runs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heron_core import config, config_keys
from heron_core.topology import TopologySpec


def config_notes(topology: TopologySpec, options: Mapping[str, Any]) -> Iterator[str]:
    """One line for the keys that do nothing here, one for those that nobody knows, and one for
    each key of `options` (-o) that nothing but the components' own code can read."""
    layers = [topology.config, *(each.config for each in topology.components)]
    given = list(dict.fromkeys(key for layer in layers for key in layer))
    if idle := [key for key in given if config_keys.is_of_others(key)]:
        yield f"note: these keys of Storm or Heron do nothing here: {', '.join(idle)}"
    if unknown := config_keys.unknown_keys(given):
        yield f"note: nobody knows these keys, only components see them: {', '.join(unknown)}"
    merged = config.with_defaults(topology.config)
    if config.trace_sample(merged) and config.reliability(merged) != config.ATLEAST_ONCE:
        mode = config.reliability(merged)
        yield f"note: {config.TRACE_SAMPLE} does nothing in {mode}: no roots, no traces"
    for key in options:
        if not key.startswith(config_keys.KNOWN_PREFIXES):
            yield f"note: {key} is a key for your components only{_hint(key, given, options)}"


def _hint(key: str, given: Iterable[str], options: Mapping[str, Any]) -> str:
    own = [each for each in given if each not in options]
    close = config_keys.resembled(key, own)
    return f"; did you mean {close}?" if close else ""
