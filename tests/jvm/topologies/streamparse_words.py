"""A streamparse topology with a Java spout and a Java bolt."""

from collections import Counter

from python_parts import write
from streamparse import Bolt, Grouping, JavaBolt, JavaSpout, Topology


class Highest(Bolt):
    """As Most, in streamparse's API, which has no last call: it writes when all words are there."""

    def initialize(self, conf, context):
        self.most, self.words = Counter(), conf["words"]

    def process(self, tup):
        key, count = tup.values
        self.most[key] = max(self.most[key], count)
        if sum(self.most.values()) == self.words:
            write("most", self.most)


class Words(Topology):
    """Counts the words of so many sentences."""

    config = {"topology.classpath": ["classes", "lib/*"], "words": 6500}
    sentences = JavaSpout.spec(full_class_name="Sentences", args_list=[1000], outputs=["sentence"])
    split = JavaBolt.spec(
        full_class_name="SplitSentence", args_list=[], inputs=[sentences], outputs=["word"]
    )
    count = JavaBolt.spec(
        full_class_name="WordCount",
        args_list=[],
        inputs={split: Grouping.fields("word")},
        outputs=["word", "count"],
    )
    most = Highest.spec(inputs=[count])
