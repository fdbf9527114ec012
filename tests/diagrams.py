"""Pictures of docs/ARCHITECTURE.md and docs/CONCEPTS.md, drawn from the tables of the code.

python -m tests.diagrams

Each is a Mermaid block, a table or a text between two comments with its name.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from heron_connectors.requests.table import CALL, CallState
from heron_core.plans import Phase
from heron_core.transitions import AnyState, Transitions
from heron_engine.stream_manager import gates, link
from heron_engine.topology_master import checkpoints, queries, recovery, termination
from heron_engine.topology_master.update import states as update
from heronpy_compat.trident.execution import coordinator_core
from tests import concept_pictures

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "ARCHITECTURE.md", DOCS / "CONCEPTS.md")


def mermaid(machine: Transitions[AnyState]) -> str:
    """A state diagram, with where the machine begins and ends."""
    lines = [f"[*] --> {state.name}: {when}" for state, when in machine.begins.items()]
    for state, after in machine.after.items():
        lines += [f"{state.name} --> {to.name}: {when}" for to, when in after.items()]
    states = type(next(iter(machine.after)))
    lines += [f"{each.name} --> [*]" for each in states if each in machine.ends]
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {each}" for each in lines), "```"])


def update_diagram() -> str:
    """Diagram of an update, with the actions of each state."""
    texts = [f"| {each.name} | {each.stage or '-'} | {each.text} |" for each in update.UpdateState]
    head = ["", "| state | shown as | what happens |", "|---|---|---|"]
    return "\n".join([mermaid(update.TRANSITIONS), *head, *texts])


def diagram(machine: Transitions[Any], states: type[Enum]) -> str:
    """Diagram of a machine with the states' actions as values."""
    texts = [f"| {each.name} | {each.value} |" for each in states]
    return "\n".join([mermaid(machine), "", "| state | what it means |", "|---|---|", *texts])


def end_diagram() -> str:
    """That of the end of a finite run, whose phases are shown to people by their values."""
    texts = [f"| {phase.name} | {phase.value} | {phase.text} |" for phase in Phase]
    head = ["", "| phase | shown as | what happens |", "|---|---|---|"]
    return "\n".join([mermaid(termination.TRANSITIONS), *head, *texts])


DIAGRAMS: Mapping[str, Callable[[], str]] = {
    "update": update_diagram,
    "link": lambda: diagram(link.TRANSITIONS, link.LinkState),
    "gate": lambda: diagram(gates.TRANSITIONS, gates.GateState),
    "restore": lambda: diagram(recovery.TRANSITIONS, recovery.RestoreState),
    "checkpoint": lambda: diagram(checkpoints.TRANSITIONS, checkpoints.CheckpointState),
    "end": end_diagram,
    "question": lambda: diagram(queries.QUESTION, queries.QuestionState),
    "call": lambda: diagram(CALL, CallState),
    "concept-topology": concept_pictures.topology_picture,
    "concept-containers": concept_pictures.containers_picture,
    "concept-groupings": concept_pictures.groupings_table,
    "concept-keys": concept_pictures.keys_table,
    "concept-delivery": concept_pictures.delivery_table,
    "concept-pressure": concept_pictures.pressure_table,
    "concept-windows": concept_pictures.windows_picture,
    "batch": lambda: diagram(coordinator_core.TRANSITIONS, coordinator_core.BatchState),
}
"""Name between the comments -> present text between the comments."""


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(f"(<!-- diagram {name} -->\n)(.*?)(\n<!-- end of diagram -->)", re.DOTALL)


def drawn(page: str, name: str) -> str | None:
    """The text between the comments; None without the comments."""
    found = _pattern(name).search(page)
    return None if found is None else found.group(2)


def main() -> None:
    """Draw all again."""
    for path in PAGES:
        page = path.read_text("utf-8")
        for name, made in DIAGRAMS.items():
            if (found := _pattern(name).search(page)) is not None:
                page = page.replace(found[0], f"{found[1]}{made()}{found[3]}")
        path.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
