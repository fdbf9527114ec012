"""Counts the words of text files, by default those of Python's own library.

    heronpy run examples/word_count.py

Config: `word_count.files` a glob or a list of paths, `word_count.lines.max` lines for each spout
instance, `word_count.top` words in the table. With ATLEAST_ONCE failed lines are emitted again.
"""

import os
import re
import sysconfig
from collections import Counter
from glob import glob
from itertools import islice
from pathlib import Path

from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology

words_of = re.compile(r"\w+").findall


def library():
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in ("site-packages", "__pycache__")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def files(config):
    chosen = config.get("word_count.files", library())
    return sorted(glob(chosen, recursive=True) if isinstance(chosen, str) else chosen)


class Lines(Spout):
    outputs = ["line"]

    def initialize(self, config, context):
        tasks = context.get_component_tasks(context.get_component_id())
        share = files(config)[tasks.index(context.get_task_id()) :: len(tasks)]
        texts = (Path(path).read_text("utf-8", "replace") for path in share)
        limit = config.get("word_count.lines.max")
        lines = (line for text in texts for line in text.splitlines())
        self.lines = islice(lines, None if limit is None else int(limit))
        self.tracked = config.get("topology.reliability.mode") == "ATLEAST_ONCE"

    def next_tuple(self):
        line = next(self.lines, None)
        if line is None:
            self.finish()
        else:
            self.emit([line], tup_id=line if self.tracked else None)

    def fail(self, tup_id):
        self.emit([tup_id], tup_id=tup_id)


class Split(Bolt):
    outputs = ["word"]

    def process(self, tup):
        for word in words_of(tup.values[0]):
            self.emit([word], anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    outputs = [Stream(fields=["word", "count"], name="top")]

    def initialize(self, config, context):
        self.counts, self.rows = Counter(), int(config.get("word_count.top", 20))

    def process(self, tup):
        self.counts[tup.values[0]] += 1
        self.ack(tup)

    def on_finish(self):
        for word, count in self.counts.most_common(self.rows):
            self.emit([word, count], stream="top")


class Top(Count):
    outputs = []

    def process(self, tup):
        word, count = tup.values
        self.counts[word] = count
        self.ack(tup)

    def on_finish(self):
        print(f"{'word':20} {'count':>10}")
        for word, count in self.counts.most_common(self.rows):
            print(f"{word:20} {count:>10}")


class WordCount(Topology):
    lines = Lines.spec()
    split = Split.spec(par=2, inputs=[lines])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
    top = Top.spec(inputs={count["top"]: Grouping.GLOBAL})
