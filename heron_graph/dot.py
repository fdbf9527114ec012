"""A topology as DOT text, for Graphviz and whatever else reads it."""

from heron_graph.graph import Graph

HEAD = (
    "  rankdir=LR;",
    '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    '  edge [fontname="Helvetica", fontsize=10];',
)
SPOUT, BOLT = "#d5e8d4", "#dae8fc"


def to_dot(graph: Graph) -> str:
    """The digraph, one edge for each pair of components."""
    lines = [f"digraph {_quoted(graph.name)} {{", *HEAD]
    for node in graph.nodes:
        label = _quoted("\n".join((node.name, *node.lines)))
        colour = SPOUT if node.is_spout else BOLT
        lines.append(f'  {_quoted(node.name)} [label={label}, fillcolor="{colour}"];')
    for edge in graph.edges:
        label = _quoted("\n".join(edge.lines))
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [label={label}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
