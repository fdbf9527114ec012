"""A call of user code that does not return is reported once, with where it is."""

from heron_instance.runtime.watchdog import Watchdog, main_thread_stack


def test_one_report_when_nothing_more_is_executed() -> None:
    watchdog = Watchdog(30.0)
    found = [watchdog.check(7, False, now) for now in (0.0, 29.0, 31.0, 60.0)]
    assert found == [None, None, 31.0, None]


def test_progress_and_waiting_begin_anew() -> None:
    watchdog = Watchdog(30.0)
    assert watchdog.check(7, False, 0.0) is None
    assert watchdog.check(8, False, 40.0) is None
    assert watchdog.check(8, True, 80.0) is None
    watchdog.waiting = True
    assert watchdog.check(8, False, 120.0) is None
    watchdog.waited()
    assert watchdog.check(8, False, 140.0) is None
    assert watchdog.check(8, False, 171.0) == 31.0
    assert watchdog.check(9, False, 172.0) is None
    assert watchdog.check(9, False, 202.0) == 30.0


def test_an_idle_instance_is_not_told_as_stuck_by_the_first_tuple_that_comes() -> None:
    """An idle instance looks every five to ten seconds; input that wakes it makes it look at once,
    and by then its main thread is at work."""
    watchdog = Watchdog(5.0)
    watchdog.waiting = True
    assert watchdog.check(37, False, 0.0) is None
    watchdog.waited()
    assert watchdog.check(37, False, 8.0) is None
    assert watchdog.stuck_secs == 0.0
    assert watchdog.check(37, False, 13.0) == 5.0, "it is stuck since then"


def test_a_wait_between_two_looks_is_no_call_that_lasts() -> None:
    watchdog = Watchdog(5.0)
    assert watchdog.check(37, False, 0.0) is None  # it handled a barrier, which is no tuple
    watchdog.waiting = True
    watchdog.waited()
    assert watchdog.check(37, False, 8.0) is None  # and does so again


def test_a_call_that_back_pressure_held_between_two_looks_is_not_stuck() -> None:
    watchdog = Watchdog(5.0)
    assert watchdog.check(37, False, 0.0, 1.5) is None
    assert watchdog.check(37, False, 8.0, 9.4) is None
    assert watchdog.check(37, False, 13.0, 9.4) == 5.0


def test_a_first_call_that_does_not_return_is_reported() -> None:
    """The input was there before the instance had waited for any."""
    watchdog = Watchdog(30.0)
    assert watchdog.check(0, False, 0.0) is None
    assert watchdog.check(0, False, 31.0) == 31.0


def test_the_stack_names_who_asks() -> None:
    assert "test_the_stack_names_who_asks" in main_thread_stack()
