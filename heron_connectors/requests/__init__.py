"""Requests and their answers (Storm: DRPC): a server, and the spout and the bolt of a topology."""
