"""The blocks of docs/STATE.md: the bolt is one, and the check finds what a state does not have."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.heron_tester.tested_state import CountedLines, ForgetfulLines

GUIDE = Path(__file__).parents[3] / "docs" / "STATE.md"


def blocks(*names: str) -> dict[str, Any]:
    """What the blocks that define these names define."""
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL):
        if any(re.search(rf"^(?:class|def) {name}\b", block, re.MULTILINE) for name in names):
            exec(block, found)
    return found


def test_the_bolt_declares_its_states() -> None:
    from heron_api.state.keyed_state import declared_states

    visits = blocks("Visits")["Visits"]
    assert list(declared_states(visits)) == ["visits", "pages", "slowest", "recent"]


@pytest.mark.parametrize("seed", range(3))
def test_the_check_of_the_page_passes_and_finds_a_forgetful_bolt(seed: int) -> None:
    check = blocks("check_exactly_once")["check_exactly_once"]

    def of_state(tester: Any) -> list[Any]:
        return sorted(item for bolt in tester.component("count") for item in bolt.count.all_items())

    def of_attributes(tester: Any) -> list[Any]:
        return sorted(item for bolt in tester.component("count") for item in bolt.counts.items())

    def check_forgetful() -> None:
        for another in range(8):
            check(ForgetfulLines, "lines", ["split", "count"], of_attributes, another)

    check(CountedLines, "lines", ["split", "count"], of_state, seed)
    if seed == 0:
        with pytest.raises(AssertionError):
            check_forgetful()
