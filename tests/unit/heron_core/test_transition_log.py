"""What a core says about how it got where it is."""

from heron_core.transition_log import STEPS_MAX, TransitionLog


def test_equal_effects_are_counted() -> None:
    log = TransitionLog()
    log.record(1.5, "Timer", ["QuiescenceProbe"] * 100)
    assert str(log) == "1.500 Timer: QuiescenceProbe (100 times)"


def test_only_the_newest_steps_are_kept() -> None:
    """A master runs for months."""
    log = TransitionLog()
    for number in range(STEPS_MAX + 10):
        log.record(number, "Timer", ["Log"])
    assert len(log.steps) == STEPS_MAX
    assert log.steps[0].now == 10
