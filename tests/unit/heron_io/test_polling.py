"""Waiting for what nobody announces."""

from itertools import count

from heron_io.polling import wait_until


def test_the_first_true_value_is_the_answer() -> None:
    numbers = count()
    assert wait_until(lambda: next(numbers) * (next(numbers) > 3), 30.0, poll_secs=0.0) == 4


def test_the_last_value_is_the_answer_when_the_time_is_over() -> None:
    assert wait_until(list, 0.0) == []
