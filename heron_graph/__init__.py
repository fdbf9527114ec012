"""Topologies as drawings: what to say, where to put it, and how it looks as SVG, PNG or DOT."""
