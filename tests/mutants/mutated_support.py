"""Functions for test_in_place.py, which changes them."""

from collections.abc import Callable


class Core:
    def larger(self, number: int) -> int:
        return number + 1

    @staticmethod
    def adder(most: int = 7) -> Callable[[int], int]:
        def add(number: int) -> int:
            return min(most, number + 2)

        return add
