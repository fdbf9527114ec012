"""Splits lines into words, on the installed pystorm; a line that begins with "hold" is kept for
ever."""

import sys

from pystorm import Bolt


class Split(Bolt):
    auto_ack = False

    def process(self, tup):
        (line,) = tup.values
        if line.startswith("hold"):
            return
        for word in line.split():
            self.emit([word])
        self.ack(tup)


Split(serializer=sys.argv[1]).run()
