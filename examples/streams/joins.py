"""Squares and cubes of the same numbers, joined in windows (storm-starter: JoinExample)."""

from heronpy_compat.streams import Duration, StreamBuilder, TumblingWindows

rest = iter(range(1, 6))

builder = StreamBuilder()
numbers = builder.newStream(lambda: next(rest))
squares = numbers.mapToPair(lambda number: (number, number**2))
cubes = numbers.mapToPair(lambda number: (number, number**3))
squares.window(TumblingWindows.of(Duration.seconds(5))).join(cubes).print()

if __name__ == "__main__":
    builder.build_and_submit("JoinExample")
