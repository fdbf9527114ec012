"""Requests in a topology (Storm: DRPC): bolts that know when they have all of a request."""
