"""What the last lines of a run say about its dead letters."""

from heron_connectors.letters.folder import letters_since
from heron_core.config.names import DEAD_LETTER
from heron_core.dead_letter_target import BoltTarget, FileTarget, Target, target_of, where
from heron_core.dead_letters import ERRORS
from heron_core.errors import HeronError
from heron_core.number_text import counted
from heron_core.stats import TopologyStats
from heron_core.topology import TopologySpec


def letters_line(topology: TopologySpec, stats: TopologyStats, began_ms: int) -> str:
    """How many tuples were abandoned and kept, and where they are; empty for none."""
    target = target_of(topology.config, DEAD_LETTER)
    if target is None:
        return ""
    hint = _hint(topology, target)
    if not isinstance(target, FileTarget):
        number = _emitted(stats)
        most = "up to " if stats.checkpoints is not None else ""
        return f"{most}{counted(number, 'dead letter')} in {where(target)}{hint}" if number else ""
    try:
        number = letters_since(target.folder, began_ms)
    except (HeronError, OSError) as error:
        return f"dead letters: {error}"
    return f"{counted(number, 'dead letter')} in {target.folder}{hint}" if number else ""


def _hint(topology: TopologySpec, target: Target) -> str:
    """How to see them; what a bolt makes of letters, that bolt knows."""
    if isinstance(target, BoltTarget):
        return ""
    return f": list them with `heronpy dead-letters {topology.name}`"


def _emitted(stats: TopologyStats) -> int:
    """With checkpoints those that a restore has taken back are among them."""
    return sum(each.emitted_by_stream.get(ERRORS, 0) for each in stats.components.values())
