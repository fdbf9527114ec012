"""A topology as DOT text, for Graphviz and whatever else reads it."""

from heron_graph.graph import Graph

HEAD = (
    "  rankdir=LR;",
    '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    '  edge [fontname="Helvetica", fontsize=10];',
)
SPOUT, BOLT = "#d5e8d4", "#dae8fc"


def to_dot(graph: Graph) -> str:
    """The digraph, spouts and bolts as boxes, one edge for each pair of components."""
    lines = [f"digraph {_quoted(graph.name)} {{", *HEAD]
    for box in graph.boxes:
        label = _quoted("\n".join((box.name, *box.lines)))
        colour = SPOUT if box.is_spout else BOLT
        lines.append(f'  {_quoted(box.name)} [label={label}, fillcolor="{colour}"];')
    for arrow in graph.arrows:
        label = _quoted("\n".join(arrow.lines))
        lines.append(f"  {_quoted(arrow.source)} -> {_quoted(arrow.target)} [label={label}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
