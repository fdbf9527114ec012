"""Tables of Postgres, and their changes by logical replication."""
