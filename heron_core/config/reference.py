"""The reference of configuration keys, docs/CONFIGURATION.md, made from the table.

`python -m heron_core.config.reference > docs/CONFIGURATION.md` writes it again.
"""

from collections.abc import Iterator
from typing import Any

from heron_core.config.key import Key, Owner, Subject
from heron_core.config.keys import KEYS, SUBJECTS

_HEAD = """# Configuration keys

Each key that the engine reads, generated from the table in `heron_core/config`. `heronpy keys`
prints the keys. [GUIDE.md](GUIDE.md#configuration) explains the places of a key, and the precedence
of several values. Every value is checked before a topology starts, even a value without effect.

- *Set for*: a key of the `topology` is read from the topology's config alone; a `component`, a
  `spout` or a `bolt` may also have its own value.
- *Only in*: the reliability modes in which the key has an effect; nothing means each.
- Keys marked † have no effect with `--engine spark`.
"""


def markdown() -> str:
    """The page."""
    return "\n".join((_HEAD, *(line for subject in SUBJECTS for line in _subject(subject))))


def _subject(subject: Subject) -> Iterator[str]:
    yield f"## {subject.title}\n"
    yield "| key | default | set for | only in | |"
    yield "|---|---|---|---|---|"
    for key in subject.keys:
        mark = "" if key.on_spark else " †"
        modes = ", ".join(f"`{mode}`" for mode in key.modes)
        cells = (f"`{key.name}`{mark}", _default(key), key.owner.value, modes, _what(key))
        yield f"| {' | '.join(cells)} |"
    yield ""


def _default(key: Key) -> str:
    default = key.fallback if key.default is None else key.default
    if default is None:
        return key.without or "none"
    return f"`{default_text(default)}`{key.without and ', '}{key.without}"


def _what(key: Key) -> str:
    why = f" *Default*: {key.why}." if key.why else ""
    see = f" ([more]({key.see}))" if key.see else ""
    return f"{key.what[0].upper()}{key.what[1:]}.{why}{see}" if key.what else ""


def default_text(value: Any) -> str:
    """A default as a config file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def lines(wanted: str = "") -> Iterator[str]:
    """The keys whose name or meaning contains `wanted`, two lines each, for a terminal."""
    for key in KEYS.values():
        if wanted.lower() in f"{key.name} {key.what}".lower():
            owner = "" if key.owner is Owner.TOPOLOGY else f", of a {key.owner.value}"
            yield f"{key.name}  (default {_default(key).replace('`', '')}{owner}{_limits(key)})"
            yield f"    {key.what.replace('`', '')}"


def _limits(key: Key) -> str:
    modes = f", only in {' and '.join(key.modes)}" if key.modes else ""
    return modes if key.on_spark else f"{modes}, not with --engine spark"


if __name__ == "__main__":
    print(markdown(), end="")
