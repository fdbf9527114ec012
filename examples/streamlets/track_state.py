"""Words counted by a state that begins with earlier counts (Spark's mapWithState).

    heronpy run examples/streamlets/track_state.py

The program is that of the talk "Distributed stream processing" with Python's syntax; in Spark 1.6
trackStateByKey became mapWithState. Each word shows its count, which goes on from `initialState`.
"""

from heronpy_compat.dstreams import StateSpec, StreamingContext

LINES = [["to be or not to be"], ["that is the question", "to do is to be"]]
INITIAL = {"to": 100, "question": 7}


def track_state(batch_time, word, one, state):
    total = (one or 0) + (state.getOption() or 0)
    output = (word, total)
    state.update(total)
    return output


def show(element):
    word, count = element
    print(f"{word} {count}")


def track_words(ssc):
    words = ssc.queueStream(LINES).flatMap(lambda line: line.split(" "))
    word_stream = words.map(lambda word: (word, 1))
    spec = StateSpec.function(track_state).initialState(INITIAL).numPartitions(2)
    word_stream.trackStateByKey(spec).foreach(show)


if __name__ == "__main__":
    ssc = StreamingContext("TrackState", 1)
    track_words(ssc)
    ssc.start()
    ssc.awaitTermination()
