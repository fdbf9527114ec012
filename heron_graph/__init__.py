"""Topologies as drawings, without any other program.

`heron_graph.render.render(topology, "svg")` is all that most callers need. Its steps: `graph_of`
says what is drawn, `layout` where (Sugiyama's method, from left to right), `to_svg` and `to_png`
how it looks. `to_dot` needs no layout.
"""
