"""Parts of a whole in real processes: whatever is killed and however many tasks there are, the
whole is exact."""

import json

import pytest

from tests.process.process_support import TOPOLOGIES, Master, Place
from tests.process.test_exact_counts import Watched, kill
from tests.process.test_recovery import title_of

pytest.importorskip("datasketches")


def test_merged_parts_are_exact_whatever_is_killed_and_with_fewer_tasks(place: Place) -> None:
    """Tasks with a part of a sum, and of a sketch, are killed; then there are fewer tasks, and the
    parts of those that have ended are merged into the rest."""
    from heron_api.state.sketches import HyperLogLog

    topology = TOPOLOGIES / "partials.py"
    running = place.start("run", topology, "-o", f"exact.folder={place.path}")
    with Master(place.store_url, "Partials") as master:
        watched = Watched(running, master)
        watched.goes_on_after(0, "a checkpoint is complete")
        before = watched.epoch()
        kill(running, *(title_of(running, f"heron: {name}") for name in ("parts[0]", "share[1]")))
        watched.restores_and_continues(before)
        for component, tasks in (("parts", 1), ("share", 2)):
            more = ("--component-parallelism", f"{component}:{tasks}")
            place.heronpy("update", "Partials", *more).succeeded()
        before = watched.epoch()
        kill(running, title_of(running, "heron: parts[0]"))
        watched.restores_and_continues(before)
        shown = place.heronpy("query", "Partials", "parts.part", "--scan").succeeded().out
        assert '"monoid": "SumOf"' in shown or '"monoid":"SumOf"' in shown
    (place.path / "enough").touch()
    running.wait().succeeded()
    emitted = [json.loads(file.read_text()) for file in sorted(place.path.glob("emitted-*"))]
    parts = [json.loads(file.read_text()) for file in place.path.glob("part-*")]
    assert len(parts) == 1
    assert parts == [sum(sum(range(number)) for number in emitted)]
    whole, monoid = HyperLogLog().zero(), HyperLogLog()
    for number in range(max(emitted)):
        whole = monoid.add(whole, number)
    assert json.loads((place.path / "distinct").read_text()) == monoid.estimate(whole)
