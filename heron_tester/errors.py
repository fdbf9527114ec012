"""What a tester raises."""

from heron_core.errors import HeronError


class TesterError(HeronError, AssertionError):
    """The tested topology did what a test has to know of; an AssertionError, so the test fails.

    Example:

        with TopologyTester(WordCount) as tester:
            try:
                tester.run_spouts()
            except TesterError as error:
                print(error)
    """

    __test__ = False
