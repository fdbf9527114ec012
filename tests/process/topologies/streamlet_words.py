"""Words counted in windows by streamlets; a sentence's words are counted by a class of the user's.

streamlet_words.py [once] : at least once, with windows of a second
"""

import sys

from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.runner import Runner
from heronpy.streamlet.windowconfig import WindowConfig

SENTENCES = 300


class Sentences(Generator):
    """The partition's share of the sentences."""

    def setup(self, context):
        of = context.get_num_partitions()
        self.left = iter(range(context.get_partition_index(), SENTENCES, of))

    def get(self):
        return f"to be or not to be {next(self.left) % 3}"


def add(left, right):
    return left + right


def show(result):
    window, count = result
    print(f"{window._key}={count}")


if __name__ == "__main__":
    tracked = "once" in sys.argv[1:]
    config = Config()
    config.set_num_containers(2)
    if tracked:
        config.set_delivery_semantics(Config.ATLEAST_ONCE)
    window = WindowConfig.create_tumbling_window(1 if tracked else 3600)
    builder = Builder()
    words = builder.new_source(Sentences()).set_num_partitions(2).flat_map(str.split)
    words.map(lambda word: (word, 1)).reduce_by_key_and_window(window, add).set_num_partitions(
        2
    ).consume(show)
    Runner().run("StreamletWords", config, builder)
