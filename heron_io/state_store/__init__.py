"""The state store: its protocol, local files, ZooKeeper."""
