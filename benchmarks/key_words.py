"""The words of the checkpoint benchmarks: so many keys, each coming once in every round of them.

Only the standard library is used, because measured processes and peers import the module. Keys come
in a fixed order without locality (position times a prime, modulo their number), so a store gains
nothing from neighbours, and every count can be checked by the word alone.
"""

from collections.abc import Iterator

from benchmarks.workload import WORDS_PER_SENTENCE, WrongResultError

STEP = 611_953
"""A prime coprime to all numbers of keys in use."""
KEYS_KEY = "benchmark.keys"
"""Config key: how many different words there are."""
MODES = ("at-most-once", "acked", "no-checkpoints", "checkpoints")


def sentences(keys: int) -> list[str]:
    """One round of all keys, ten words a sentence."""
    words = [f"word{position * STEP % keys:07d}" for position in range(keys)]
    return [
        " ".join(words[first : first + WORDS_PER_SENTENCE])
        for first in range(0, keys, WORDS_PER_SENTENCE)
    ]


def check(keys: int, words: int, partial: Iterator[tuple[str, int]]) -> tuple[int, int]:
    """Number and sum of the counts; WrongResultError for a count that is wrong after
    `words` words."""
    rounds, rest = divmod(words, keys)
    inverse = pow(STEP, -1, keys)
    found = total = 0
    for word, count in partial:
        position = int(word[4:]) * inverse % keys
        if count != rounds + (position < rest):
            raise WrongResultError(f"{word} was counted {count} times in {words} words")
        found += 1
        total += count
    return found, total


def check_total(keys: int, words: int, parts: list[tuple[int, int]]) -> None:
    """WrongResultError unless the parts of all counters, each checked, are everything."""
    found, total = (sum(each) for each in zip(*parts, strict=True))
    if (found, total) != (min(keys, words), words):
        raise WrongResultError(f"{found} words were counted {total} times, not {words}")
