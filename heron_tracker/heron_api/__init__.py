"""The REST of Heron's tracker: plans, metrics and the query language as Heron has them."""
