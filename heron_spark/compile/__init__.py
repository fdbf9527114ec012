"""From a topology to the plan of a query: levels, columns, ticks, classes that travel by value."""
