"""Programs of streamlets that run natively, in the tester and on Spark; workers import this."""

import json
from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.streamlet import Streamlet

LINES = ["to be or not to be", "that is the question", "to do is to be"] * 20


def shown(element: Any) -> None:
    """Print an element as JSON."""
    print(json.dumps(element))


def pair(word: str) -> tuple[str, int]:
    """A word that counts once."""
    return word, 1


def word_pairs(builder: Builder) -> Streamlet:
    """(word, 1) of each word of LINES."""
    return builder.from_collection(LINES).flat_map(str.split).map(pair)


def summed(builder: Builder) -> Streamlet:
    """Words counted without a window."""
    made: Streamlet = word_pairs(builder).group_by_key().sum()
    return made.set_num_partitions(2)


PROGRAMS = {"summed": summed}


def built(name: str) -> TopologyBuilder:
    """The topology of one of PROGRAMS."""
    builder, topology = Builder(), TopologyBuilder("Streamlets")
    PROGRAMS[name](builder).consume(shown)
    builder.build(topology)
    return topology
