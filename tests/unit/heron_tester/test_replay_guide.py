"""Record and replay the bolt of docs/REPLAY.md."""

import re
from pathlib import Path
from typing import Any

from tests.unit.heron_instance.instance_support import batch
from tests.unit.heron_tester.recorded_support import EPOCH, RecordedRun, replayed

GUIDE = Path(__file__).parents[3] / "docs" / "REPLAY.md"


def _guide() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": __name__}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL):
        exec(block, found)
    return found


Mean = _guide()["Mean"]


def test_the_bolt_of_the_page_fails_again_at_the_tuple_behind_the_cause() -> None:
    run = RecordedRun(Mean, "EFFECTIVELY_ONCE", fields=("mean",))
    run.receive(batch([2.0, 1], [4.0, 1], epoch=EPOCH))
    run.save(1)
    run.receive(batch([1.0, -3], [3.0, 1], [5.0, 1], epoch=EPOCH))
    result = replayed(run.incident())
    assert result.has_failed_again
    assert result.failures[0].tuple_number == 2
    assert "ZeroDivisionError" in result.failures[0].failure.error
