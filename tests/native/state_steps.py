"""Random steps of keyed states, with all that each of them comes to as text: for one form of the
hot path after the other. `print_steps` is called in a process that has one of the two."""

from random import Random
from typing import Any

from heron_core.state.memory import MemoryBackend
from tests.property.state_support import TTL_SECS, Clock, Real, random_operation
from tests.property.test_state_properties import Run, random_step

STEPS = 300


def print_steps(seeds: range) -> None:
    """What the steps of some seeds come to, without and with a time to live."""
    for seed in seeds:
        _print_plain(Random(seed), Run())
        _print_timed(Random(seed))


def _print_plain(rng: Random, run: Run) -> None:
    for at in range(STEPS):
        step = random_step(rng)
        run.step(step)
        print(at, step, run.saved.hex() if step == "snapshot" else run.real.contents())
    print(run.real.backend.snapshot().hex())


def _print_timed(rng: Random) -> None:
    clock = Clock()
    real = Real(MemoryBackend, TTL_SECS, clock)
    for at in range(STEPS):
        step = _timed_step(rng)
        if step == "save":
            real = _restored(real, clock)
        elif isinstance(step, float):
            clock.now += step
        else:
            real.do(*step)
        print(at, step, real.contents())


def _restored(real: Real, clock: Clock) -> Real:
    saved = real.backend.snapshot()
    print(saved.hex())
    successor = Real(MemoryBackend, TTL_SECS, clock)
    successor.backend.restore(saved)
    return successor


def _timed_step(rng: Random) -> Any:
    chance = rng.random()
    if chance < 0.1:
        return "save"
    return rng.uniform(0.0, TTL_SECS / 3) if chance < 0.3 else random_operation(rng)
