"""What `heronpy clusters` says about a cluster with `scheduler: yarn`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heron_engine.scheduler.backends.yarn.client import Client

if TYPE_CHECKING:
    from heron_engine.scheduler.backends.yarn.backend import YarnBackend


def checks(backend: "YarnBackend") -> Iterator[tuple[bool, str]]:
    """(whether it is a problem, one line) for each thing; HeronError ends it, as a problem that
    leaves nothing more to look at."""
    client = backend.client()
    try:
        yield from _asked(client, backend.queue)
    finally:
        client.close()


def _asked(client: Client, queue: str) -> Iterator[tuple[bool, str]]:
    nodes = client.nodes()
    memory, vcores = sum(x.total.memory_mb for x in nodes), sum(x.total.vcores for x in nodes)
    capacity = f"{len(nodes)} node managers, {memory} MB and {vcores} vcores"
    yield not nodes, f"resource manager {client.address}: {client.version()}, {capacity}"
    problem = client.queue_problem(queue)
    yield problem is not None, problem or f"queue {queue} takes applications of {client.user}"
    staging = client.staging()
    staging.check()
    yield False, f"staging folder {staging.root} can be written to"
