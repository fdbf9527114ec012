"""Word count by hand: five processes, bounded queues of lists, no engine: the practical limit.

One spout, two splitters, two counters, as the engine's word count has. Nothing is tracked, nothing
can be restarted; what an engine costs is the distance from here.
"""

import multiprocessing
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from multiprocessing.queues import Queue
from typing import Any

from benchmarks import workload

SPLITTERS = 2
COUNTERS = 2
# Words per list; above a few hundred the cost per list no longer shows.
BATCH_WORDS = 500
# Lists in a queue: bounds memory and keeps a fast stage from running far ahead.
QUEUE_BATCHES = 16
END = None


def main() -> None:
    """Run the pipeline once, check every count, report."""
    count = workload.count_parser(__doc__, 5_000_000).parse_args().count
    sentences_wanted = workload.sentence_count(count)
    context = multiprocessing.get_context("fork")
    to_split = [context.Queue(QUEUE_BATCHES) for _ in range(SPLITTERS)]
    to_count = [context.Queue(QUEUE_BATCHES) for _ in range(COUNTERS)]
    results: Any = context.Queue()
    started = context.Event()
    stages = [
        context.Process(target=spout, args=(sentences_wanted, to_split, started, results)),
        *(context.Process(target=split, args=(queue, to_count)) for queue in to_split),
        *(context.Process(target=count_words, args=(queue, results)) for queue in to_count),
    ]
    for stage in stages:
        stage.start()
    started.set()
    answers = dict(results.get() for _ in range(1 + COUNTERS))
    for stage in stages:
        stage.join()
    finish(answers, sentences_wanted)


def finish(answers: dict[Any, Any], sentences_emitted: int) -> None:
    """Merge what the counters answered, check it and report."""
    first = answers.pop("first")
    merged: Counter[str] = Counter()
    for counts in answers.values():
        merged.update(counts)
    workload.check_counts(merged, sentences_emitted)
    workload.report(merged.total(), first, max(last for _, last in answers))


def spout(
    sentences_wanted: int, to_split: "list[Queue[Any]]", started: Any, results: "Queue[Any]"
) -> None:
    """Send lists of sentences to the splitters in turn."""
    pool = workload.sentences()
    started.wait()
    results.put(("first", workload.mark("first")))
    batch_sentences = BATCH_WORDS // workload.WORDS_PER_SENTENCE
    for number, start in enumerate(range(0, sentences_wanted, batch_sentences)):
        end = min(start + batch_sentences, sentences_wanted)
        batch = [pool[index % len(pool)] for index in range(start, end)]
        to_split[number % SPLITTERS].put(batch)
    for queue in to_split:
        queue.put(END)


def split(queue: "Queue[Any]", to_count: "list[Queue[Any]]") -> None:
    """Split sentences and send lists of words to the counter that owns each word."""
    buffers: list[list[str]] = [[] for _ in to_count]
    owner = cache(lambda word: zlib.crc32(word.encode()) % COUNTERS)
    for batch in batches(queue, ends=1):
        for sentence in batch:
            for word in sentence.split():
                index = owner(word)
                buffer = buffers[index]
                buffer.append(word)
                if len(buffer) >= BATCH_WORDS:
                    to_count[index].put(buffer)
                    buffers[index] = []
    for index, buffer in enumerate(buffers):
        to_count[index].put(buffer)
        to_count[index].put(END)


def count_words(queue: "Queue[Any]", results: "Queue[Any]") -> None:
    """Count words one at a time, as a bolt does, and answer with all counts at the end."""
    counts: dict[str, int] = {}
    for batch in batches(queue, ends=SPLITTERS):
        for word in batch:
            counts[word] = counts.get(word, 0) + 1
    last = workload.mark("last")
    results.put(((multiprocessing.current_process().name, last), counts))


def batches(queue: "Queue[Any]", ends: int) -> Iterator[list[str]]:
    """Lists from the queue until so many senders have said that they are done."""
    while ends:
        batch = queue.get()
        if batch is END:
            ends -= 1
        else:
            yield batch


if __name__ == "__main__":
    main()
