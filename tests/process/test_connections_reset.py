"""`run -w 2`, and TCP connections that are reset again and again: nothing lost, nothing twice."""

from collections.abc import Callable

import psutil

from heron_core.plans import physical_from_json
from heron_core.state_tree import master_path, physical_path
from tests.process.connection_resets import connections, reset
from tests.process.process_support import Master, Place, Running
from tests.process.test_recovery import processes
from tests.process.test_resume import arguments, check_exact, completed, end

RESETS = 5


def ports(place: Place) -> dict[int, int]:
    """container -> port of its stream manager for others; 0: the topology master's."""
    with place.store() as store:
        stored = store.get(physical_path(place.name))
        master = store.get(master_path(place.name))
    assert stored is not None
    assert master is not None
    addresses = {**physical_from_json(stored).stream_managers, 0: master["address"]}
    return {container: int(each.rpartition(":")[2]) for container, each in addresses.items()}


def manager(running: Running, container: int) -> psutil.Process:
    """The process of a container's stream manager."""
    title = f"heron: stream manager {container}"
    return next(each for name, each in processes(running).items() if name.startswith(title))


def reset_again_and_again(running: Running, process: psutil.Process, port: int) -> None:
    """Reset the connections of a process to a port, each time that there are some."""
    for _ in range(RESETS):
        running.until(lambda: connections(process, port), "it is connected again")
        assert reset(process, port)


def grows(number: Callable[[], int]) -> Callable[[], bool]:
    """Whether a number is higher than now."""
    before = number()
    return lambda: number() > before


def test_resets_between_stream_managers_and_to_the_master_change_no_count(place: Place) -> None:
    """Once between the stream managers in both directions, once each to the topology master."""
    running = place.start("run", *arguments(place, "-w", 2))
    running.until(completed(place), "a checkpoint is complete")
    before = {title: each.pid for title, each in processes(running).items()}
    one, other, at = manager(running, 1), manager(running, 2), ports(place)
    with Master(place.store_url, place.name) as master:
        for process, port in ((one, at[2]), (other, at[1]), (one, at[0]), (other, at[0])):
            reset_again_and_again(running, process, port)
            has_grown = grows(lambda: master.processed("count"))
            running.until(has_grown, "data flows again")
    newest = completed(place)()
    assert newest is not None
    running.until(completed(place, newest), "another checkpoint is complete")
    assert {title: each.pid for title, each in processes(running).items()} == before
    end(place)
    running.wait().succeeded()
    check_exact(place)
    events = place.log(place.name, "events")
    assert not [line for line in events.splitlines() if "is served by" in line or "FAILED" in line]
