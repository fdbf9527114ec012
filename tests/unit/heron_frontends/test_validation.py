"""A topology with a mistake never starts; its author reads one line that says what to change."""

from typing import Any

import pytest

from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import check, problems

SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def fields(*names: str) -> GroupingSpec:
    return GroupingSpec(GroupingKind.FIELDS, names)


WORDS = ComponentSpec(
    "words",
    True,
    "m.Words",
    1,
    (StreamSpec("default", ("word", "language")), StreamSpec("orders", ("order",), direct=True)),
)
COUNT = ComponentSpec(
    "count",
    False,
    "m.Count",
    2,
    (StreamSpec("default", ("word", "count")),),
    (InputSpec("words", "default", fields("word")),),
)
TOPOLOGY = TopologySpec("WordCount", (WORDS, COUNT))


def with_count(**changes: Any) -> TopologySpec:
    return replace(TOPOLOGY, components=(WORDS, replace(COUNT, **changes)))


def with_words(**changes: Any) -> TopologySpec:
    return replace(TOPOLOGY, components=(replace(WORDS, **changes), COUNT))


def reading(component: str, stream: str, grouping: GroupingSpec) -> TopologySpec:
    return with_count(inputs=(InputSpec(component, stream, grouping),))


def test_a_sound_topology_has_no_problems() -> None:
    assert problems(TOPOLOGY) == []
    check(TOPOLOGY)


def test_more_streams_than_a_process_can_know_are_refused_at_once() -> None:
    # A generated topology with a stream for each customer: it would start for minutes in silence.
    streams = tuple(StreamSpec(f"s{number}", ("a",)) for number in range(60_000))
    (problem,) = problems(with_words(outputs=streams))
    assert "has 60,001 streams, more than 5,000: use one stream with a field" in problem


def test_what_storm_and_heron_accept_is_accepted() -> None:
    """Frameworks wrap their users' components in names with underscores; a bolt may live on ticks
    alone."""
    assert problems(with_count(name="__count")) == []
    assert problems(with_count(outputs=(StreamSpec("__errors", ("why",)),))) == []
    assert problems(with_count(inputs=())) == []


def test_bolts_may_form_a_cycle() -> None:
    back = InputSpec("count", "default", SHUFFLE)
    assert problems(with_count(inputs=(*COUNT.inputs, back))) == []


def test_every_grouping_is_accepted_on_the_stream_it_fits() -> None:
    for kind in GroupingKind:
        keyed = kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY)
        custom = b"pickled" if kind is GroupingKind.CUSTOM else None
        grouping = GroupingSpec(kind, ("language", "word") if keyed else (), custom)
        stream = "orders" if kind is GroupingKind.DIRECT else "default"
        assert problems(reading("words", stream, grouping)) == []


def test_names_with_dashes_dots_and_blanks_are_legal() -> None:
    for name in ("word-count", "word_count.2", "word count", "Wörter", "a" * 200):
        assert problems(with_count(name=name)) == []


@pytest.mark.parametrize(
    ("topology", "line"),
    [
        # names
        (
            replace(TOPOLOGY, name="a.b"),
            (
                "topology name 'a.b' must be a word without blanks, dots, colons, slashes and"
                " backslashes"
            ),
        ),
        (
            replace(TOPOLOGY, name="x" * 201),
            f"topology name '{'x' * 201}' must not be longer than 200 bytes",
        ),
        (
            with_count(name="__system"),
            "bolt '__system': the engine reserves its name; choose another",
        ),
        (with_count(name=".count"), "bolt '.count': its name must not start with '.'"),
        (
            with_count(name="a/b"),
            (
                "bolt 'a/b': its name must not contain '/', because files are named after the "
                "component"
            ),
        ),
        (
            with_count(name="a\n"),
            "bolt 'a\\n': its name must not be empty, nor start or end with a blank",
        ),
        (with_count(name=""), "bolt '': its name must not be empty, nor start or end with a blank"),
        (
            with_count(name="ä" * 101),
            f"bolt '{'ä' * 101}': its name must not be longer than 200 bytes",
        ),
        (
            replace(TOPOLOGY, components=(WORDS, COUNT, COUNT)),
            "component name 'count' is used 2 times; names must be unique",
        ),
        (with_count(class_path=""), "bolt 'count' has no class path; use MODULE.CLASS"),
        # parallelism
        *(
            (
                with_count(parallelism=par),
                f"bolt 'count': parallelism must be a whole number of at least 1, not {par!r}",
            )
            for par in (0, -1, True, 1.0, "2", None)
        ),
        # shape
        (
            replace(
                TOPOLOGY,
                components=(replace(COUNT, inputs=(InputSpec("count", "default", SHUFFLE),)),),
            ),
            "topology 'WordCount' has no spout; at least one is needed",
        ),
        (
            with_words(inputs=(InputSpec("count", "default", SHUFFLE),)),
            "spout 'words' has inputs; only a bolt can read a stream",
        ),
        (
            replace(TOPOLOGY, components=(replace(WORDS, outputs=()),)),
            "spout 'words' has no outputs; list its fields, as in outputs = ['word']",
        ),
        # streams
        (
            with_count(outputs=(StreamSpec("a", ("x",)), StreamSpec("a", ("y",)))),
            "bolt 'count' declares its stream 'a' 2 times; once is enough",
        ),
        (
            with_count(outputs=(StreamSpec("__tick", ("x",)),)),
            "bolt 'count': stream name '__tick' is the engine's own; choose another",
        ),
        (
            with_count(outputs=(StreamSpec("", ("x",)),)),
            "bolt 'count': the name of a stream must not be empty",
        ),
        (
            with_count(outputs=(StreamSpec("a", ("x", "y", "x")),)),
            "bolt 'count': stream 'a' has the field 'x' more than once",
        ),
        (
            with_count(outputs=(StreamSpec("a", ("",)),)),
            "bolt 'count': stream 'a' has a field with an empty name",
        ),
        # inputs
        (
            reading("wrods", "default", SHUFFLE),
            (
                "bolt 'count' reads from 'wrods', which is not a component; did you mean 'words'?"
                " (components: words)"
            ),
        ),
        (
            reading("x", "default", SHUFFLE),
            "bolt 'count' reads from 'x', which is not a component; components: words",
        ),
        (
            reading("words", "order", SHUFFLE),
            (
                "bolt 'count' reads 'order' of 'words', which does not declare the stream; did "
                "you mean 'orders'? (streams: default, orders)"
            ),
        ),
        (
            with_count(inputs=COUNT.inputs * 2),
            "bolt 'count' reads words:default 2 times; give each input one grouping",
        ),
        # groupings
        (
            reading("words", "default", fields("wrod")),
            (
                "bolt 'count': input words:default is grouped by 'wrod', which is not a field of "
                "the"
                " stream; did you mean 'word'? (fields: word, language)"
            ),
        ),
        (
            reading("words", "default", GroupingSpec(GroupingKind.PARTIAL_KEY, ("x",))),
            (
                "bolt 'count': input words:default is grouped by 'x', which is not a field of the"
                " stream; fields: word, language"
            ),
        ),
        (
            reading("words", "default", fields()),
            "bolt 'count': input words:default: fields grouping needs at least one field",
        ),
        (
            reading("words", "default", fields("word", "word")),
            "bolt 'count': input words:default is grouped by 'word' more than once",
        ),
        (
            reading("words", "default", GroupingSpec(GroupingKind.DIRECT)),
            (
                "bolt 'count': input words:default is grouped direct, so the stream must be"
                " declared with direct=True"
            ),
        ),
        (
            reading("words", "orders", SHUFFLE),
            (
                "bolt 'count': input words:orders is a direct stream, so its grouping must be"
                " direct, not shuffle"
            ),
        ),
        (
            reading("words", "default", GroupingSpec(GroupingKind.CUSTOM)),
            ("bolt 'count': input words:default: custom grouping needs a custom grouping object"),
        ),
        # config
        (
            replace(TOPOLOGY, config={"topology.stmgrs": "many"}),
            (
                "config of the topology: topology.stmgrs must be a whole number of at least 1, not"
                " 'many'"
            ),
        ),
        (
            with_count(config={"topology.tick.tuple.freq.secs": -1}),
            (
                "config of bolt 'count': topology.tick.tuple.freq.secs must be a positive number of"
                " seconds, not -1"
            ),
        ),
    ],
)
def test_each_mistake_is_one_line(topology: TopologySpec, line: str) -> None:
    assert problems(topology) == [line]
    with pytest.raises(TopologyError) as caught:
        check(topology)
    assert str(caught.value) == line


def test_the_first_of_several_problems_says_how_many_there_are() -> None:
    topology = with_count(name="a/b", parallelism=0, class_path="")
    with pytest.raises(TopologyError, match=r"^bolt 'a/b': its name .* \(and 2 more\)$"):
        check(topology)


def test_numbers_may_be_strings_in_the_config() -> None:
    # Config from the command line and from Heron's definition files arrives as strings.
    config = {
        "topology.stmgrs": "2",
        "topology.message.timeout.secs": "1.5",
        "topology.debug": "True",
        "topology.tick.tuple.freq.secs": "1",
    }
    assert problems(replace(TOPOLOGY, config=config)) == []


def test_long_lists_of_choices_are_cut() -> None:
    streams = tuple(StreamSpec(f"s{number}", ("x",)) for number in range(30))
    spout = replace(WORDS, outputs=streams)
    topology = replace(
        TOPOLOGY,
        components=(spout, replace(COUNT, inputs=(InputSpec("words", "nothing", SHUFFLE),))),
    )
    (line,) = problems(topology)
    assert line.endswith("s10, s11, ...")
