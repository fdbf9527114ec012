"""Diagrams of state machines in docs/ARCHITECTURE.md, which are made of their tables.

python -m tests.diagrams

Each is a Mermaid block between two comments with its name.
"""

import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from heron_engine.topology_master.update.states import ENDS, TRANSITIONS, State

PAGE = Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md"
AnyState = TypeVar("AnyState", bound=Enum)


def mermaid(transitions: Mapping[AnyState, Mapping[AnyState, str]]) -> str:
    """A state diagram: the first state of the table is where it begins."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(transitions)).name}"]
    for state, after in transitions.items():
        lines += [f"    {state.name} --> {to.name}: {when}" for to, when in after.items()]
    return "\n".join([*lines, "```"])


def update_diagram() -> str:
    """That of an update, with what happens in each state."""
    texts = [f"| {each.name} | {each.stage or '-'} | {each.text} |" for each in State]
    head = ["", "| state | shown as | what happens |", "|---|---|---|"]
    drawing = mermaid(TRANSITIONS).removesuffix("\n```")
    ends = [f"    {each.name} --> [*]" for each in State if each in ENDS]
    return "\n".join([drawing, *ends, "```", *head, *texts])


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(f"(<!-- diagram {name} -->\n)(.*?)(\n<!-- end of diagram -->)", re.DOTALL)


def drawn(page: str, name: str) -> str:
    """The text between the comments; empty if there are none."""
    found = _pattern(name).search(page)
    return "" if found is None else found.group(2)


def main() -> None:
    """Draw all anew."""
    page = PAGE.read_text()
    page = _pattern("update").sub(lambda found: f"{found[1]}{update_diagram()}{found[3]}", page)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
