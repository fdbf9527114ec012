"""`heronpy keys`: the configuration keys, for the terminal."""

import click

from heron_core.config.keys import KEYS
from heron_core.config.reference import lines
from heron_core.config.spelling import is_of_others, resembled
from heron_core.errors import UsageError


@click.command("keys")
@click.argument("word", required=False, default="", metavar="[WORD]")
def keys_command(word: str) -> None:
    """List the configuration keys whose name or meaning contains WORD; without WORD, all.

    Each with its default, whose config is read for it, and the reliability modes in which it has an
    effect. `heronpy run FILE --explain` prints the values of a topology.

    \b
    heronpy keys
    heronpy keys checkpoint
    heronpy keys topology.max.spout.pending
    """
    shown = list(lines(word))
    if not shown:
        raise UsageError(_nothing(word))
    click.echo("\n".join(shown))


def _nothing(word: str) -> str:
    if is_of_others(word):
        return f"{word} is a key of Storm or Heron that has no effect here"
    near = resembled(word)
    remedy = f"did you mean {near}?" if near in KEYS else "`heronpy keys` lists all"
    return f"no configuration key is about {word!r}: {remedy}"
