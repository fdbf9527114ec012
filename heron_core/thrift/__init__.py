"""Thrift's binary protocol, as far as Storm's interfaces need it: structs and calls. Pure."""
