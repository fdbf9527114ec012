"""`heronpy restart`: containers of this machine end in order, one by one, and come back."""

import psutil

from heron_core.plans import MASTER_CONTAINER
from heron_core.state_tree import scheduler_path
from tests.process.process_support import GONE_SECS, TOPOLOGIES, Master, Place, until


def executors(place: Place) -> dict[int, int]:
    """container -> pid of its executor."""
    store = place.store()
    try:
        location = store.get(scheduler_path(place.name))
        assert location is not None
        scheduler = psutil.Process(location["pid"])
    finally:
        store.close()
    titles = {each.pid: " ".join(each.cmdline()) for each in scheduler.children()}
    return {int(title.split()[2]): pid for pid, title in titles.items() if "container" in title}


def test_one_container_and_then_all(place: Place) -> None:
    """Only the named container is another process afterwards; then all are, and data flows."""
    name = place.name
    here = place.home / "clusters" / "here.yaml"
    here.parent.mkdir(parents=True)
    here.write_text("scheduler: local\npacking: {containers: 2}\n", "utf-8")
    file = TOPOLOGIES / "forever.py"
    words = ("submit", file, "-n", "Forever", "-N", name, "--cluster", "here")
    place.heronpy(*words).succeeded()
    first = executors(place)
    assert set(first) == {MASTER_CONTAINER, 1, 2}
    restarted = place.heronpy("restart", name, 2, "--cluster", "here").succeeded()
    assert restarted.out == f"{name}: container 2 is restarted\n"
    second = executors(place)
    assert {each for each in first if second[each] != first[each]} == {2}

    restarted = place.heronpy("restart", name).succeeded()
    assert restarted.out == f"{name}: all containers are restarted\n"
    third = executors(place)
    assert {each for each in second if third[each] != second[each]} == {MASTER_CONTAINER, 1, 2}
    with Master(place.store_url, name) as master:
        before = master.processed("add")
        until(lambda: master.processed("add") > before, "tuples are processed")

    refused = place.heronpy("restart", name, 3)
    assert refused.code == 2
    assert refused.errors == [f"heronpy: {name} has no container 3; its containers: 0, 1, 2"]
    place.heronpy("kill", name, "--wait", 0).succeeded()
    place.nothing_is_left(GONE_SECS)
