"""The common work of every contender: words and messages, and the report of a run.

Only the standard library is used, because the engine and peers in separate environments import the
module. A benched program prints three JSON lines on standard output, from any of its processes:

    {"mark": "first", "at": 12.5}        the source is asked for its first record
    {"mark": "last", "at": 14.5}         the last tuple is counted (and acked, if it is tracked)
    {"tuples": 1000000, "seconds": 2.0}  once, when the program has checked its own result

`at` is CLOCK_MONOTONIC in seconds, shared by all processes of a machine. Of several marks of one
name the earliest "first" and the latest "last" count.
"""

import argparse
import json
import os
import random
import time
from collections import Counter
from collections.abc import Mapping

VOCABULARY_WORDS = 10_000
WORDS_PER_SENTENCE = 10
# Enough sentences for each word to occur, few enough to build quickly before the run.
SENTENCE_POOL = 5_000
MESSAGE_BYTES = 100


class WrongResultError(Exception):
    """A contender lost, repeated or invented tuples: its figures are meaningless."""


def sentences() -> list[str]:
    """The pool of sentences, emitted cyclically and equal in every process."""
    words = [f"word{number:04d}" for number in range(VOCABULARY_WORDS)]
    choose = random.Random(1).choices
    return [" ".join(choose(words, k=WORDS_PER_SENTENCE)) for _ in range(SENTENCE_POOL)]


def sentence_count(words: int) -> int:
    """How many sentences make `words` words, a multiple of ten."""
    if words <= 0 or words % WORDS_PER_SENTENCE:
        raise SystemExit(
            f"--count must be a positive multiple of {WORDS_PER_SENTENCE}, not {words}"
        )
    return words // WORDS_PER_SENTENCE


def expected_counts(sentences_emitted: int) -> Counter[str]:
    """What a word count must arrive at after so many sentences of the pool."""
    pool = sentences()
    rounds, rest = divmod(sentences_emitted, len(pool))
    counts = Counter(word for sentence in pool for word in sentence.split())
    total = Counter({word: number * rounds for word, number in counts.items()})
    total.update(word for sentence in pool[:rest] for word in sentence.split())
    return +total


def message(number: int) -> bytes:
    """The message with this number: 100 bytes, no two alike."""
    return b"%020d" % number + b"x" * (MESSAGE_BYTES - 20)


def mark(name: str, at: float | None = None) -> float:
    """Print a mark in one write, unmixed with lines of further processes; returns its time."""
    instant = time.monotonic() if at is None else at
    os.write(1, json.dumps({"mark": name, "at": instant}).encode() + b"\n")
    return instant


def report(tuples: int, first: float, last: float, checkpoints: int = 0) -> None:
    """Print the result line; call it only when the result was checked."""
    line = {"tuples": tuples, "seconds": round(last - first, 6), "checkpoints": checkpoints}
    os.write(1, json.dumps(line).encode() + b"\n")


def check_total(counted: int, expected: int) -> None:
    """Raise WrongResultError unless exactly the expected number of tuples arrived."""
    if counted != expected:
        raise WrongResultError(f"counted {counted} tuples, expected {expected}")


def check_counts(counted: Mapping[str, int], sentences_emitted: int) -> None:
    """Raise WrongResultError unless each word has exactly the expected count."""
    expected = expected_counts(sentences_emitted)
    check_total(sum(counted.values()), expected.total())
    wrong = [word for word, number in expected.items() if counted.get(word) != number]
    if wrong:
        raise WrongResultError(f"{len(wrong)} words have a wrong count, {wrong[0]} among them")


def count_parser(description: str | None, default: int) -> argparse.ArgumentParser:
    """The option that every benched program has: how many tuples to move."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=default, help="tuples (default %(default)s)")
    return parser
