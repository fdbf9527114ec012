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
    watchdog.waiting = False
    assert watchdog.check(8, False, 140.0) is None
    assert watchdog.check(8, False, 151.0) == 31.0
    assert watchdog.check(9, False, 152.0) is None
    assert watchdog.check(9, False, 182.0) == 30.0


def test_a_first_call_that_does_not_return_is_reported() -> None:
    """The input was there before the instance had waited for any."""
    watchdog = Watchdog(30.0)
    assert watchdog.check(0, False, 0.0) is None
    assert watchdog.check(0, False, 31.0) == 31.0


def test_the_stack_names_who_asks() -> None:
    assert "test_the_stack_names_who_asks" in main_thread_stack()
