"""Linear Road (Arasu et al., VLDB 2004): variable tolling its input and its truth."""
