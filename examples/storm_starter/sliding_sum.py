"""The sum of a sliding window by new and expired tuples (storm-starter: SlidingWindowSumBolt)."""

from heronpy_compat.windows import WindowedBolt


class SlidingSum(WindowedBolt):
    outputs = ["sum"]
    total = 0

    def execute(self, window):
        self.total += sum(tup["value"] for tup in window.get_new())
        self.total -= sum(tup["value"] for tup in window.get_expired())
        self.emit([self.total])
