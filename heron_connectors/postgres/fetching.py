"""How many rows a session asks its server for at a time. Pure."""

FETCH_BYTES = 4 << 20
"""About so much of an answer is in memory here, or one row if that is larger."""
FETCH_ROWS = 100
"""At first, when it is not known how large rows are."""
FETCH_ROWS_MAX = 10_000


class FetchSize:
    """The number of rows of the next answer, by the size of those of the newest one."""

    def __init__(self) -> None:
        self.rows = FETCH_ROWS

    def learn(self, rows: int, size_bytes: int) -> None:
        """So many rows had so many bytes."""
        if rows:
            mean = max(1, size_bytes // rows)
            self.rows = max(1, min(FETCH_ROWS_MAX, FETCH_BYTES // mean))
