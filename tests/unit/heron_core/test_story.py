"""What a core says about how it got where it is."""

from heron_core.story import STEPS_MAX, Story


def test_equal_effects_are_counted() -> None:
    story = Story()
    story.record(1.5, "Timer", ["QuiescenceProbe"] * 100)
    assert str(story) == "1.500 Timer: QuiescenceProbe (100 times)"


def test_only_the_newest_steps_are_kept() -> None:
    """A master runs for months."""
    story = Story()
    for number in range(STEPS_MAX + 10):
        story.record(number, "Timer", ["Log"])
    assert len(story.steps) == STEPS_MAX
    assert story.steps[0].now == 10
