"""What a tester raises."""

from heron_core.errors import HeronError


class TesterError(HeronError, AssertionError):
    """The tested topology did what a test has to know of; an AssertionError, so the test fails."""

    __test__ = False
