"""`heronpy chaos`: processes of a running topology are harmed, and its results are exact (N8)."""

import json

from tests.process.process_support import DEADLINE_SECS, Master, Place
from tests.process.test_exact_counts import TOPOLOGY, Watched, counted, emitted

SEED = 11
TEXT = "".join(f"line {number}\n" for number in range(500))


def test_counts_are_exact_and_every_process_comes_back(place: Place) -> None:
    (place.path / "lines.txt").write_text(TEXT)
    folders = ("-o", f"exact.folder={place.path}", "-o", f"file.folder={place.path / 'out'}")
    running = place.start("run", TOPOLOGY, "--containers", 2, *folders)
    with Master(place.store_url, "Exact") as master:
        Watched(running, master).goes_on_after(0, "a checkpoint is complete")
    options = ("-t", 8, "--every", 1, "--seed", SEED, "--json")
    done = place.heronpy("chaos", "Exact", *options, secs=4 * DEADLINE_SECS).succeeded()
    report = json.loads(done.out)
    assert report["faults"], done.err
    assert (report["seed"], report["problem"]) == (SEED, "")
    for fault in report["faults"]:
        assert fault["back_secs"] >= fault["harm_secs"]
        assert fault["replaced"] or fault["action"] != "kill"
        assert f"{fault['process']} is back" in done.err
    (place.path / "enough").touch()
    running.wait(4 * DEADLINE_SECS).succeeded()
    assert counted(place.path) == emitted(place.path)
    parts = sorted((place.path / "out").glob("part-*"))
    assert "".join(each.read_text() for each in parts) == TEXT
    place.nothing_is_left()


def test_a_topology_that_is_not_here_is_one_line(place: Place) -> None:
    finished = place.heronpy("chaos", "Nowhere")
    assert (finished.code, len(finished.errors)) == (1, 1)
    assert "no topology called 'Nowhere' is running" in finished.err
