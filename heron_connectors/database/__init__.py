"""Tables of databases that have a DB-API 2.0 driver."""
