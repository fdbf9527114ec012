"""A batch, and which attempt of it."""

from typing import NamedTuple


class TransactionAttempt(NamedTuple):
    """A transaction id, the same in each replay of the batch, and the number of the attempt.

    Example:

        attempt = TransactionAttempt(7, 1)
        assert (attempt.get_transaction_id(), attempt.get_attempt_id()) == (7, 1)
    """

    txid: int
    attempt_id: int

    def get_transaction_id(self) -> int:
        """The transaction id, from 1."""
        return self.txid

    def get_attempt_id(self) -> int:
        """The attempt, from 0."""
        return self.attempt_id

    def getTransactionId(self) -> int:  # noqa: N802 - a NamedTuple has no aliases
        """As `get_transaction_id`."""
        return self.txid

    def getAttemptId(self) -> int:  # noqa: N802
        """As `get_attempt_id`."""
        return self.attempt_id
