"""A stream that is divided by predicates (storm-starter: BranchExample)."""

from heronpy_compat.streams import StreamBuilder

numbers = iter(range(12))

builder = StreamBuilder()
even, odd = builder.newStream(lambda: next(numbers)).branch(
    lambda number: number % 2 == 0, lambda number: number % 2 == 1
)
even.map(lambda number: f"even: {number}").print()
odd.map(lambda number: f"odd: {number}").print()

if __name__ == "__main__":
    builder.build_and_submit("BranchExample")
