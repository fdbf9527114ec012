"""Bolt of pystorm: what it raises, what it logs, what it reports."""

import logging
from typing import Any

import pytest

from heron_core.errors import ComponentError
from heron_core.wire.frames import FrameKind
from tests.unit.heron_frontends.storm.storm_support import ROOT, keeping, start

# --- exceptions ----------------------------------------------------------------------------------


def raises_on_odd(self: Any, tup: Any) -> None:
    """A script."""
    if tup.values.n % 2:
        raise ValueError(f"odd: {tup.values.n}")


@pytest.mark.parametrize("own", [{}, {"exit_on_exception": False}])
def test_a_poison_tuple_fails_alone(storm: Any, own: dict[str, Any]) -> None:
    made = start(keeping(storm, script=raises_on_odd, **own))
    made.feed(["a", 1], ["b", 2], ["c", 3])
    assert (made.failed(), made.acked()) == ([0, 2], [1])
    assert "ValueError: odd: 1" in made.errors[0]
    assert made.core.statistics().errors == 2
    assert made.user._current_tups == []


def test_without_auto_fail_a_poison_tuple_is_left_to_its_timeout(storm: Any) -> None:
    made = start(keeping(storm, script=raises_on_odd, auto_fail=False))
    made.feed(["a", 1], ["b", 2])
    assert (made.failed(), made.acked()) == ([], [1])


@pytest.mark.parametrize(
    ("own", "config"),
    [
        ({"exit_on_exception": True}, {}),
        ({}, {"topology__bolt__on__exception": "exit"}),
    ],
)
def test_an_exception_ends_the_process_where_that_is_wanted(
    storm: Any, own: dict[str, Any], config: dict[str, Any]
) -> None:
    made = start(keeping(storm, script=raises_on_odd, **own), **config)
    with pytest.raises(ComponentError, match=r"tested: exit_on_exception.*ValueError: odd: 1"):
        made.feed(["a", 1], ["b", 2])
    assert made.words_of(FrameKind.FAIL) == [ROOT]


def test_the_class_has_the_last_word_over_the_topology(storm: Any) -> None:
    kind = keeping(storm, script=raises_on_odd, exit_on_exception=False)
    made = start(kind, topology__bolt__on__exception="exit")
    made.feed(["a", 1], ["b", 2])
    assert made.acked() == [1]


def test_a_user_may_report_what_he_survived(storm: Any) -> None:
    def script(self: Any, tup: Any) -> None:
        try:
            raise KeyError("gone")
        except KeyError as error:
            self.raise_exception(error, tup)

    made = start(keeping(storm, script=script))
    made.feed(["a", 1])
    assert made.errors[0].startswith("Python KeyError raised while processing Tuple Tuple(id='7'")
    assert "KeyError: 'gone'" in made.core.statistics().last_error
    assert made.acked() == [0]


def test_the_users_own_handling_of_exceptions(storm: Any) -> None:
    seen = []

    class Own(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            raise ValueError("bad")

        def raise_exception(self, exception: Any, tup: Any = None) -> None:
            seen.append((str(exception), tup.values.word))
            super().raise_exception(exception, tup)

    made = start(Own)
    made.feed(["dog", 1])
    assert seen == [("bad", "dog")]
    assert len(made.errors) == 1
    assert made.failed() == [0]


# --- logs and metrics ----------------------------------------------------------------------------


def test_log_writes_whatever_the_level_is(storm: Any) -> None:
    made = start(keeping(storm))
    for level in (None, "trace", "debug", "info", "warn", "warning", "error", "critical"):
        made.user.log(f"{level}", level)
    levels = [level for level, _ in made.lines]
    assert levels == [
        "INFO", "DEBUG", "DEBUG", "INFO", "WARNING", "WARNING", "ERROR", "ERROR",
    ]  # fmt: skip


def test_the_logger_writes_to_a_file_where_one_is_configured(storm: Any, tmp_path: Any) -> None:
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        made = start(keeping(storm), pystorm__log__path=str(tmp_path), pystorm__log__level="warn")
        made.user.logger.info("unheard")
        made.user.logger.warning("heard")
        (file,) = tmp_path.iterdir()
        assert file.name == f"pystorm_t_tested_1_{made.user.pid}.log"
        (line,) = file.read_text().splitlines()
        assert line.endswith(" - pystorm.component.tested - WARNING - heard")
    finally:
        for each in [each for each in root.handlers if each not in before]:
            root.removeHandler(each)
            each.close()
        logging.getLogger("pystorm").setLevel(logging.NOTSET)


def test_topology_debug_logs_everything(storm: Any) -> None:
    made = start(keeping(storm), topology__debug=True)
    assert made.user.debug is True
    assert made.user.logger.isEnabledFor(logging.DEBUG)
    quiet = start(keeping(storm), topology__debug="false")
    assert quiet.user.debug is False
    assert not quiet.user.logger.isEnabledFor(logging.DEBUG)


def test_a_reported_metric_shows_its_newest_value(storm: Any) -> None:
    made = start(keeping(storm))
    made.user.report_metric("queue", 3)
    made.user.report_metric("queue", 5)
    metric, _ = made.instance.context.metrics["queue"]
    assert metric.get_value_and_reset() == 5


def test_messages_of_the_protocol_that_mean_nothing_here_do_no_harm(storm: Any) -> None:
    made = start(keeping(storm))
    made.user.send_message({"command": "sync"})
    made.user.send_message({"pid": 1})
    assert (made.sent, made.errors) == ([], [])
