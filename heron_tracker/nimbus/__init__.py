"""Storm's Nimbus for clients of its Thrift interface: submit, ask, kill."""
