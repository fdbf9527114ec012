"""Poison tuples in real processes: all others are exact, and each is found and replayed once."""

import json
from typing import Any

from tests.process.process_support import TOPOLOGIES, Master, Place
from tests.process.test_exact_counts import kill
from tests.process.test_recovery import title_of

TOPOLOGY = TOPOLOGIES / "poisoned.py"
NUMBERS = 1000
POISON = range(7, NUMBERS, 200)


def test_poison_tuples_are_found_once_each_after_kills_and_count_when_they_are_sent_again(
    place: Place,
) -> None:
    place.environment["POISONED"] = str(place.path)
    letters = place.path / "letters"
    running = place.start("run", TOPOLOGY, "-o", "topology.dead.letter=file:letters")

    def listed() -> list[dict[str, Any]]:
        files = letters.glob("part-*.jsonl")
        return [json.loads(line) for each in files for line in each.read_text().splitlines()]

    with Master(place.store_url, "Poisoned") as master:
        running.until(lambda: running.process_called("heron: __dead_letters[0]"), "it is up")
        running.until(lambda: master.processed("__dead_letters"), "a letter is there")
        kill(running, *(title_of(running, f"heron: {each}") for each in ("check[0]", "total[0]")))
        running.until(lambda: len(listed()) >= len(POISON), "all letters are committed")
        kill(running, title_of(running, "heron: __dead_letters[0]"))
        assert sorted(each["values"][0] for each in listed()) == list(POISON)

        shown = place.heronpy("dead-letters", "Poisoned", "--component", "check").succeeded()
        assert f"{len(POISON)} dead letters in {letters}" in shown.out
        first = listed()[0]
        whole = place.heronpy("dead-letters", "Poisoned", first["id"][:10], "--show").succeeded()
        assert f"number = {first['values'][0]}" in whole.out
        assert f"ValueError: poison: {first['values'][0]}" in whole.out

        (place.path / "mended").touch()
        place.heronpy("dead-letters", "Poisoned", first["id"], "--replay").succeeded()
        rest = place.heronpy("dead-letters", "Poisoned", "--replay").succeeded()
        assert f"{len(POISON) - 1} dead letters sent again" in rest.out
        running.until(lambda: len(list(letters.glob("replay/*.done"))) == 2, "they are sent again")
        events = place.heronpy("events", "Poisoned", "--kind", "action").succeeded().out
        assert "action: replay of 1 dead letter to " in events
        again = place.heronpy("dead-letters", "Poisoned", "--replay")
        assert (again.code, len(again.errors)) == (1, 1)
    (place.path / "enough").touch()
    ended = running.wait().succeeded()
    assert f"{len(POISON)} dead letters in {letters}" in ended.err
    assert place.results()["counted"] == list(range(NUMBERS))
    assert sorted(each["values"][0] for each in listed()) == list(POISON)
    place.nothing_is_left()
