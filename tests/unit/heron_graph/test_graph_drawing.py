"""Drawings of topologies: layers, rectangles that do not overlap, and the three formats."""

import io
from xml.etree import ElementTree

import pytest
from PIL import Image

from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_graph.dot import to_dot
from heron_graph.drawing import BoxShape, Drawing, Rectangle, sampled
from heron_graph.graph import ComponentNode, Edge, Graph, graph_of
from heron_graph.layers import layers_of
from heron_graph.layout import layout
from heron_graph.png import SCALE, to_png
from heron_graph.svg import to_svg

WORD = StreamSpec("default", ("word",))


def graph(spouts: str, bolts: str, *arrows: str) -> Graph:
    """Components by their letters, arrows as two letters."""
    return Graph(
        "letters",
        (
            *(ComponentNode(each, "Class", 1, True) for each in spouts),
            *(ComponentNode(each, "Class", 2, False) for each in bolts),
        ),
        tuple(Edge(each[0], each[1], ("default: x", "shuffle")) for each in arrows),
    )


CHAIN = graph("a", "bc", "ab", "bc")
DIAMOND = graph("a", "bcd", "ab", "ac", "bd", "cd", "ad")
CYCLE = graph("a", "bc", "ab", "bc", "cb", "bb")
CROSSED = graph("ab", "cd", "ad", "bc")
LONELY = graph("a", "b", "bb")
EVERY = {"chain": CHAIN, "diamond": DIAMOND, "cycle": CYCLE, "crossed": CROSSED, "lonely": LONELY}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("chain", [{"a"}, {"b"}, {"c"}]),
        ("diamond", [{"a"}, {"b", "c"}, {"d"}]),
        ("cycle", [{"a"}, {"b"}, {"c"}]),
        ("crossed", [{"a", "b"}, {"c", "d"}]),
        ("lonely", [{"a"}, {"b"}]),
    ],
)
def test_a_bolt_stands_behind_its_furthest_source(name: str, columns: list[set[str]]) -> None:
    """Longest path from a spout; a bolt that only reads itself stands in the second column."""
    found = layers_of(EVERY[name]).columns
    assert [{each for each in column if "\0" not in each} for column in found] == columns


def test_a_long_arrow_has_waypoints_and_a_cycle_points_upwards() -> None:
    """a to d passes the column of b and c; of b and c, the later arrow closes the cycle."""
    assert len(layers_of(DIAMOND).paths["a", "d"]) == 3
    found = layers_of(CYCLE)
    assert set(found.paths) == {("a", "b"), ("b", "c")}
    assert found.backward == (("c", "b"), ("b", "b"))


def test_arrows_are_untangled() -> None:
    """a to d and b to c cross as declared; one column is turned round."""
    first, second = layers_of(CROSSED).columns
    assert (first, second) in ((("a", "b"), ("d", "c")), (("b", "a"), ("c", "d")))


@pytest.mark.parametrize("name", EVERY)
def test_boxes_lie_beside_each_other_within_the_picture(name: str) -> None:
    """Nothing overlaps and nothing is cut off, labels and arrows included."""
    drawing = layout(EVERY[name])
    for at, one in enumerate(drawing.boxes):
        for other in drawing.boxes[at + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            above = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert beside or above, (one, other)
    points = [point for each in drawing.arrows for part in each.segments for point in part]
    points += [(each.x + each.width, each.y + each.height) for each in drawing.boxes]
    points += [(each.x + each.width / 2, each.y + each.height / 2) for each in drawing.labels]
    assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in points)


def test_arrows_begin_and_end_at_their_boxes() -> None:
    """From the right side of the source to the left side of the target."""
    drawing = layout(DIAMOND)
    boxes = {each.name: each for each in drawing.boxes}
    for arrow, (source, target) in zip(drawing.arrows, layers_of(DIAMOND).paths, strict=True):
        (x, y), (end_x, end_y) = arrow.segments[0][0], arrow.segments[-1][3]
        assert x == boxes[source].x + boxes[source].width
        assert end_x == boxes[target].x
        assert boxes[source].y < y < boxes[source].y + boxes[source].height
        assert boxes[target].y < end_y < boxes[target].y + boxes[target].height


@pytest.mark.parametrize("name", EVERY)
def test_no_label_of_a_drawing_lies_on_an_arrow_a_box_or_another_label(name: str) -> None:
    """A line through a text makes it hard to read."""
    drawing = layout(EVERY[name])
    assert len(drawing.labels) == len(drawing.arrows)
    texts = [Rectangle(x.x - x.width / 2, x.y - x.height / 2, x.width, x.height)
             for x in drawing.labels]  # fmt: skip
    boxes = [Rectangle(each.x, each.y, each.width, each.height) for each in drawing.boxes]
    for at, label in enumerate(texts):
        assert not any(label.overlaps(each) for each in (*boxes, *texts[:at]))
        crossing = [x for each in drawing.arrows for x in sampled(each.segments, 200)
                    if label.covers(x)]  # fmt: skip
        assert not crossing, f"{name}: an arrow crosses {drawing.labels[at].lines}"


TOPOLOGY = TopologySpec(
    "Words",
    (
        ComponentSpec("lines", True, "words.Lines", 1, (WORD, StreamSpec("bad", tuple("abcdef")))),
        ComponentSpec(
            'co"unt',
            False,
            "words.Count",
            2,
            inputs=(
                InputSpec("lines", "default", GroupingSpec(GroupingKind.FIELDS, ("word",))),
                InputSpec("lines", "bad", GroupingSpec(GroupingKind.ALL)),
            ),
        ),
        ComponentSpec(
            "js",
            False,
            "heron_frontends.adapters.multilang.ShellBolt",
            1,
            inputs=(InputSpec("lines", "default", GroupingSpec(GroupingKind.SHUFFLE)),),
            config={"heronpy.shell.command": ["node", "/opt/split.js"]},
        ),
    ),
)


def test_dot_says_components_streams_fields_and_groupings() -> None:
    """Two streams between the same two are one arrow; a quote in a name is escaped."""
    lines = to_dot(graph_of(TOPOLOGY)).splitlines()
    both = r"word\nfields(word)\nbad: a, b, c, d, ...\nall"
    assert lines[0] == 'digraph "Words" {'
    assert lines[4:] == [
        '  "lines" [label="lines\\nLines\\n1 instance", fillcolor="#d5e8d4"];',
        '  "co\\"unt" [label="co\\"unt\\nCount\\n2 instances", fillcolor="#dae8fc"];',
        '  "js" [label="js\\nnode split.js\\n1 instance", fillcolor="#dae8fc"];',
        f'  "lines" -> "co\\"unt" [label="{both}"];',
        '  "lines" -> "js" [label="word\\nshuffle"];',
        "}",
    ]


def test_svg_is_xml_with_every_text() -> None:
    """A browser shows it, whatever characters are in the names."""
    root = ElementTree.fromstring(to_svg(layout(graph_of(TOPOLOGY))))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    for expected in ("Words", "lines", 'co"unt', "node split.js", "2 instances", "fields(word)"):
        assert expected in texts
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == 2


def picture_of(drawing: Drawing) -> Image.Image:
    """As on a machine without fonts."""
    return Image.open(io.BytesIO(to_png(drawing, has_system_fonts=False))).convert("RGB")


def test_png_shows_the_boxes() -> None:
    """Twice as large as the drawing, whose size is whole in SVG; the middle of a box's border has
    the box's colours."""
    drawing = layout(CHAIN)
    picture = picture_of(drawing)
    assert picture.size == (round(drawing.width) * SCALE, round(drawing.height) * SCALE)
    for box, colour in zip(drawing.boxes, ("#dff3e4", "#e1ecfb", "#e1ecfb"), strict=True):
        at = (round((box.x + 6) * SCALE), round((box.y + box.height / 2) * SCALE))
        expected = tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
        found = picture.getpixel(at)
        assert isinstance(found, tuple)
        assert all(abs(one - other) < 8 for one, other in zip(found, expected, strict=True))


def test_png_has_the_texts_on_a_machine_without_fonts() -> None:
    """Each letter of a name is drawn, those outside ASCII, too."""
    dark = {}
    for name in ("", "w", "wö", "wört"):
        box = BoxShape(10, 10, 100, 60, name, (), True)
        picture = picture_of(Drawing(120, 80, "", (box,), (), ()))
        dark[name] = sum(picture.convert("L").histogram()[:120])
    assert dark[""] < dark["w"] < dark["wö"] < dark["wört"]
