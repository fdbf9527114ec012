"""pystorm.exceptions."""


class StormWentAwayError(Exception):
    """The pipe from Storm is closed: nobody will ever send or take a message again."""

    def __init__(self) -> None:
        super().__init__("Got EOF while reading from Storm")
