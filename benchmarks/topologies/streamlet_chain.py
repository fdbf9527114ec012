"""Numbers through four stateless operators of streamlets, and a fifth stage that counts them.

Config: `benchmark.count` numbers; three of four get through the filter, and each comes out twice.
"""

from typing import Any

from benchmarks.reports import COUNT_KEY, report
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.runner import Runner
from heronpy_compat.streamlet.transformoperator import TransformOperator


def expected(count: int) -> tuple[int, int]:
    """How many elements come out of so many numbers (a multiple of four), and their sum."""
    kept = count // 4 * 3
    total = sum(range(count)) - sum(range(0, count, 4))
    return 2 * kept, 2 * total + kept


class Numbers(Generator):
    """Each number once."""

    def setup(self, context: Context) -> None:
        """Before the clock runs."""
        self.config = context.get_config()
        self.left = iter(range(int(self.config[COUNT_KEY])))
        self.is_first = True

    def get(self) -> Any:
        """The next one."""
        if self.is_first:
            report(self.config, "first")
            self.is_first = False
        return next(self.left)


class Added(TransformOperator):
    """Adds up what arrives, and reports when that is all."""

    def setup(self, context: Context) -> None:
        """Nothing has arrived."""
        self.config = context.get_config()
        self.left, _ = expected(int(self.config[COUNT_KEY]))
        self.total = 0

    def transform(self, tup: Any) -> None:
        """One element."""
        self.left -= 1
        self.total += tup.values[0]
        if self.left == 0:
            report(self.config, "finished", total=self.total)


if __name__ == "__main__":
    builder = Builder()
    numbers = builder.new_source(Numbers())
    pairs = numbers.map(lambda number: (number, number + 1)).filter(lambda pair: pair[0] % 4)
    pairs.flat_map(lambda pair: pair).map(lambda number: number).transform(Added())
    Runner().run("StreamletChain", Config(), builder)
