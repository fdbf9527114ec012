"""Words counted without a window: each word shows how often it has come so far.

    heronpy run examples/streamlets/running_words.py

    collection ── flat_map + map ── sum by word ── print

The counts are keyed state, and the source keeps its position: `kill -9` any process, and each word
is counted once.
"""

from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.runner import Runner

LINES = ["to be or not to be", "that is the question", "to do is to be"]


def show(element):
    word, count = element
    print(f"{word} {count}")


def running_words(builder):
    words = builder.from_collection(LINES).flat_map(str.split)
    sums = words.map(lambda word: (word, 1)).group_by_key().sum()
    sums.set_num_partitions(2).consume(show)


if __name__ == "__main__":
    builder, config = Builder(), Config()
    config.set_delivery_semantics(Config.EFFECTIVELY_ONCE)
    running_words(builder)
    Runner().run("RunningWords", config, builder)
