"""Notes of a replay about values that a component's code takes from elsewhere."""

import pytest
from streamparse import Bolt

from heron_core.topology import ComponentSpec
from heron_tester.replay_notes import notes_of_code


class Counted(Bolt):  # type: ignore[misc]
    """streamparse's own module imports threading."""

    outputs = ["word"]

    def process(self, tup: object) -> None:
        pass


@pytest.mark.parametrize(
    ("class_path", "notes"),
    [
        (f"{__name__}.Counted", []),
        (
            "tests.sim.pools.PooledBolt",
            ["random numbers of random, which its module imports, are not recorded"],
        ),
    ],
)
def test_modules_of_user_code_are_named_and_not_those_of_its_base_classes(
    class_path: str, notes: list[str]
) -> None:
    spec = ComponentSpec("counted", False, class_path, 1, (), (), {})
    assert notes_of_code(spec, spec, allow_external=False) == notes
