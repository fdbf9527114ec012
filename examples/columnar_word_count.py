"""Counts the words of text files as examples/word_count.py does, by columns instead of tuples.

    pip install 'heronpy-topologies[tables]'
    heronpy run examples/columnar_word_count.py

Config: `word_count.files` a glob or a list of paths, `word_count.top` words in the table,
`word_count.lines` lines in a batch. With ATLEAST_ONCE failed batches are emitted again.
"""

import os
import sysconfig
from glob import glob
from itertools import count, islice
from pathlib import Path

import pyarrow.compute as pc

from heronpy_compat import BatchBolt, Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state


def library():
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in ("site-packages", "__pycache__")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def files(config):
    chosen = config.get("word_count.files", library())
    return sorted(glob(chosen, recursive=True) if isinstance(chosen, str) else chosen)


class Lines(Spout):
    outputs = {"line": "string"}

    def initialize(self, config, context):
        tasks = context.get_component_tasks(context.get_component_id())
        share = files(config)[tasks.index(context.get_task_id()) :: len(tasks)]
        texts = (Path(path).read_text("utf-8", "replace") for path in share)
        lines = (line for text in texts for line in text.splitlines())
        size = int(config.get("word_count.lines", 10_000))
        self.batches = iter(lambda: list(islice(lines, size)), [])
        self.numbers = count(1)
        self.under_way = {}

    def next_tuple(self):
        lines = next(self.batches, None)
        if lines is None:
            self.finish()
        else:
            self.send(next(self.numbers), lines)

    def send(self, number, lines):
        self.under_way[number] = lines
        self.emit_batch({"line": lines}, tup_id=number)

    def ack(self, tup_id):
        del self.under_way[tup_id]

    def fail(self, tup_id):
        self.send(tup_id, self.under_way[tup_id])


class Split(BatchBolt):
    outputs = {"word": "string"}

    def process_batch(self, batch):
        words = pc.list_flatten(pc.split_pattern_regex(batch["line"], r"\W+"))
        self.emit_batch({"word": words.filter(pc.not_equal(words, ""))})


class Count(BatchBolt):
    outputs = {"word": "string", "count": "bigint"}
    count = value_state(default=0)

    def process_batch(self, batch):
        for found in batch["word"].value_counts().to_pylist():
            count = self.count.for_key(found["values"])
            count.put(count.get() + found["counts"])

    def on_finish(self):
        words, counts = zip(*self.count.all_items(), strict=True)
        self.emit_batch({"word": words, "count": counts})


class Top(Bolt):
    """Takes tuples: it does not notice that they come as a batch."""

    def initialize(self, config, context):
        self.counts, self.rows = [], int(config.get("word_count.top", 20))

    def process(self, tup):
        self.counts.append((-tup["count"], tup.word))
        self.ack(tup)

    def on_finish(self):
        print(f"{'word':20} {'count':>10}")
        for number, word in sorted(self.counts)[: self.rows]:
            print(f"{word:20} {-number:>10}")


class ColumnarWordCount(Topology):
    lines = Lines.spec()
    split = Split.spec(par=2, inputs=[lines])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
    top = Top.spec(inputs={count: Grouping.GLOBAL})
