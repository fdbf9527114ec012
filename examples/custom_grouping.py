"""A grouping of one's own: words go to the task that is responsible for their first letter.

heronpy run examples/custom_grouping.py
"""

from heronpy_compat import Bolt, Grouping, ICustomGrouping, Spout, Topology

WORDS = ["storm", "heron", "spout", "bolt", "tuple", "anchor", "topology", "zookeeper"]


class ByFirstLetter(ICustomGrouping):
    """Splits the alphabet into as many parts as there are tasks."""

    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        letter = ord(values[0][0]) - ord("a")
        return [self.tasks[letter * len(self.tasks) // 26]]


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.words = iter(WORDS)

    def next_tuple(self):
        word = next(self.words, None)
        if word is None:
            self.finish()
        else:
            self.emit([word])


class Shelf(Bolt):
    def initialize(self, config, context):
        self.task, self.words = context.get_task_id(), []

    def process(self, tup):
        self.words.append(tup.values[0])
        self.ack(tup)

    def on_finish(self):
        print(f"task {self.task}: {' '.join(sorted(self.words))}")


class CustomGroupingTopology(Topology):
    words = Words.spec()
    shelf = Shelf.spec(par=2, inputs={words: Grouping.custom(ByFirstLetter())})
