"""A spout's next_tuple stands still while a hook of it is run to its end."""

import asyncio
from contextvars import copy_context

import pytest

from heron_core.errors import ComponentError
from heron_frontends.adapters.coroutines import Coroutines
from heron_frontends.adapters.spout_steps import AsyncSteps

steps: list[str] = []


async def next_tuple() -> None:
    try:
        while True:
            await asyncio.sleep(0)
            steps.append("next")
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        steps.append("cleaned up")
        raise


async def hook() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    steps.append("hook")


def test_next_tuple_goes_on_behind_a_hook_and_is_cancelled_at_the_end() -> None:
    steps.clear()
    coroutines = Coroutines()
    spout = AsyncSteps(next_tuple, coroutines, lambda emission: None, is_generator=False)
    for _ in range(3):
        spout.step()
    before = steps.count("next")
    assert before
    coroutines.as_function(hook)()
    assert steps[before:] == ["hook"]
    for _ in range(3):
        spout.step()
    assert steps[before + 1 :] != []
    coroutines.close()
    assert steps[-1] == "cleaned up"


def test_what_a_coroutine_at_the_gate_raises_and_returns_is_its_own() -> None:
    async def fails() -> None:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            raise KeyError("lost") from None

    async def works() -> int:
        return 1 + await asyncio.sleep(0, 1)

    coroutines = Coroutines()
    gate = coroutines.gate
    assert coroutines.loop.run_until_complete(gate.passed(works())) == 2
    with pytest.raises(KeyError, match="lost"):
        coroutines.loop.run_until_complete(gate.passed(fails()))
    task = coroutines.task(gate.passed(works()), copy_context(), None)
    gate.is_closed = True
    coroutines.turn()
    task.cancel()
    coroutines.turn()
    coroutines.turn()
    assert task.cancelled()
    coroutines.close()


def test_a_thread_cannot_run_a_coroutine_beside_the_event_loop() -> None:
    coroutines = Coroutines()
    run = coroutines.as_function(hook)

    async def elsewhere() -> None:
        await asyncio.to_thread(run)

    with pytest.raises(ComponentError, match="hook is `async def`, but a thread of the component"):
        coroutines.run(elsewhere())
    coroutines.close()
